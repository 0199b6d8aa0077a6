# SPDX-License-Identifier: Apache-2.0
"""Test error beside LightGBM on the same splits: prints a Markdown table.

Five stratified 70/30 splits; equal trees, leaves, learning rate, least rows in a leaf; categories are native
in both. The last two models are ours with 31 leaves and LightGBM as it comes, which has 31 leaves too.
"""

import argparse
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedShuffleSplit

import tadaboost

N_SPLITS = 5
# File, target, and what makes a row positive.
SETS: dict[str, tuple[str, str, Callable[[pd.Series], pd.Series]]] = {
    "abalone": ("abalone.csv", "Rings", lambda rings: rings >= 10),
    "adult": ("adult.csv.gz", "income", lambda income: income == ">50K"),
    "eeg": ("eeg.csv", "eyeDetection", lambda closed: closed == 1),
    "sonar": ("sonar.csv", "class", lambda kind: kind == "M"),
}


def models(options: argparse.Namespace) -> dict[str, object]:
    """Column of the table -> unfitted model."""

    def ours(leaves: int) -> tadaboost.TAdaBoostClassifier:
        return tadaboost.TAdaBoostClassifier(
            options.t,
            n_estimators=options.trees,
            max_leaf_nodes=leaves,
            learning_rate=0.1,
            min_samples_leaf=5,
            n_jobs=options.jobs,
        )

    quiet = {"n_estimators": options.trees, "n_jobs": options.jobs, "verbose": -1}
    return {
        f"tadaboost, {options.leaves} leaves": ours(options.leaves),
        f"LightGBM, {options.leaves} leaves": lightgbm.LGBMClassifier(
            num_leaves=options.leaves, learning_rate=0.1, min_child_samples=5, **quiet
        ),
        "tadaboost, 31 leaves": ours(31),
        "LightGBM default": lightgbm.LGBMClassifier(**quiet),
    }


def read(folder: Path, name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Features, text as categories, and the 0/1 target."""
    file, target, positive = SETS[name]
    table = pd.read_csv(folder / file)
    y = positive(table.pop(target)).to_numpy().astype(int)
    text = table.select_dtypes(exclude="number").columns
    return table.astype(dict.fromkeys(text, "category")), y


def errors(model: object, X: pd.DataFrame, y: np.ndarray, seed: int) -> np.ndarray:
    """Test error in percent on each split."""
    splits = StratifiedShuffleSplit(N_SPLITS, test_size=0.3, random_state=seed).split(X, y)
    wrong = [
        np.mean(model.fit(X.iloc[train], y[train]).predict(X.iloc[test]) != y[test]) for train, test in splits
    ]
    return 100 * np.array(wrong)


def main() -> int:
    """Print the table; exit with 1 when a set is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the CSV files")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--t", type=float, default=0.5)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--leaves", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    missing = [str(options.data / SETS[name][0]) for name in options.sets]
    missing = [path for path in missing if not Path(path).exists()]
    if missing:
        print(f"not found: {', '.join(missing)}", file=sys.stderr)
        return 1

    columns = models(options)
    print(f"| test error, % | rows | {' | '.join(columns)} | first minus second | s |")
    print(f"|---|--:|{'--:|' * (len(columns) + 2)}")
    for name in options.sets:
        X, y = read(options.data, name)
        start = time.perf_counter()
        found = [errors(model, X, y, options.seed) for model in columns.values()]
        cells = [f"{e.mean():.2f} ± {e.std(ddof=1) / np.sqrt(N_SPLITS):.2f}" for e in found]
        gap, seconds = (found[0] - found[1]).mean(), time.perf_counter() - start
        print(f"| {name} | {len(y)} | {' | '.join(cells)} | {gap:+.2f} | {seconds:.0f} |", flush=True)
    print(f"\nMean and standard error over {N_SPLITS} stratified 70/30 splits, seed {options.seed};", end=" ")
    print(f"t = {options.t}, {options.trees} trees. tadaboost {tadaboost.__version__},", end=" ")
    print(f"LightGBM {lightgbm.__version__}, Python {platform.python_version()}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
