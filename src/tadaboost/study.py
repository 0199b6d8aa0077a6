# SPDX-License-Identifier: Apache-2.0
"""The protocol of the paper's experiments on any domains: a grid of `Cell`, `CURVES` of each.

A cell is one setting on one domain under cross-validation. One fit serves the plain and the clipped model,
since clipping (9) changes scores only. Folds are the same for all cells of a seed. Noise flips labels of
training rows only, the same rows whatever the setting, and those flipped at .1 are among those flipped at .2;
errors are against the labels without noise, a score of 0 counting as the first class.

Finished cells are kept in a folder, named by a digest of all that they depend on, so that a run that was cut
short goes on where it was.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

import tadaboost
from tadaboost import _core, columns, outcome
from tadaboost.aside import remove_leftovers, write_aside
from tadaboost.classifier import TAdaBoostClassifier
from tadaboost.paper import paper_settings
from tadaboost.reader import DataError, Table, shown
from tadaboost.significance import PValues, holm, paired_tests, verdict

# What a fold tells after each round; a run that ended early keeps its last values.
CURVES = np.dtype(
    [(name, "<f8") for name in ("train_error", "test_error", "train_error_clipped", "test_error_clipped")]
    + [(name, "<f8") for name in ("codensity_min", "codensity_max", "edge", "bound", "bound_clipped")]
    + [("n_off", "<i8"), ("n_nonfinite", "<i8")]
)

# The columns of cells.csv that say which run a row belongs to; with `t` at 1 they name its reference.
KEYS = ("experiment", "domain", "n_trees", "max_leaf_nodes", "leaves", "t", "clip", "noise")
OUTCOMES = ("better", "equivalent", "worse")
MEASURES = ("train_error", "test_error", "codensity_min", "codensity_max", "n_off", "n_nonfinite")
# Modules that only use or show finished cells: a change there makes no cell stale.
_NO_MAKERS = (
    {"cli", "group", "commands", "terminal", "study_commands", "reproduce", "significance", "aside"}
    | {"evaluate", "charts", "report", "studyfigures", "studyreport", "persist", "displays", "treeview"}
)  # fmt: skip
_VALUES_A_NODE = 30  # what a distinct value of a column costs a tree, in rows: from timings, for the bar


class Cell(NamedTuple):
    """One setting on one domain."""

    experiment: str
    domain: str
    n_trees: int
    max_leaf_nodes: int
    leaves: str
    t: float
    noise: float
    folds: int
    seed: int


@dataclass(frozen=True)
class Domain:
    """Rows to learn from.

    Attributes
    ----------
    name : str
    X : polars.DataFrame
        The features.
    y : ndarray of bool, shape (rows,)
        True: the second, or the positive, class.
    classes : tuple of str
    remarks : tuple of str
        One line each, for the user.
    """

    name: str
    X: pl.DataFrame
    y: NDArray[np.bool_]
    classes: tuple[str, str]
    remarks: tuple[str, ...] = field(default=())

    @functools.cached_property
    def digest(self) -> str:
        """A hash of the features and the labels."""
        return hashlib.sha256(self.X.write_csv().encode() + self.y.tobytes()).hexdigest()

    def effort(self, cell: Cell) -> float:
        """Estimate, in no unit, how long a cell takes."""
        values = sum(column.n_unique() for column in self.X.get_columns())
        return cell.n_trees * cell.folds * (self.X.height * self.X.width + _VALUES_A_NODE * values)


def make_domain(name: str, table: Table, target: str, positive: str | None = None) -> Domain:
    """Read features and labels out of a table.

    Parameters
    ----------
    name : str
        What results call it.
    table : Table
    target : str
        The column to predict.
    positive : str, optional
        The rule of `outcome.labels`; needed for more than two values.

    Returns
    -------
    Domain

    Raises
    ------
    DataError
        If a column cannot be used; the message names file, column and row.
    """
    labels = outcome.labels(table, target, positive, two=True)
    classes = np.unique(labels)
    found = columns.recognise(table, apart={target})
    X, remarks = columns.features(table, found.rules)
    left_out = [
        f"{table.name}: column {shown(out['name'])} is left out: {out['reason']}" for out in found.left_out
    ]
    names = (str(classes[0]), str(classes[1]))
    return Domain(name, X, labels == classes[1], names, (*found.remarks, *left_out, *remarks))


def check_folds(domain: Domain, folds: int) -> None:
    """Raise DataError if a class has fewer rows than there are folds."""
    counts = (int((~domain.y).sum()), int(domain.y.sum()))
    fewer = int(counts[1] < counts[0])
    if counts[fewer] < folds:
        raise DataError(
            f"{domain.name}: class {shown(domain.classes[fewer])} has {counts[fewer]} rows, fewer than the "
            f"{folds} folds; take fewer with --folds"
        )


def flipped(y: NDArray[np.bool_], noise: float, seed: int, fold: int) -> NDArray[np.bool_]:
    """Flip each label with probability `noise`; a higher noise flips the same rows and more.

    Examples
    --------
    >>> y = np.zeros(1000, bool)
    >>> few, many = flipped(y, 0.1, 0, 0), flipped(y, 0.2, 0, 0)
    >>> int(few.sum()), int(many.sum()), bool(many[few].all())
    (89, 193, True)
    """
    labels: NDArray[np.bool_] = y ^ (np.random.default_rng([seed, fold]).random(len(y)) < noise)
    return labels


def run_cell(domain: Domain, cell: Cell, parameters: Mapping[str, Any] | None = None) -> NDArray[np.void]:
    """Cross-validate one setting.

    Parameters
    ----------
    domain : Domain
    cell : Cell
    parameters : mapping, optional
        Of `TAdaBoostClassifier`, over those of `paper_settings`.

    Returns
    -------
    structured ndarray of dtype `CURVES`, shape (folds, rounds)
    """
    settings = paper_settings(cell.t) | {
        "n_estimators": cell.n_trees,
        "max_leaf_nodes": cell.max_leaf_nodes,
        "leaf_values": cell.leaves,
        "n_jobs": 1,  # the cells are what runs side by side
    }
    settings |= parameters or {}
    curves = np.empty((cell.folds, cell.n_trees), CURVES)
    splits = StratifiedKFold(cell.folds, shuffle=True, random_state=cell.seed)
    for fold, (train, test) in enumerate(splits.split(np.zeros(len(domain.y)), domain.y)):
        labels = flipped(domain.y, cell.noise, cell.seed, fold)
        model = TAdaBoostClassifier(**settings).fit(domain.X[train], labels[train])
        curves[fold] = _curves(model, domain, train, test, cell)
    return curves


def _curves(
    model: Any, domain: Domain, train: NDArray[np.intp], test: NDArray[np.intp], cell: Cell
) -> NDArray[np.void]:
    rounds = model.rounds_
    done = np.empty(len(rounds), CURVES)
    for name in ("codensity_min", "codensity_max", "n_off", "n_nonfinite", "bound"):
        done[name] = rounds[name]
    done["edge"] = rounds["rho"]
    done["bound_clipped"] = rounds["bound"] if cell.t <= 1 else math.nan  # (12) is not shown for it
    # The classifier clips always or never; here one fit and one reading of the table serve both.
    matrix, forest, alpha = model._matrix(domain.X), model._forests()[0], model.estimator_weights_
    bound = 1 / abs(1 - cell.t) if cell.t != 1 else math.inf
    for suffix, clip in (("", math.inf), ("_clipped", bound)):
        if suffix and not math.isfinite(clip):
            done["train_error_clipped"], done["test_error_clipped"] = done["train_error"], done["test_error"]
            continue
        for j, score in enumerate(forest.staged(matrix, alpha, clip, n_threads=1)):
            # Noise may have left a single class, which is then class 0.
            predicted = score > 0 if len(model.classes_) == 2 else np.full(len(score), model.classes_[0])
            wrong = predicted != domain.y
            done[f"train_error{suffix}"][j] = wrong[train].mean()
            done[f"test_error{suffix}"][j] = wrong[test].mean()
    kept = np.minimum(np.arange(cell.n_trees), len(done) - 1)
    return done[kept]


_DIGEST_SIZE = hashlib.sha256().digest_size


class Store:
    """A folder of finished cells.

    Parameters
    ----------
    folder : Path
        Made if it is not there. Unfinished files of a killed run are removed.
    parameters : mapping, optional
        As in `run_cell`.
    """

    def __init__(self, folder: Path, parameters: Mapping[str, Any] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(folder)
        self._folder, self._parameters = folder, dict(parameters or {})

    def path(self, domain: Domain, cell: Cell) -> Path:
        """Return where a cell is kept: its name and the digest of what it was made from."""
        facts = [cell, domain.digest, sorted(self._parameters.items()), _code_digest()]
        digest = hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()[:16]
        safe = re.sub(r"[^A-Za-z0-9]+", "_", cell.domain)[:40]
        name = f"{cell.experiment}-{safe}-{cell.leaves}-t{cell.t:g}-noise{cell.noise:g}-{digest}.npy"
        return self._folder / name

    def read(self, domain: Domain, cell: Cell) -> NDArray[np.void] | None:
        """Return a finished cell, or None; a file that is damaged counts as none."""
        try:
            content = self.path(domain, cell).read_bytes()
            array, digest = content[:-_DIGEST_SIZE], content[-_DIGEST_SIZE:]
            if hashlib.sha256(array).digest() != digest:
                return None
            curves: NDArray[np.void] = np.load(io.BytesIO(array), allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        return curves if curves.dtype == CURVES and curves.shape == (cell.folds, cell.n_trees) else None

    def write(self, domain: Domain, cell: Cell, curves: NDArray[np.void]) -> None:
        """Keep a cell; DataError that names the file if that cannot be done."""
        whole = io.BytesIO()
        np.save(whole, curves, allow_pickle=False)
        # After the array, where readers of .npy files do not look. A changed byte would change the results.
        content = whole.getvalue() + hashlib.sha256(whole.getvalue()).digest()
        write_aside(self.path(domain, cell), lambda path: path.write_bytes(content))


@functools.cache
def _code_digest() -> str:
    """Hash the code that makes a cell, so that no cell of other code is taken for one of this."""
    digest = hashlib.sha256(f"{tadaboost.__version__} {np.__version__}".encode())
    sources = [path for path in Path(__file__).parent.glob("*.py") if path.stem not in _NO_MAKERS]
    for path in (Path(_core.__file__), *sorted(sources)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def run_cells(
    domains: Mapping[str, Domain],
    cells: Iterable[Cell],
    store: Store,
    *,
    parameters: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    on_done: Callable[[Cell, float | None], object] = lambda cell, seconds: None,
) -> dict[Cell, NDArray[np.void]]:
    """Run the cells that the store does not have, side by side, and keep each when it is done.

    Parameters
    ----------
    domains : mapping of str to Domain
    cells : iterable of Cell
    store : Store
    parameters : mapping, optional
        As in `run_cell`.
    n_jobs : int, optional
        Processes. None: those of joblib's active backend, such as a Dask cluster's.
    on_done : callable
        Called with each cell and the CPU seconds that it took; None: the store had it.

    Returns
    -------
    dict of Cell to structured ndarray of dtype `CURVES`
        In the order of `cells`, whichever was done first.

    Raises
    ------
    DataError
        If a cell cannot be written.
    """
    wanted = list(dict.fromkeys(cells))
    known = {cell: store.read(domains[cell.domain], cell) for cell in wanted}
    for cell, curves in known.items():
        if curves is not None:
            on_done(cell, None)
    missing = [cell for cell, curves in known.items() if curves is None]
    # Long ones first, so that none is left alone at the end.
    missing.sort(key=lambda cell: -domains[cell.domain].effort(cell))
    calls = (joblib.delayed(_timed)(domains[cell.domain], cell, parameters) for cell in missing)
    for cell, curves, seconds in joblib.Parallel(n_jobs, return_as="generator_unordered", batch_size=1)(
        calls
    ):
        store.write(domains[cell.domain], cell, curves)
        known[cell] = curves
        on_done(cell, seconds)
    return {cell: curves for cell, curves in known.items() if curves is not None}


def _timed(
    domain: Domain, cell: Cell, parameters: Mapping[str, Any] | None
) -> tuple[Cell, NDArray[np.void], float]:
    start = time.process_time()
    return cell, run_cell(domain, cell, parameters), time.process_time() - start


Results = Mapping[Cell, NDArray[np.void]]


def _models(results: Results, clips: Callable[[Cell], Sequence[bool]]) -> Iterator[tuple[Cell, bool, Any]]:
    """Yield each cell's plain and clipped model, as far as wanted, with its curves."""
    for cell, curves in results.items():
        for clip in clips(cell):
            suffix = "_clipped" if clip else ""
            names = {name: name + suffix for name in ("train_error", "test_error", "bound")}
            yield cell, clip, {name: curves[names.get(name, name)] for name in (*MEASURES, "edge", "bound")}


