# SPDX-License-Identifier: Apache-2.0
"""Fixed-point histograms beside sums of doubles (tests/float_histograms.py) as rows grow: a Markdown table.

Errors on rows apart, of two models whose histograms alone differ; the largest difference of a split's gain,
as a share of the weight of all rows. If a weight's resolution fell as rows grow, that would rise.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

import measure  # first: it limits the threads of what is loaded below

# isort: split
import numpy as np

from tadaboost import TAdaBoostClassifier

_path = Path(__file__).parents[1] / "tests" / "float_histograms.py"
_spec = importlib.util.spec_from_file_location("float_histograms", _path)
assert _spec is not None
assert _spec.loader is not None
float_histograms = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(float_histograms)


def line(rows: int, t: float, options: argparse.Namespace) -> str:
    """Fit both, on the first rows, and score the others."""
    X, y = measure.table(rows + options.test_rows, options.columns)
    model = TAdaBoostClassifier(t, n_estimators=options.trees, learning_rate=0.5, n_jobs=1)
    model.fit(X[:rows], y[:rows])
    trees, wrong = model.trees_, model.predict(X[rows:]) != y[rows:]
    float_histograms.fit(model, X[:rows], y[:rows])
    n_alike, gap = float_histograms.gap_of_gains(trees, model.trees_)
    wrong_too = model.predict(X[rows:]) != y[rows:]
    apart = wrong.astype(float) - wrong_too
    error = apart.std() / np.sqrt(len(apart))
    cells = [f"{rows:,}", f"{t}", f"{100 * wrong.mean():.3f}", f"{100 * wrong_too.mean():.3f}"]
    cells += [f"{100 * apart.mean():+.3f} ± {100 * error:.3f}", f"{n_alike} of {len(trees)}", f"{gap:.1e}"]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 1_000_000, 10_000_000])
    parser.add_argument("--t", type=float, nargs="+", default=[0.5, 1.0])
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--test-rows", type=int, default=200_000)
    options = parser.parse_args()
    names = ["rows", "t", "test error, %", "of doubles", "difference", "first trees alike", "gap of gains"]
    print(f"| {' | '.join(names)} |\n|--:{'|--:' * (len(names) - 1)}|")
    for rows in options.rows:
        for t in options.t:
            print(line(rows, t, options), flush=True)
    print(f"\n{options.columns} columns, {options.trees} trees x 8 leaves.", end=" ")
    print(measure.provenance(["tadaboost", "numpy"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
