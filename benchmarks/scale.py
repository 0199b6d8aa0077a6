# SPDX-License-Identifier: Apache-2.0
"""How time and memory of a fit grow with rows, columns, leaves and threads: a Markdown table and a picture.

Each fit has a process of its own: peak memory is that of a process. "Over the data" is its peak (ru_maxrss)
less what it held when the array was made and the libraries were loaded. CPU time is that of all threads;
wall time says something on an idle machine only. `--peer` does the same with LightGBM at the base size;
`--limit` times the updates of histograms, which take most of a fit, beside one store a cycle.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import measure  # first: it limits the threads of what is loaded below

# isort: split
import numpy as np

BASE = {"rows": 100_000, "columns": 28, "leaves": 8, "threads": 1, "trees": 20, "by": "tadaboost"}
AXES = {
    "rows": [10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000],
    "columns": [10, 30, 100, 300, 1_000],
    "leaves": [2, 4, 8, 16, 31, 64, 127, 255],
    "threads": [1, 2],
}
AT = {"rows": {}, "columns": {"rows": 20_000}, "leaves": {}, "threads": {"rows": 1_000_000}}
LABEL = {"cpu": "CPU s", "wall": "wall s"}
PIECE = 10_000  # rows made at a time, so that making them leaves no peak


def table(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """float32 normals; the label follows a few columns and their products, with noise."""
    rng = np.random.default_rng(0)
    X, y = np.empty((rows, columns), np.float32), np.empty(rows, np.int32)
    for first in range(0, rows, PIECE):
        part = X[first : first + PIECE]
        rng.standard_normal(out=part, dtype=np.float32)
        signal = part[:, 0] + part[:, 1] * part[:, 2] + np.abs(part[:, 3]) - 0.7
        y[first : first + PIECE] = signal + rng.standard_normal(len(part)) > 0
    return X, y


def resident() -> int:
    """Bytes of this process in memory now (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def ours(case: dict, X: np.ndarray, y: np.ndarray) -> object:
    from tadaboost import TAdaBoostClassifier

    settings = {"n_estimators": case["trees"], "max_leaf_nodes": case["leaves"], "n_jobs": case["threads"]}
    return TAdaBoostClassifier(**settings).fit(X, y)


def lightgbm(case: dict, X: np.ndarray, y: np.ndarray) -> object:
    import lightgbm

    settings = {"num_leaves": case["leaves"], "num_threads": case["threads"], "verbosity": -1}
    settings |= {"objective": "binary", "min_data_in_leaf": 5}
    return lightgbm.train(settings, lightgbm.Dataset(X, y), num_boost_round=case["trees"])


def fit_once(case: dict) -> dict[str, float]:
    """Fit in this process; seconds and MB."""
    fit = ours if case["by"] == "tadaboost" else lightgbm
    fit(case, *table(100, case["columns"]))  # what is loaded when it is first used
    X, y = table(case["rows"], case["columns"])
    before = resident()
    cpu, wall = time.process_time(), time.perf_counter()
    fit(case, X, y)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts kilobytes
    return {"cpu": cpu, "wall": wall, "memory": (peak - before) / 1e6}


def least_of(cases: list[dict], repeats: int) -> list[dict[str, float]]:
    """Least seconds and memory of each case, taken in turns."""
    found: list[list[dict[str, float]]] = [[] for _ in cases]
    for _ in range(repeats):
        for case, results in zip(cases, found, strict=True):
            command = [sys.executable, __file__, "--case", json.dumps(case)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            results.append(json.loads(done.stdout.splitlines()[-1]))
    return [{name: min(result[name] for result in results) for name in results[0]} for results in found]


def peer(trees: int, repeats: int) -> list[str]:
    """Lines of a table: memory beside LightGBM's."""
    large = BASE | {"rows": 1_000_000, "trees": trees}
    names = ("tadaboost", "lightgbm")
    found = least_of([large | {"by": by} for by in names], repeats)
    lines = [
        f"| 1,000,000 x 28, {trees} trees x 8 leaves | peak over the data, MB | CPU s |",
        "|---|--:|--:|",
    ]
    for name, result in zip(names, found, strict=True):
        lines.append(f"| {name} | {result['memory']:.0f} | {result['cpu']:.2f} |")
    holds = "no" if found[0]["memory"] > found[1]["memory"] else "yes"
    lines.append(f"\nNot above LightGBM's: {holds}. Minimum of {repeats}. {measure.provenance(names)}")
    return lines


def limit(repeats: int, columns: int = 28) -> list[str]:
    """Lines of a table: histograms of all rows and of one row in ten, less what an empty one takes."""
    from tadaboost import _core

    lines = ["| rows x columns | ns an update | of the limit | one row in ten, ns | of the limit |"]
    lines.append("|--:|--:|--:|--:|--:|")
    cycle = 1e3 / megahertz()
    for rows in (10_000, 100_000, 1_000_000, 10_000_000):
        rng = np.random.default_rng(0)
        codes = rng.integers(0, 255, (columns, rows), np.uint8)
        codes[0] = rng.choice(3, rows, p=[0.1, 0.9, 0.0])  # 2 is missing: nobody
        codes[0, 0] = 2
        n_codes = np.full(columns, 256, np.int64)
        positive = rng.random(rows) < 0.5
        root, parted = (
            _core.Shard(codes, n_codes, np.zeros(columns, bool), positive, None, None, True, 0.5, 1)
            for _ in range(2)
        )
        root.begin_tree(20)
        parted.begin_tree(20)
        n_tenth = int(np.count_nonzero(codes[0] == 0))
        parted.split(0, 1, 2, 0, (np.arange(256) == 0).astype(np.uint8))
        parted.split(2, 3, 4, 0, (np.arange(256) == 2).astype(np.uint8))
        works = {"all": (root, 0), "tenth": (parted, 1), "empty": (parted, 3)}
        calls = max(1, 1_000_000 // rows)
        times = measure.in_turns(
            {
                name: lambda shard=shard, node=node, calls=calls: [
                    shard.histogram(node) for _ in range(calls)
                ]
                for name, (shard, node) in works.items()
            },
            repeats,
            seconds=5.0,
        )
        seconds = {name: min(found.cpu) / calls for name, found in times.items()}
        empty = seconds["empty"]
        each = [1e9 * (seconds["all"] - empty) / (rows * columns)]
        each.append(1e9 * (seconds["tenth"] - empty) / (n_tenth * columns))
        cells = [f"{ns:.2f} | {cycle / ns:.0%}" for ns in each]
        lines.append(f"| {rows:,} x {columns} | {' | '.join(cells)} |")
    lines.append(
        f"\nThe limit is one store a cycle: {cycle:.2f} ns at {megahertz():.0f} MHz, which the machine"
    )
    lines.append(f"reports. Minimum of {repeats}. {measure.provenance(['tadaboost'])}")
    return lines


def megahertz() -> float:
    """Clock of the first core, as Linux reports it."""
    return float(re.findall(r"cpu MHz\s*: ([\d.]+)", Path("/proc/cpuinfo").read_text())[0])


def draw(found: dict[str, list[tuple[int, dict[str, float]]]], path: Path) -> None:
    """Draw a panel an axis: seconds and memory, both logarithmic, beside a line of slope 1."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(found), figsize=(3.5 * len(found), 3.8), layout="constrained")
    for panel, (axis, points) in zip(panels, found.items(), strict=True):
        x = [value for value, _ in points]
        what = "wall" if axis == "threads" else "cpu"
        seconds = [result[what] for _, result in points]
        panel.loglog(x, seconds, "o-" if what == "cpu" else "^-", label=LABEL[what])
        panel.loglog(
            x, [result["memory"] / 1e3 for _, result in points], "s--", label="memory over the data, GB"
        )
        if axis != "threads":
            panel.loglog(
                x, [seconds[-1] * value / x[-1] for value in x], ":", color="gray", label="in proportion"
            )
        panel.set_xlabel(axis)
        panel.set_xticks(x, [f"{value:,}" for value in x], rotation=45)
        panel.minorticks_off()
        size = BASE | AT[axis]
        fixed = [f"{size[name]:,} {name}" for name in ("rows", "columns", "leaves") if name != axis]
        panel.set_title(", ".join(fixed), fontsize=9)
    lines = [line for panel in (panels[0], panels[-1]) for line in panel.get_lines()]
    of_label = {line.get_label(): line for line in lines}
    figure.legend(of_label.values(), of_label.keys(), loc="outside lower center", ncols=len(of_label))
    figure.savefig(path, dpi=110)


def main() -> int:
    """Print the tables and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--trees", type=int, default=BASE["trees"])
    parser.add_argument("--most-rows", type=int, default=10_000_000, help="of which the data take 1.2 GB")
    parser.add_argument("--limit", action="store_true", help="nanoseconds an update of a histogram")
    parser.add_argument("--peer", action="store_true", help="memory of LightGBM beside ours, 1,000,000 x 28")
    parser.add_argument("--picture", type=Path, default=Path("scale.png"))
    parser.add_argument("--case", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(fit_once(options.case)))
        return 0
    if options.limit:
        print("\n".join(limit(options.repeats)))
        return 0
    if options.peer:
        print("\n".join(peer(options.trees, options.repeats)))
        return 0
    axes = AXES | {"rows": [rows for rows in AXES["rows"] if rows <= options.most_rows]}
    found = {}
    print("| varied | rows | columns | leaves | threads | CPU s | wall s | memory over the data, MB |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for axis, values in axes.items():
        cases = [BASE | AT[axis] | {"trees": options.trees, axis: value} for value in values]
        found[axis] = list(zip(values, least_of(cases, options.repeats), strict=True))
        for case, (_, result) in zip(cases, found[axis], strict=True):
            size = " | ".join(f"{case[name]:,}" for name in AXES)
            print(
                f"| {axis} | {size} | {result['cpu']:.2f} | {result['wall']:.2f} | {result['memory']:.0f} |"
            )
    draw(found, options.picture)
    print(f"\n{options.trees} trees, minimum of {options.repeats}. {measure.provenance(['tadaboost'])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
