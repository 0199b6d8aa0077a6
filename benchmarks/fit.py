# SPDX-License-Identifier: Apache-2.0
"""CPU time of a fit beside other boosters, one thread, in one process, A B A B: prints a Markdown table.

Wall time is worthless on a shared machine, and so are two processes one after the other. "boosting" leaves
binning out: peers train on data binned before; ours is the time of all trees less the time of a single one,
times J / (J - 1). "whole" is fit from a float32 array. Without arguments it prints every row; a row is picked
by --rows, --columns, --trees, --leaves and --t. A ratio above 1 says that we are faster.
"""

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"  # before any library reads them
os.environ["OMP_WAIT_POLICY"] = "passive"

import lightgbm
import numpy as np
import xgboost
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

import tadaboost
from tadaboost import binning

Work = Callable[[], object]


class Case(NamedTuple):
    """A row of the table, but for t."""

    rows: int
    columns: int
    trees: int
    leaves: int
    bins: int = 255

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns}, {self.trees} trees x {self.leaves} leaves"


CASES = [
    Case(1_000_000, 28, 20, 8), Case(1_000_000, 28, 20, 31),
    Case(100_000, 50, 50, 8), Case(100_000, 50, 50, 31),
    Case(5000, 12, 100, 8), Case(5000, 12, 100, 31), Case(500, 10, 100, 8),
]  # fmt: skip
TEMPERATURES = [0.0, 0.5, 0.8, 1.0]


