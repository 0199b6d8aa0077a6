# SPDX-License-Identifier: Apache-2.0
"""Fits beside other boosters, equal trees x leaves, in one process, in turns: the table of what must hold.

Without arguments it prints every row, with what the ratio to the fastest peer must be, and then test AUC
beside LightGBM's. Seconds are CPU seconds of one thread; of two threads they are wall seconds, to be taken on
an idle machine. "boosting" leaves binning out: peers train on data binned before; ours is the time of all
trees less that of a single one, times J / (J - 1). "whole" goes from the array to the model. A ratio above 1
says that we are faster.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import measure  # first: it limits the threads of what is loaded below

# isort: split
import accuracy
import catboost
import lightgbm
import numpy as np
import xgboost
from sklearn.ensemble import AdaBoostClassifier
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper  # private, but that is its binning
from sklearn.tree import DecisionTreeClassifier

import tadaboost
from tadaboost import binning


class Case(NamedTuple):
    """A size."""

    rows: int
    columns: int
    trees: int
    leaves: int
    bins: int = 255
    target: float | None = None

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns}, {self.trees} trees x {self.leaves} leaves"


class Row(NamedTuple):
    """Seconds of ours and of the peers; `beside` are peers that the target does not speak of."""

    work: str
    target: float | None
    ours: list[float]
    peers: dict[str, list[float]]
    beside: dict[str, list[float]] = {}  # noqa: RUF012

    def __str__(self) -> str:
        every = self.peers | self.beside
        seconds = ", ".join(f"{name} {measure.figures(times)}" for name, times in every.items())
        ratios = ", ".join(measure.ratio(times, self.ours) for times in every.values())
        least = min(min(times) for times in self.peers.values()) / min(self.ours)
        met = "" if self.target is None else "yes" if least >= self.target else "no"
        cells = [self.work, measure.figures(self.ours), seconds, ratios, f"{self.target or ''}", met]
        return f"| {' | '.join(cells)} |"


CASES = [
    Case(1_000_000, 28, 20, 8, target=3.5), Case(1_000_000, 28, 20, 31, target=3.5),
    Case(100_000, 50, 50, 8, target=3.0), Case(100_000, 50, 50, 31, target=3.0),
    Case(5000, 12, 100, 8, target=2.0), Case(5000, 12, 100, 31, target=2.0),
    Case(500, 10, 100, 8, target=1.5),
]  # fmt: skip
TEMPERATURES = [0.0, 0.5, 0.8, 1.0]
SECONDS = 15.0  # that short fits are repeated for


def ours(
    case: Case,
    t: float,
    X: Any,
    y: np.ndarray,
    trees: int | None = None,
    threads: int = 1,
    weight: np.ndarray | None = None,
) -> measure.Work:
    """Fit with the defaults of the library but for the size."""
    model = tadaboost.TAdaBoostClassifier(
        t, n_estimators=trees or case.trees, max_leaf_nodes=case.leaves, max_bins=case.bins, n_jobs=threads
    )
    return lambda: model.fit(X, y, sample_weight=weight)


def without_binning(case: Case, every: list[float], single: list[float]) -> list[float]:
    """Seconds of the trees alone, from fits with all of them and with one."""
    return [(a - b) * case.trees / (case.trees - 1) for a, b in zip(every, single, strict=True)]


def light(case: Case, threads: int = 1) -> dict[str, Any]:
    """LightGBM's parameters; it chooses between row-wise and column-wise histograms by itself.

    A bin of one row is allowed, as elsewhere: with three at least, its default, 500 rows have 167 bins.
    """
    return {
        "num_leaves": case.leaves, "max_bin": case.bins, "min_data_in_bin": 1, "min_data_in_leaf": 5,
        "learning_rate": 0.1, "objective": "binary", "num_threads": threads, "verbosity": -1,
    }  # fmt: skip


def train_light(case: Case, data: lightgbm.Dataset, threads: int = 1) -> measure.Work:
    return lambda: lightgbm.train(light(case, threads), data, num_boost_round=case.trees)


def extreme(case: Case) -> dict[str, Any]:
    """XGBoost's, which grows by loss as the others do."""
    return {
        "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": case.leaves, "max_depth": 0,
        "max_bin": case.bins, "eta": 0.1, "objective": "binary:logistic", "nthread": 1, "verbosity": 0,
    }  # fmt: skip


def boosting(case: Case, temperatures: list[float], repeats: int) -> Iterator[Row]:
    """Trees alone: ours at each t, beside LightGBM and XGBoost."""
    X, y = measure.table(case.rows, case.columns)
    of_extreme = xgboost.QuantileDMatrix(X, y, max_bin=case.bins, nthread=1)
    works: dict[str, measure.Work] = {
        "LightGBM": train_light(case, lightgbm.Dataset(X, y, params=light(case)).construct()),
        "XGBoost": lambda: xgboost.train(extreme(case), of_extreme, num_boost_round=case.trees),
    }
    for t in temperatures:
        works[f"all {t}"], works[f"one {t}"] = ours(case, t, X, y), ours(case, t, X, y, trees=1)
    found = measure.in_turns(works, repeats, seconds=SECONDS)
    peers = {name: found[name].cpu for name in ("LightGBM", "XGBoost")}
    for t in temperatures:
        mine = without_binning(case, found[f"all {t}"].cpu, found[f"one {t}"].cpu)
        yield Row(f"boosting, {case}, t = {t}", case.target, mine, peers)


