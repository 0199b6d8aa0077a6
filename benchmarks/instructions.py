# SPDX-License-Identifier: Apache-2.0
"""Instructions of small kernels by callgrind, beside stored counts: speed that CI can test.

Builds what of the core they need for plain x86-64, with `instructions.cpp`; needs g++ and valgrind. Counts
belong to a version of the compiler: with another they are printed and not compared. Exit 1 when a kernel
takes more than its count and --tolerance, or less (then `--store` keeps what was gained). 20,000 rows x 12.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
STORE = HERE / "instructions.json"
SOURCES = [
    "alike",
    "blocks",
    "bundles",
    "candidates",
    "code_table",
    "histogram",
    "partition",
    "passes",
    "risk",
    "shard",
    "split",
]
KERNELS = ["histogram", "split", "partition", "trial", "step"]
# As CMakeLists.txt has them; without copies for newer processors.
FLAGS = ["-std=c++17", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-pthread"]
FLAGS += ["-g1", "-DNDEBUG", "-DTADABOOST_ONE_COPY"]


def build(folder: Path) -> Path:
    """Compile the program, a file on each core."""
    core = HERE.parent / "cpp"
    sources = [core / f"{name}.cpp" for name in SOURCES]

    def compile_one(source: Path) -> str:
        out = folder / f"{source.stem}.o"
        subprocess.run(["g++", *FLAGS, f"-I{core}", "-c", source, "-o", out], check=True)
        return str(out)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, [*sources, HERE / "instructions.cpp"]))
    program = folder / "instructions"
    subprocess.run(["g++", "-pthread", *objects, "-o", program], check=True)
    return program


def count(program: Path, kernel: str) -> int:
    """Instructions below `measured`."""
    command = [
        "valgrind",
        "--tool=callgrind",
        "--toggle-collect=measured",
        f"--callgrind-out-file={os.devnull}",
    ]
    done = subprocess.run([*command, program, kernel], check=True, capture_output=True, text=True)
    (number,) = re.findall(r"Collected : (\d+)", done.stderr)
    return int(number)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tolerance", type=float, default=0.03)
    parser.add_argument("--store", action="store_true", help="make today's counts those to compare with")
    options = parser.parse_args()
    version = subprocess.run(["g++", "-dumpfullversion"], check=True, capture_output=True, text=True)
    compiler = f"g++ {version.stdout.strip()}, {platform.machine()}"
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        found = {kernel: count(program, kernel) for kernel in KERNELS}
    every = json.loads(STORE.read_text())
    stored = every.get(compiler, {})
    print(f"| instructions, {compiler} | now | stored | change |")
    print("|---|--:|--:|--:|")
    moved = []
    for kernel, now in found.items():
        before = stored.get(kernel, 0)
        change = now / before - 1 if before else 0.0
        cells = [f"{before:,}", f"{change:+.1%}"] if before else ["", ""]
        print(f"| {kernel} | {now:,} | {' | '.join(cells)} |")
        moved += [kernel] if abs(change) > options.tolerance else []
    if options.store:
        STORE.write_text(json.dumps(every | {compiler: found}, indent=2) + "\n")
        return 0
    if not stored:
        print(f"\nnot compared: the stored counts are of {'; '.join(every)}")
    if moved:
        print(
            f"\nmoved by more than {options.tolerance:.0%}: {', '.join(moved)}; if that is meant, --store it"
        )
    return bool(moved)


if __name__ == "__main__":
    sys.exit(main())