def table(case: Case, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """float32 normals; the label follows a few columns and their products, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((case.rows, case.columns), dtype=np.float32)
    signal = X[:, 0] + X[:, 1 % case.columns] * X[:, 2 % case.columns] + np.abs(X[:, 3 % case.columns])
    y = (signal + rng.standard_normal(case.rows, dtype=np.float32) > np.median(signal)).astype(np.int32)
    return X, y


def cpu(work: Work) -> float:
    """CPU seconds of this process, all its threads, while `work` runs."""
    start = time.process_time()
    work()
    return time.process_time() - start


def interleaved(works: dict[str, Work], repeats: int) -> dict[str, list[float]]:
    """CPU seconds of each work, one of each in turn, after one that does not count."""
    for work in works.values():
        work()
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            found[name].append(cpu(work))
    return found


def ours(case: Case, t: float, X: np.ndarray, y: np.ndarray, trees: int | None = None) -> Work:
    """Fit with the defaults of the library but for the size."""
    model = tadaboost.TAdaBoostClassifier(
        t, n_estimators=trees or case.trees, max_leaf_nodes=case.leaves, max_bins=case.bins, n_jobs=1
    )
    return lambda: model.fit(X, y)


def light(case: Case) -> dict[str, Any]:
    """LightGBM's parameters; it chooses between row-wise and column-wise histograms by itself."""
    return {
        "num_leaves": case.leaves, "max_bin": case.bins, "min_data_in_leaf": 5, "learning_rate": 0.1,
        "objective": "binary", "num_threads": 1, "verbosity": -1,
    }  # fmt: skip


def extreme(case: Case) -> dict[str, Any]:
    """XGBoost's, which grows by loss as the others do."""
    return {
        "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": case.leaves, "max_depth": 0,
        "max_bin": case.bins, "eta": 0.1, "objective": "binary:logistic", "nthread": 1, "verbosity": 0,
    }  # fmt: skip


def boosting(case: Case, temperatures: list[float], repeats: int) -> Iterator[str]:
    """Rows "boosting": ours at each t, beside LightGBM and XGBoost."""
    X, y = table(case)
    of_light = lightgbm.Dataset(X, y, params=light(case)).construct()
    of_extreme = xgboost.QuantileDMatrix(X, y, max_bin=case.bins, nthread=1)
    works: dict[str, Work] = {
        "LightGBM": lambda: lightgbm.train(light(case), of_light, num_boost_round=case.trees),
        "XGBoost": lambda: xgboost.train(extreme(case), of_extreme, num_boost_round=case.trees),
    }
    for t in temperatures:
        works[f"all {t}"], works[f"one {t}"] = ours(case, t, X, y), ours(case, t, X, y, trees=1)
    found = interleaved(works, repeats)
    for t in temperatures:
        pairs = zip(found[f"all {t}"], found[f"one {t}"], strict=True)
        mine = [(whole - single) * case.trees / (case.trees - 1) for whole, single in pairs]
        yield line(f"boosting, {case}, t = {t}", mine, found["LightGBM"], found["XGBoost"])


def line(name: str, mine: list[float], *peers: list[float]) -> str:
    """One row: minimum (median) of ours, and of each peer with its ratio to ours."""
    cells = [name, figures(mine)]
    for peer in peers:
        ratios = f"{min(peer) / min(mine):.2f} ({statistics.median(peer) / statistics.median(mine):.2f})"
        cells += [figures(peer), ratios]
    cells += [""] * (6 - len(cells))
    return "| " + " | ".join(cells) + " |"


def figures(seconds: list[float]) -> str:
    """Minimum and median."""
    return f"{min(seconds):.4g} ({statistics.median(seconds):.4g})"


def other_rows(repeats: int) -> Iterator[str]:
    """Whole fit and binning at 1M x 28, scikit-learn's AdaBoost at 5k x 12 (1M would take ten minutes)."""
    case = Case(1_000_000, 28, 100, 8)
    X, y = table(case)

    def whole() -> object:
        return lightgbm.train(
            light(case), lightgbm.Dataset(X, y, params=light(case)), num_boost_round=case.trees
        )

    found = interleaved({"ours": ours(case, 0.5, X, y), "peer": whole}, max(1, repeats // 2))
    yield line(f"whole fit, {case}, t = 0.5", found["ours"], found["peer"])

    def bin_all() -> object:
        none = np.zeros(case.columns, np.int64)  # levels: all columns are numeric
        return binning.encode(X, binning.fit_bins(X, none.astype(bool), none, case.bins))

    found = interleaved(
        {"ours": bin_all, "peer": lambda: lightgbm.Dataset(X, y, params=light(case)).construct()}, repeats
    )
    yield line("binning, 1000000 x 28", found["ours"], found["peer"])

    case = Case(5000, 12, 20, 8)
    X, y = table(case)
    ada = AdaBoostClassifier(DecisionTreeClassifier(max_leaf_nodes=8), n_estimators=20)
    found = interleaved({"ours": ours(case, 1.0, X, y), "peer": lambda: ada.fit(X, y)}, repeats)
    yield line(
        f"whole fit, {case}, t = 1, scikit-learn's AdaBoost in place of LightGBM",
        found["ours"],
        found["peer"],
    )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, help="with it, only this size")
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--leaves", type=int, default=8)
    parser.add_argument("--bins", type=int, default=255)
    parser.add_argument("--t", type=float, action="append", help="may be said again; default 0, .5, .8 and 1")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if options.trees < 2 or options.repeats < 1:
        parser.error("--trees must be at least 2 and --repeats at least 1")

    print("| one thread, CPU s, minimum (median) | tadaboost | LightGBM | ratio | XGBoost | ratio |")
    print("|---|--:|--:|--:|--:|--:|", flush=True)
    alone = Case(options.rows or 0, options.columns, options.trees, options.leaves, options.bins)
    for case in [alone] if options.rows else CASES:
        for text in boosting(case, options.t or TEMPERATURES, options.repeats):
            print(text, flush=True)
    if not options.rows:
        for text in other_rows(options.repeats):
            print(text, flush=True)
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores" if hasattr(os, "getloadavg") else ""
    peers = f"LightGBM {lightgbm.__version__}, XGBoost {xgboost.__version__}"
    print(f"\ntadaboost {tadaboost.__version__}, {peers}; {options.repeats} runs; {load};", end=" ")
    print(f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