def _keys(cell: Cell, clip: bool) -> dict[str, Any]:
    return {name: clip if name == "clip" else getattr(cell, name) for name in KEYS}


def tidy(results: Results, clips: Callable[[Cell], Sequence[bool]]) -> pl.DataFrame:
    """Lay out all curves: a row a setting, fold and round, in the order of the cells.

    Parameters
    ----------
    results : mapping of Cell to structured ndarray of dtype `CURVES`
        Of one seed.
    clips : callable
        Which of the plain (False) and the clipped (True) model of a cell are asked for.

    Returns
    -------
    polars.DataFrame
        The columns of cells.csv, then `edge` and `bound`. Folds and rounds count from 1.
    """
    parts = []
    for cell, clip, values in _models(results, clips):
        fold, j = np.indices(values["edge"].shape).reshape(2, -1) + 1
        measures = {name: array.ravel() for name, array in values.items()}
        fixed = [pl.lit(value).alias(name) for name, value in _keys(cell, clip).items()]
        data = {"fold": fold, "round": j} | measures
        parts.append(pl.DataFrame(data).select(*fixed, *data))
    return pl.concat(parts)


def summarise(results: Results, clips: Callable[[Cell], Sequence[bool]]) -> pl.DataFrame:
    """Average over folds what stands after the last round.

    Returns
    -------
    polars.DataFrame
        A row a setting: mean and standard deviation over folds of the errors, least and largest co-density
        over all folds and rounds, most rows off and most non-finite weights in a round.
    """
    rows = []
    for cell, clip, values in _models(results, clips):
        row = _keys(cell, clip)
        for name in ("train_error", "test_error"):
            last = values[name][:, -1]
            row |= {f"{name}_mean": last.mean(), f"{name}_sd": last.std(ddof=1)}
        extremes = {"codensity_min": np.min, "codensity_max": np.max, "n_off": np.max, "n_nonfinite": np.max}
        row |= {name: extreme(values[name]) for name, extreme in extremes.items()}
        rows.append(row)
    return pl.DataFrame(rows)


