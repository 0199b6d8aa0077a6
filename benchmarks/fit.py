# SPDX-License-Identifier: Apache-2.0
"""CPU time of a fit beside LightGBM, one thread each, in one process, A B A B: prints a Markdown table.

Wall time is worthless on a shared machine, and so are two processes one after the other. "whole" is fit from
the array, binning included. "boosting" leaves binning out: LightGBM trains on a dataset built before;
ours is the time of all trees minus the time of a single one, times J / (J - 1).
"""

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable

os.environ["OMP_NUM_THREADS"] = "1"  # before any library reads them
os.environ["OMP_WAIT_POLICY"] = "passive"

import lightgbm
import numpy as np

import tadaboost


def table(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """float32 normals; the label follows a few columns and their products, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    signal = X[:, 0] + X[:, 1 % columns] * X[:, 2 % columns] + np.abs(X[:, 3 % columns])
    y = (signal + rng.standard_normal(rows, dtype=np.float32) > np.median(signal)).astype(np.int32)
    return X, y


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of this process, all its threads, while `work` runs."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(options: argparse.Namespace) -> dict[str, list[float]]:
    """Row of the table -> CPU seconds, one of each repetition."""
    X, y = table(options.rows, options.columns, options.seed)
    settings = {
        "num_leaves": options.leaves,
        "max_bin": options.bins,
        "min_data_in_leaf": 5,
        "learning_rate": 0.1,
        "objective": "binary",
        "num_threads": 1,
        "verbosity": -1,
    }

    def ours(trees: int) -> object:
        model = tadaboost.TAdaBoostClassifier(
            options.t,
            n_estimators=trees,
            max_leaf_nodes=options.leaves,
            max_bins=options.bins,
            n_jobs=1,
        )
        return model.fit(X, y)

    def dataset() -> lightgbm.Dataset:
        return lightgbm.Dataset(X, y, params=settings).construct()

    def train(data: lightgbm.Dataset) -> object:
        return lightgbm.train(settings, data, num_boost_round=options.trees)

    ours(1)  # warm up: page in the code and the data
    train(dataset())
    found: dict[str, list[float]] = {name: [] for name in ("ours", "peer", "ours boosting", "peer boosting")}
    for _ in range(options.repeats):
        whole, single = cpu(lambda: ours(options.trees)), cpu(lambda: ours(1))
        found["ours"].append(whole)
        found["ours boosting"].append((whole - single) * options.trees / (options.trees - 1))
        built: list[lightgbm.Dataset] = []
        binning = cpu(lambda built=built: built.append(dataset()))
        boosting = cpu(lambda built=built: train(built[0]))
        found["peer"].append(binning + boosting)
        found["peer boosting"].append(boosting)
    return found


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--leaves", type=int, default=8)
    parser.add_argument("--bins", type=int, default=255)
    parser.add_argument("--t", type=float, default=0.5)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.trees < 2 or options.repeats < 1:
        parser.error("--trees must be at least 2 and --repeats at least 1")

    found = measure(options)
    size = f"{options.rows} x {options.columns}, {options.trees} trees x {options.leaves} leaves"
    print(f"| {size}, one thread | tadaboost, CPU s | LightGBM, CPU s | LightGBM / tadaboost |")
    print("|---|--:|--:|--:|")
    for part, ours, peer in (("whole", "ours", "peer"), ("boosting", "ours boosting", "peer boosting")):
        for name, of in (("minimum", min), ("median", statistics.median)):
            a, b = of(found[ours]), of(found[peer])
            print(f"| {part}, {name} of {options.repeats} | {a:.3f} | {b:.3f} | {b / a:.2f} |")
    print(f"\ntadaboost {tadaboost.__version__}, t = {options.t}; LightGBM {lightgbm.__version__};", end=" ")
    print(f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