def every_boosting(options: argparse.Namespace) -> Iterator[Row]:
    """Every size of `CASES`."""
    for case in CASES:
        yield from boosting(case, options.t or TEMPERATURES, options.repeats)


def binning_alone(options: argparse.Namespace) -> Iterator[Row]:
    """From the array to the codes, or what a peer trains on."""
    case = Case(1_000_000, 28, 1, 8)
    X, y = measure.table(case.rows, case.columns)
    none = np.zeros(case.columns, np.int64)  # levels: all columns are numeric
    mapper = _BinMapper(n_bins=case.bins + 1, random_state=0, n_threads=1)

    works: dict[str, measure.Work] = {
        "ours": lambda: binning.encode(X, binning.fit_bins(X, none.astype(bool), none, case.bins)),
        "HistGradientBoosting": lambda: mapper.fit_transform(X),
        "CatBoost": lambda: catboost.Pool(X, y, thread_count=1).quantize(border_count=case.bins - 1),
        "LightGBM": lambda: lightgbm.Dataset(X, y, params=light(case)).construct(),
        "XGBoost": lambda: xgboost.QuantileDMatrix(X, y, max_bin=case.bins, nthread=1),
    }
    cpu = {name: times.cpu for name, times in measure.in_turns(works, options.repeats).items()}
    best, rest = ("HistGradientBoosting", "CatBoost"), ("LightGBM", "XGBoost")
    yield Row("binning, 1000000 x 28", 2.5, cpu["ours"], {n: cpu[n] for n in best}, {n: cpu[n] for n in rest})


def whole(options: argparse.Namespace) -> Iterator[Row]:
    """From the array to the model."""
    case = Case(1_000_000, 28, 100, 8)
    X, y = measure.table(case.rows, case.columns)
    works: dict[str, measure.Work] = {
        "ours": ours(case, 0.5, X, y),
        "LightGBM": lambda: train_light(case, lightgbm.Dataset(X, y, params=light(case)))(),
    }
    found = measure.in_turns(works, options.repeats)
    yield Row(f"whole fit, {case}, t = 0.5", 3.0, found["ours"].cpu, {"LightGBM": found["LightGBM"].cpu})


def threads(options: argparse.Namespace) -> Iterator[Row]:
    """Two threads, wall time: trees alone beside LightGBM, and a whole fit while a process takes a core."""
    X, y = measure.table(1_000_000, 28)
    for leaves in (8, 31):
        case = Case(1_000_000, 28, 20, leaves)
        data = lightgbm.Dataset(X, y, params=light(case, 2)).construct()
        works = {
            "LightGBM": train_light(case, data, 2),
            "all": ours(case, 0.5, X, y, threads=2),
            "one": ours(case, 0.5, X, y, trees=1, threads=2),
        }
        found = measure.in_turns(works, options.repeats)
        for clock, target in (("wall", 3.0), ("cpu", None)):
            of = {name: getattr(times, clock) for name, times in found.items()}
            mine = without_binning(case, of["all"], of["one"])
            yield Row(
                f"boosting, {case}, t = 0.5, two threads, {clock}", target, mine, {"LightGBM": of["LightGBM"]}
            )
    case = Case(1_000_000, 28, 20, 8)
    works = {f"{n}": ours(case, 0.5, X, y, threads=n) for n in (1, 2)}
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        found = measure.in_turns(works, options.repeats)
    finally:
        busy.kill()
        busy.wait()
    one = {"one thread": found["1"].wall}
    yield Row(f"whole fit, {case}, two threads, a core taken, wall", 1.0, found["2"].wall, one)


def adaboost(options: argparse.Namespace) -> Iterator[Row]:
    """scikit-learn's; at 1M rows the time of a few of its trees, times 20 over their number."""
    for rows, columns, target in ((5000, 12, 50.0), (1_000_000, 28, 500.0)):
        case = Case(rows, columns, 20, 8)
        X, y = measure.table(rows, columns)
        large = rows > 100_000
        trees = options.ada_trees if large else case.trees
        ada = AdaBoostClassifier(DecisionTreeClassifier(max_leaf_nodes=case.leaves), n_estimators=trees)
        works: dict[str, measure.Work] = {"ours": ours(case, 1.0, X, y)}
        peer: dict[str, measure.Work] = {"peer": lambda ada=ada, X=X, y=y: ada.fit(X, y)}
        if large:  # minutes a tree: once
            found = measure.in_turns(works, options.repeats) | measure.in_turns(peer, 1, warm=False)
        else:
            found = measure.in_turns(works | peer, options.repeats, seconds=SECONDS)
        mine = found["ours"].cpu
        peers = [seconds * case.trees / trees for seconds in found["peer"].cpu]
        name = "scikit-learn AdaBoost" + (f", from {trees} of its trees," if trees != case.trees else "")
        yield Row(f"whole fit, {case}, t = 1", target, mine, {name: peers})