def compare(results: Results, clips: Callable[[Cell], Sequence[bool]]) -> pl.DataFrame:
    """Test every setting against t = 1 on the same folds, by the errors after the last round.

    Parameters
    ----------
    results, clips
        As in `tidy`.

    Returns
    -------
    polars.DataFrame
        The columns of tests.csv, then the mean `difference` of the errors, its standard deviation `spread`
        over folds, and the p-values after Holm's rule over domains. Settings without a run of t = 1 to stand
        beside are not there. The verdict is that of Student's test at .1, as the paper's.
    """
    rows = []
    for cell, clip, values in _models(results, clips):
        reference = results.get(cell._replace(t=1.0))
        if cell.t == 1 or reference is None:
            continue
        errors, base = values["test_error"][:, -1], reference["test_error"][:, -1]
        p = paired_tests(errors, base)
        difference = float((errors - base).mean())
        outcome_ = {"verdict": verdict(difference, p.p_student), "difference": difference}
        rows.append(
            _keys(cell, clip) | p._asdict() | outcome_ | {"spread": float((errors - base).std(ddof=1))}
        )
    types = [pl.String, pl.String, pl.Int64, pl.Int64, pl.String, pl.Float64, pl.Boolean, pl.Float64]
    schema = dict(zip(KEYS, types, strict=True)) | dict.fromkeys(PValues._fields, pl.Float64)
    schema |= {"verdict": pl.String, "difference": pl.Float64, "spread": pl.Float64}
    tests = pl.DataFrame(rows, schema)
    family = [name for name in KEYS if name not in ("domain", "n_trees", "max_leaf_nodes")]
    for name in PValues._fields:
        adjusted = np.empty(tests.height)
        for _, group in tests.with_row_index("row").group_by(family, maintain_order=True):
            adjusted[group["row"].to_numpy()] = holm(group[name].to_numpy())
        tests = tests.with_columns(pl.Series(f"{name}_holm", adjusted))
    return tests


def tally(tests: pl.DataFrame, p: str) -> dict[tuple[str, float, float, bool], tuple[int, ...]]:
    """Count domains by verdict, for each leaves, noise, t and clip.

    Parameters
    ----------
    tests : polars.DataFrame
        As `compare` gives it, of one experiment.
    p : str
        The column of p-values to judge by.

    Returns
    -------
    dict
        Numbers of domains in the order of `OUTCOMES`.
    """
    counts: dict[tuple[str, float, float, bool], list[int]] = {}
    for row in tests.iter_rows(named=True):
        key = (row["leaves"], row["noise"], row["t"], row["clip"])
        counts.setdefault(key, [0, 0, 0])[OUTCOMES.index(verdict(row["difference"], row[p]))] += 1
    return {key: tuple(three) for key, three in counts.items()}
