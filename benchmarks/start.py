# SPDX-License-Identifier: Apache-2.0
"""What comes before the work: imports and a first fit in fresh processes, threads on a few rows; Markdown.

CPU time of whole processes, interpreter included, in turns. What is imported beside us is what any classifier
of scikit-learn with callbacks needs: the difference is ours.
"""

import argparse
import os
import statistics
import subprocess
import sys

import measure  # first: it limits the threads of what is loaded below

# isort: split
import numpy as np

import tadaboost

ROWS = """
import numpy as np
X = np.random.default_rng(0).standard_normal((100, 5))
y = X[:, 0] > 0
"""
PROCESSES = {
    "nothing": "",
    "`import numpy`": "import numpy",
    "`import tadaboost`": "import tadaboost",
    "numpy and the parts of scikit-learn that we use": """
import numpy, joblib, narwhals.stable.v2, sklearn.base, sklearn.callback, sklearn.metrics
import sklearn.model_selection, sklearn.utils.validation""",
    "`from tadaboost import TAdaBoostClassifier`": "from tadaboost import TAdaBoostClassifier",
    "the same, and a first fit of 100 rows": f"""
from tadaboost import TAdaBoostClassifier
{ROWS}
TAdaBoostClassifier(n_jobs=1).fit(X, y)""",
    "the same, and a second": f"""
from tadaboost import TAdaBoostClassifier
{ROWS}
TAdaBoostClassifier(n_jobs=1).fit(X, y)
TAdaBoostClassifier(n_jobs=1).fit(X, y)""",
}


def process(code: str) -> float:
    """CPU seconds of a fresh interpreter that runs `code`."""
    code += "\nimport time; print(time.process_time())"
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=compiled).stdout)


def threads_on_few_rows(repeats: int, n_threads: int) -> dict[int, list[tuple[float, float]]]:
    """Threads -> CPU and wall seconds of fits of 100 rows, in turns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 5))
    y = X[:, 0] + rng.standard_normal(100) > 0
    found: dict[int, list[tuple[float, float]]] = {1: [], n_threads: []}
    for _ in range(repeats):
        for n, times in found.items():
            model = tadaboost.TAdaBoostClassifier(n_jobs=n)
            times.append(measure.timed(lambda model=model: model.fit(X, y)))
    return found


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.repeats < 1 or options.threads < 2:
        parser.error("--repeats must be at least 1 and --threads at least 2")

    found: dict[str, list[float]] = {name: [] for name in PROCESSES}
    for code in PROCESSES.values():  # leaves bytecode, as an installation does
        process(code)
    for _ in range(options.repeats):
        for name, code in PROCESSES.items():
            found[name].append(process(code))
    print("| a fresh process | CPU ms, minimum | median |")
    print("|---|--:|--:|")
    for name, seconds in found.items():
        print(f"| {name} | {1e3 * min(seconds):.0f} | {1e3 * statistics.median(seconds):.0f} |")
    _, _, _, base, ours, first, second = map(np.array, found.values())
    extra = {"our import": ours - base, "a first fit over a second": 2 * first - ours - second}
    print("\n| what must be lost in the noise | CPU ms, median | least | most |\n|---|--:|--:|--:|")
    for name, seconds in extra.items():
        cells = [f"{1e3 * number(seconds):+.0f}" for number in (np.median, np.min, np.max)]
        print(f"| {name} | {' | '.join(cells)} |")

    few = threads_on_few_rows(5 * options.repeats, options.threads)
    print("\n| fit of 100 rows, 100 trees x 8 leaves | CPU ms, minimum (median) | wall ms |")
    print("|---|--:|--:|")
    for n, times in few.items():
        cells = [f"{1e3 * min(t):.1f} ({1e3 * statistics.median(t):.1f})" for t in zip(*times, strict=True)]
        print(f"| {n} thread{'s' * (n > 1)} | " + " | ".join(cells) + " |")
    print(f"\n{options.repeats} repeats. {measure.provenance(['tadaboost', 'numpy', 'scikit-learn'])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
