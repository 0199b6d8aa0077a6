# SPDX-License-Identifier: Apache-2.0
"""Test error and AUC beside LightGBM on the same splits: prints two Markdown tables.

Five stratified 70/30 splits, or with --folds a cross-validation for each of five seeds; equal trees, leaves,
learning rate, least rows in a leaf; categories are native in both. The last two models are ours with 31
leaves and LightGBM as it comes, which has 31 leaves too. The first AUC may not be below the second by
more than .003. With several --t each fit of ours takes the one of least error in a cross-validation of its
training rows (five folds, the same for every t).
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import measure  # first: it limits the threads of what is loaded below

# isort: split
import lightgbm
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedShuffleSplit

import tadaboost

N_SPLITS = 5  # seeds, with --folds
MOST_WORSE = 0.003  # of AUC
FOLDERS = [Path("../shared/data/uci"), Path("../shared/data/extra")]
# File, target, and what makes a row positive.
SETS: dict[str, tuple[str, str, Callable[[pd.Series], pd.Series]]] = {
    "abalone": ("abalone.csv", "Rings", lambda rings: rings >= 10),
    "adult": ("adult.csv.gz", "income", lambda income: income == ">50K"),
    "bank_marketing": ("bank_marketing.csv.gz", "y", lambda subscribed: subscribed == "yes"),
    "eeg": ("eeg.csv", "eyeDetection", lambda closed: closed == 1),
    "kddcup99": ("kddcup99_10pct.csv.gz", "label", lambda kind: kind != "normal."),
    "sonar": ("sonar.csv", "class", lambda kind: kind == "M"),
}


def models(options: argparse.Namespace) -> dict[str, object]:
    """Column of the table -> unfitted model."""

    def ours(leaves: int) -> tadaboost.TAdaBoostClassifier | GridSearchCV:
        model = tadaboost.TAdaBoostClassifier(
            options.t[0],
            n_estimators=options.trees,
            max_leaf_nodes=leaves,
            learning_rate=0.1,
            min_samples_leaf=5,
            n_jobs=options.jobs,
        )
        return GridSearchCV(model, {"t": options.t}, cv=5) if len(options.t) > 1 else model

    quiet = {"n_estimators": options.trees, "n_jobs": options.jobs, "verbose": -1}
    return {
        f"tadaboost, {options.leaves} leaves": ours(options.leaves),
        f"LightGBM, {options.leaves} leaves": lightgbm.LGBMClassifier(
            num_leaves=options.leaves, learning_rate=0.1, min_child_samples=5, **quiet
        ),
        "tadaboost, 31 leaves": ours(31),
        "LightGBM default": lightgbm.LGBMClassifier(**quiet),
    }


def place(folders: list[Path], name: str) -> Path:
    """The file of a set: in the first folder that has it."""
    places = [folder / SETS[name][0] for folder in folders]
    return next((path for path in places if path.exists()), places[0])


def read(path: Path, name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Features, text as categories, and the 0/1 target."""
    _, target, positive = SETS[name]
    table = pd.read_csv(path)
    y = positive(table.pop(target)).to_numpy().astype(int)
    text = table.select_dtypes(exclude="number").columns
    return table.astype(dict.fromkeys(text, "category")), y


def scores(
    model: object, X: pd.DataFrame, y: np.ndarray, splitter: RepeatedStratifiedKFold | StratifiedShuffleSplit
) -> np.ndarray:
    """Test error in percent and AUC on each split, shape (2, splits)."""
    found = []
    for train, test in splitter.split(X, y):
        model.fit(X.iloc[train], y[train])
        wrong = np.mean(model.predict(X.iloc[test]) != y[test])
        if isinstance(model, lightgbm.LGBMClassifier):  # scores, since probabilities round to 1 and tie
            score = model.predict(X.iloc[test], raw_score=True)
        else:
            score = model.decision_function(X.iloc[test])
        found.append((100 * wrong, roc_auc_score(y[test], score)))
    return np.array(found).T


