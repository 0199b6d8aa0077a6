# SPDX-License-Identifier: Apache-2.0
"""CPU time of predictions beside other boosters, one thread, in one process, A B A B: a Markdown table.

Scores before any link, from a float32 array, of models with equal trees and leaves (CatBoost's are symmetric:
of 8 or 32 leaves). "One row" is a float64 array of one row; of LightGBM and XGBoost the low-level booster
is asked, their fastest. A peer that is not installed is left out.
"""

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec

os.environ["OMP_NUM_THREADS"] = "1"  # before any library reads them
os.environ["OMP_WAIT_POLICY"] = "passive"

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


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of this process while `work` runs."""
    start = time.process_time()
    work()
    return time.process_time() - start


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


def measure(
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
    for leaves in options.leaves:
        many, one = measure(options, leaves)
        for name in one:
            cells = [name, str(leaves)]
            for found, unit in ((many, 1e3), (one, 1e6)):
                if name not in found:
                    cells += ["", ""]
                    continue
                least, middle = min(found[name]), statistics.median(found[name])
                cells.append(f"{unit * least:.1f} ({unit * middle:.1f})")
                cells.append(f"{least / min(found['tadaboost']):.2f}")
            print("| " + " | ".join(cells) + " |")
    names = [
        name
        for name in ("catboost", "lightgbm", "xgboost", "scikit-learn")
        if find_spec(name.replace("scikit-", "sk"))
    ]
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    print(
        f"\nMinimum (median) of {options.repeats}, CPU time. tadaboost {tadaboost.__version__}, {versions};",
        end=" ",
    )
    print(f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
