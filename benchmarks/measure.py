# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: a table, works timed in turns, figures, and where and when they were taken.

Import it first: it tells OpenMP's libraries to use one thread, which they read when they are loaded.
"""

import datetime
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

Work = Callable[[], object]


class Times(NamedTuple):
    """Seconds of each repetition: CPU of this process with all its threads, and wall."""

    cpu: list[float]
    wall: list[float]


def table(rows: int, columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """float32 normals; the label follows a few columns and their products, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    signal = X[:, 0] + X[:, 1 % columns] * X[:, 2 % columns] + np.abs(X[:, 3 % columns])
    y = (signal + rng.standard_normal(rows, dtype=np.float32) > np.median(signal)).astype(np.int32)
    return X, y


def timed(work: Work) -> tuple[float, float]:
    """CPU and wall seconds while `work` runs."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def in_turns(
    works: dict[str, Work], repeats: int, warm: bool = True, seconds: float = 0.0
) -> dict[str, Times]:
    """Time each work, one of each in turn, after one that does not count; so often, and for so long.

    A shared machine has slow seconds: a turn of short works should not fall into them as a whole.
    """
    for work in works.values() if warm else ():
        work()
    found = {name: Times([], []) for name in works}
    start = time.perf_counter()
    while repeats > 0 or time.perf_counter() - start < seconds:
        repeats -= 1
        for name, work in works.items():
            for one, another in zip(found[name], timed(work), strict=True):
                one.append(another)
    return found


def digits(x: float) -> str:
    """Three digits, more before the point."""
    return f"{x:.{max(0, 2 - math.floor(math.log10(x)))}f}" if x > 0 else "0"


def figures(seconds: list[float], unit: float = 1.0) -> str:
    """Minimum and median."""
    return f"{digits(unit * min(seconds))} ({digits(unit * statistics.median(seconds))})"


def ratio(peer: list[float], mine: list[float]) -> str:
    """Of the minima, and of the medians."""
    return f"{min(peer) / min(mine):.2f} ({statistics.median(peer) / statistics.median(mine):.2f})"


def processor() -> str:
    """Name of the processor, as Linux has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def provenance(packages: Iterable[str]) -> str:
    """Say when, on what, under which load and with which versions; what is not installed is left out."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    machine = f"{processor()}, {os.cpu_count()} cores{load}, {platform.system()} {platform.machine()}"
    installed = {name for name in packages if _installed(name)}
    versions = [f"{name} {metadata.version(name)}" for name in packages if name in installed]
    python = f"Python {platform.python_version()}"
    return f"{datetime.date.today()}; {machine}; {', '.join([*versions, python])}."


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