def categories(options: argparse.Namespace) -> Iterator[Row]:
    """Real tables with native categories: from the frame to the model, and trees alone."""
    for name in ("adult", "kddcup99"):
        path = accuracy.place(options.data, name)
        if not path.exists():
            print(f"{path} not found: no row for {name}", file=sys.stderr)
            continue
        X, y = accuracy.read(path, name)
        case = Case(*X.shape, 100, 8)
        binned = lightgbm.Dataset(X, y, params=light(case), free_raw_data=False).construct()
        works: dict[str, measure.Work] = {
            "all": ours(case, 0.5, X, y),
            "one": ours(case, 0.5, X, y, trees=1),
            "whole": lambda case=case, X=X, y=y: train_light(
                case, lightgbm.Dataset(X, y, params=light(case))
            )(),
            "binned": train_light(case, binned),
        }
        found = measure.in_turns(works, options.repeats, seconds=SECONDS)
        cpu = {work: times.cpu for work, times in found.items()}
        text = f"{name}, {case}, native categories, t = 0.5"
        yield Row(f"whole fit, {text}", 2.0, cpu["all"], {"LightGBM": cpu["whole"]})
        mine = without_binning(case, cpu["all"], cpu["one"])
        yield Row(f"boosting, {text}", 2.0, mine, {"LightGBM": cpu["binned"]})


def messy(options: argparse.Namespace) -> Iterator[Row]:
    """Trees alone where cells are missing, and where rows have weights that are no whole numbers."""
    case = Case(100_000, 50, 50, 8)
    X, y = measure.table(case.rows, case.columns)
    rng = np.random.default_rng(0)
    holes = np.where(rng.random(X.shape) < 0.1, np.float32(np.nan), X)
    weight = rng.uniform(0.5, 1.5, case.rows)
    tables = {
        "a tenth of the cells missing": (holes, None),
        "fractional weights": (X, weight),
        "a tenth of the cells missing, fractional weights": (holes, weight),
    }
    for text, (table, w) in tables.items():
        data = lightgbm.Dataset(table, y, weight=w, params=light(case)).construct()
        works = {
            "LightGBM": train_light(case, data),
            "all": ours(case, 0.5, table, y, weight=w),
            "one": ours(case, 0.5, table, y, trees=1, weight=w),
        }
        cpu = {name: times.cpu for name, times in measure.in_turns(works, options.repeats).items()}
        mine = without_binning(case, cpu["all"], cpu["one"])
        yield Row(f"boosting, {case}, {text}, t = 0.5", None, mine, {"LightGBM": cpu["LightGBM"]})


WORKS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "boosting": every_boosting, "binning": binning_alone, "whole": whole, "threads": threads,
    "adaboost": adaboost, "categories": categories, "messy": messy,
}  # fmt: skip


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", nargs="+", choices=[*WORKS, "guard"], default=[*WORKS, "guard"])
    parser.add_argument("--rows", type=int, help="boosting alone, at this size, in place of all that")
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--leaves", type=int, default=8)
    parser.add_argument("--bins", type=int, default=255)
    parser.add_argument("--t", type=float, action="append", help="may be said again; default 0, .5, .8 and 1")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="two repeats, at t = .5")
    parser.add_argument("--ada-trees", type=int, default=2, help="of AdaBoost at 1M rows: 30 s each")
    parser.add_argument("--data", type=Path, nargs="+", default=accuracy.FOLDERS, help="as accuracy.py's")
    options = parser.parse_args()
    if options.trees < 2 or options.repeats < 1 or options.ada_trees < 1:
        parser.error("--trees must be at least 2, --repeats and --ada-trees at least 1")
    if options.quick:
        options.repeats, options.t = 2, options.t or [0.5]

    print("| seconds, minimum (median) | tadaboost | peers | over tadaboost's | at least | met |")
    print("|---|--:|---|---|--:|---|", flush=True)
    if options.rows:
        alone = Case(options.rows, options.columns, options.trees, options.leaves, options.bins)
        for row in boosting(alone, options.t or TEMPERATURES, options.repeats):
            print(row)
        options.work = []
    for work in options.work:
        for row in WORKS[work](options) if work != "guard" else ():
            print(row, flush=True)
    packages = ("tadaboost", "lightgbm", "xgboost", "catboost", "scikit-learn")
    print(f"\n{options.repeats} repeats. {measure.provenance(packages)}")
    if "guard" in options.work:
        print()
        for text in accuracy.guard(options.data, n_splits=2 if options.quick else 5):
            print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
