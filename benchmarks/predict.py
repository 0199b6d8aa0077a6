# SPDX-License-Identifier: Apache-2.0
"""CPU time of predictions beside other boosters, one thread, in one process, A B A B: a Markdown table.

Scores before any link, from a float32 array, of models with equal trees and leaves (CatBoost's are symmetric:
of 8 or 32 leaves). "One row" is a float64 array of one row; of LightGBM and XGBoost the low-level booster
is asked, their fastest. A peer that is not installed is left out. A second table says what must hold.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import measure  # first: it limits the threads of what is loaded below

# isort: split
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

import tadaboost

Score = Callable[[np.ndarray], object]


def table(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """float32 normals; the label follows all columns and a product, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    signal = X.sum(axis=1) + 2 * X[:, 0] * X[:, 1]
    return X, (signal + rng.standard_normal(rows) > 0).astype(np.int32)


def cpu(work: measure.Work) -> float:
    """CPU seconds of this process while `work` runs."""
    return measure.timed(work)[0]


def ours(X: np.ndarray, y: np.ndarray, trees: int, leaves: int) -> dict[str, Score]:
    model = tadaboost.TAdaBoostClassifier(n_estimators=trees, max_leaf_nodes=leaves, n_jobs=1).fit(X, y)
    predictor = model.predictor()
    return {"tadaboost": model.decision_function, "tadaboost, predictor()": lambda X: predictor(X[0])}


def histogram_gradient_boosting(X: np.ndarray, y: np.ndarray, trees: int, leaves: int) -> dict[str, Score]:
    model = HistGradientBoostingClassifier(max_iter=trees, max_leaf_nodes=leaves, early_stopping=False)
    return {"HistGradientBoosting": model.fit(X, y).decision_function}


def lightgbm(X: np.ndarray, y: np.ndarray, trees: int, leaves: int) -> dict[str, Score]:
    import lightgbm

    settings = {"num_leaves": leaves, "objective": "binary", "num_threads": 1, "verbosity": -1}
    model = lightgbm.train(settings, lightgbm.Dataset(X, y), num_boost_round=trees)
    return {"LightGBM": lambda X: model.predict(X, raw_score=True, num_threads=1)}


def xgboost(X: np.ndarray, y: np.ndarray, trees: int, leaves: int) -> dict[str, Score]:
    import xgboost

    settings = {"tree_method": "hist", "grow_policy": "lossguide", "max_leaves": leaves, "max_depth": 0}
    settings |= {"objective": "binary:logistic", "nthread": 1, "eta": 0.1}
    model = xgboost.train(settings, xgboost.DMatrix(X, y), num_boost_round=trees)
    return {"XGBoost": lambda X: model.inplace_predict(X, predict_type="margin")}


def catboost(X: np.ndarray, y: np.ndarray, trees: int, leaves: int) -> dict[str, Score]:
    import catboost

    model = catboost.CatBoostClassifier(
        iterations=trees, depth=round(np.log2(leaves)), thread_count=1, verbose=0, allow_writing_files=False
    ).fit(X, y)
    return {"CatBoost": lambda X: model.predict(X, prediction_type="RawFormulaVal", thread_count=1)}


PEERS = {"catboost": catboost, "lightgbm": lightgbm, "xgboost": xgboost}


def seconds_of(
    options: argparse.Namespace, leaves: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Contender -> seconds of each repetition, for all rows and for one."""
    X, y = table(options.rows, options.columns, options.seed)
    fitted = slice(options.rows // 5)  # enough to grow the trees
    scores: dict[str, Score] = {}
    for contender in (ours, *(PEERS[name] for name in PEERS if find_spec(name)), histogram_gradient_boosting):
        scores |= contender(X[fitted], y[fitted], options.trees, leaves)
    row = X[:1].astype(np.float64)
    many: dict[str, list[float]] = {name: [] for name in scores if "predictor" not in name}
    one: dict[str, list[float]] = {name: [] for name in scores}
    for score in scores.values():
        score(row)
    for _ in range(options.repeats):
        for name in many:
            many[name].append(cpu(lambda name=name: scores[name](X)))
        for name in one:
            calls = range(options.calls)
            one[name].append(
                cpu(lambda name=name, calls=calls: [scores[name](row) for _ in calls]) / len(calls)
            )
    return many, one


def targets(leaves: int, many: dict[str, list[float]], one: dict[str, list[float]]) -> Iterator[str]:
    """Rows of the table of what must hold, as far as the peers are there."""
    rows = [("all rows", many, "CatBoost", "tadaboost"), ("one row", one, "LightGBM", "tadaboost")]
    for what, found, peer, mine in rows:
        if peer in found:
            least = min(found[peer]) / min(found[mine])
            ratio = measure.ratio(found[peer], found[mine])
            yield f"| {what}, {leaves} leaves: {peer} over {mine} | {ratio} | 1 | {met(least >= 1)} |"
    mine = one["tadaboost, predictor()"]
    yield (
        f"| one row, {leaves} leaves: predictor(), us | {measure.figures(mine, 1e6)} | at most 10 "
        f"| {met(min(mine) <= 10e-6)} |"
    )


def met(holds: bool) -> str:
    return "yes" if holds else "no"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=12)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--leaves", type=int, nargs="+", default=[8, 31])
    parser.add_argument("--calls", type=int, default=100, help="of one row, in a repetition")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.columns < 2 or options.repeats < 1:
        parser.error("--columns must be at least 2 and --repeats at least 1")

    size = f"{options.trees} trees, {options.rows} x {options.columns}, one thread"
    print(f"| {size} | leaves | all rows, ms | over tadaboost's | one row, us | over tadaboost's |")
    print("|---|--:|--:|--:|--:|--:|")
    held = []
    for leaves in options.leaves:
        many, one = seconds_of(options, leaves)
        held += targets(leaves, many, one)
        for name in one:
            cells = [name, str(leaves)]
            for found, unit in ((many, 1e3), (one, 1e6)):
                both = found.get(name)
                cells += (
                    [measure.figures(both, unit), f"{min(both) / min(found['tadaboost']):.2f}"]
                    if both
                    else ["", ""]
                )
            print("| " + " | ".join(cells) + " |")
    print("\n| what must hold | found | at least | met |\n|---|--:|--:|---|")
    print("\n".join(held))
    packages = ("tadaboost", "catboost", "lightgbm", "xgboost", "scikit-learn")
    print(f"\nMinimum (median) of {options.repeats}, CPU time. {measure.provenance(packages)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