def guard(folders: list[Path], n_splits: int, t: float = 0.5) -> Iterator[str]:
    """Lines of a table: AUC beside LightGBM's at equal trees, leaves and learning rate, on what is there."""
    options = argparse.Namespace(t=[t], trees=100, leaves=8, jobs=1)
    first_two = list(models(options).items())[:2]
    splitter = StratifiedShuffleSplit(n_splits, test_size=0.3, random_state=0)
    yield auc_header([name for name, _ in first_two])
    for name in SETS:
        if (path := place(folders, name)).exists():
            X, y = read(path, name)
            yield auc_line(name, [scores(model, X, y, splitter)[1] for _, model in first_two])
    yield f"\nMean and standard error over {n_splits} stratified 70/30 splits, t = {t}, 100 trees."


def auc_header(names: list[str]) -> str:
    return f"| test AUC | {' | '.join(names)} | first minus second | above -{MOST_WORSE} |\n" + (
        f"|---|{'--:|' * (len(names) + 1)}---|"
    )


def auc_line(name: str, found: list[np.ndarray]) -> str:
    """One row of that table; the first two models have equal settings."""
    cells = [f"{auc.mean():.4f} ± {auc.std(ddof=1) / np.sqrt(len(auc)):.4f}" for auc in found]
    gap = np.mean(found[0] - found[1])
    return f"| {name} | {' | '.join(cells)} | {gap:+.4f} | {'yes' if gap >= -MOST_WORSE else 'no'} |"


def standard_error(differences: np.ndarray, folds: int) -> float:
    """Of the mean over all folds of all seeds: of Nadeau and Bengio, since training sets overlap."""
    share = 1 / (folds - 1) if folds else 0.3 / 0.7  # test rows over training rows
    return float(differences.std(ddof=1) * np.sqrt(1 / len(differences) + share))


def main() -> int:
    """Print the table; exit with 1 when a set is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, nargs="+", default=FOLDERS, help="folders that hold the CSV files"
    )
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--t", type=float, nargs="+", default=[0.5])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--leaves", type=int, default=8)
    parser.add_argument("--folds", type=int, default=0, help="of a cross-validation for each of five seeds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    files = {name: place(options.data, name) for name in options.sets}
    missing = [str(path) for path in files.values() if not path.exists()]
    if missing:
        print(f"not found: {', '.join(missing)}", file=sys.stderr)
        return 1

    columns = models(options)
    splitter = (
        RepeatedStratifiedKFold(n_splits=options.folds, n_repeats=N_SPLITS, random_state=options.seed)
        if options.folds
        else StratifiedShuffleSplit(N_SPLITS, test_size=0.3, random_state=options.seed)
    )
    print(f"| test error, % | rows | {' | '.join(columns)} | first minus second | third minus fourth | s |")
    print(f"|---|--:|{'--:|' * (len(columns) + 3)}")
    aucs = [auc_header(list(columns))]
    for name in options.sets:
        X, y = read(files[name], name)
        start = time.perf_counter()
        both = [scores(model, X, y, splitter) for model in columns.values()]
        found = [error for error, _ in both]
        pairs = (found[0] - found[1], found[2] - found[3])
        cells = [f"{e.mean():.2f} ± {e.std(ddof=1) / np.sqrt(len(e)):.2f}" for e in found]
        cells += [f"{gap.mean():+.2f} ± {standard_error(gap, options.folds):.2f}" for gap in pairs]
        seconds = time.perf_counter() - start
        print(f"| {name} | {len(y)} | {' | '.join(cells)} | {seconds:.0f} |", flush=True)
        aucs.append(auc_line(name, [auc for _, auc in both]))
    print("\n" + "\n".join(aucs))
    how = f"the {options.folds} folds of {N_SPLITS} seeds" if options.folds else f"{N_SPLITS} 70/30 splits"
    print(f"\nMean and standard error over {how}, stratified, first seed {options.seed}; that of", end=" ")
    which = f"t = {options.t[0]}" if len(options.t) == 1 else f"t chosen from {options.t} by training rows"
    print(f"differences is Nadeau and Bengio's. {which}, {options.trees} trees.", end=" ")
    print(measure.provenance(("tadaboost", "lightgbm")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
