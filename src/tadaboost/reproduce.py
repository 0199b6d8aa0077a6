# SPDX-License-Identifier: Apache-2.0
"""The paper's experiments: its ten domains (`Source`), its tables as grids of cells, its Table 2 beside ours.

Tables are named as in the paper: 2; A4 to A15, the domains in the order of `SOURCES`, where A10 and A12 are
the training errors of the two hill domains; A16, the long runs of small trees; and 1, its Figure 1.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tadaboost import study
from tadaboost.reader import DataError, read_table
from tadaboost.study import Cell, Domain, make_domain


class Source(NamedTuple):
    """Where a domain comes from, and what tells that it is whole."""

    name: str
    target: str
    positive: str
    rows: int  # that the paper uses; the first ones of the file
    n_positive: int  # among them
    openml_id: int
    openml_target: str
    openml_positive: str
    max_leaf_nodes: int = 8  # 15 nodes
    openml_last: bool = False  # OpenML's rows are other ones and then these


SOURCES = {
    source.name: source
    for source in (
        Source("sonar", "class", "in:M", 208, 111, 40, "Class", "in:Mine"),
        Source("winered", "quality", ">=6", 1599, 855, 40691, "class", ">=6"),
        Source("winewhite", "quality", ">=6", 4898, 3258, 40498, "Class", ">=4"),  # classes 1..7 are 3..9
        Source("abalone", "Rings", ">=10", 4177, 2081, 183, "Class_number_of_rings", ">=10"),
        Source("qsar", "experimental_class", "in:RB", 1055, 356, 1494, "Class", "in:2"),
        Source("hillnonoise", "class", "in:1", 1212, 612, 1566, "Class", "in:1"),
        Source("hillnoise", "class", "in:1", 1212, 606, 1479, "Class", "in:1"),
        Source("eeg", "eyeDetection", "in:1", 14980, 6723, 1471, "Class", "in:2"),
        Source("creditcard", "default_payment_next_month", "in:1", 14599, 3291, 42477, "y", "in:1", 3),
        Source("adult", "income", "in:>50K", 32561, 7841, 1590, "class", "in:>50K", 3, True),
    )
}

TS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1)
TABLE_2_TS = (0.6, 0.8, 0.9, 1.0, 1.1)  # also all that the paper ran on the two large domains
NOISES = (0.0, 0.1)
FOLDS, TREES = 10, 20
APPENDIX = {
    "A4": "sonar", "A5": "winered", "A6": "winewhite", "A7": "abalone", "A8": "qsar", "A9": "hillnonoise",
    "A10": "hillnonoise", "A11": "hillnoise", "A12": "hillnoise", "A13": "eeg", "A14": "creditcard",
    "A15": "adult",
}  # fmt: skip
TRAINING_TABLES = ("A10", "A12")  # the others show test errors
FIGURE_1 = (("abalone", 0.0), ("qsar", 0.1), ("adult", 0.1))
A16_TREES = {"winered": 150, "sonar": 100, "qsar": 100}
A16_CLIPPED_ONLY = ("winered",)
A16_NOISES = (0.0, 0.1, 0.2, 0.3, 0.4)
A16_LEAVES = 3  # two splits
TABLES = ("1", "2", *APPENDIX, "A16")

# Table 2 of the paper: better, equivalent, worse than t = 1 over the ten domains, by noise, t and clipped.
_COLUMNS_OF_TABLE_2 = [(t, clip) for t in (0.6, 0.8, 0.9, 1.1) for clip in (False, True)]
_ROWS_OF_TABLE_2 = {
    0.0: "2/5/3 3/5/2 1/6/3 2/6/2 1/7/2 3/7/0 0/6/4 0/7/3",
    0.1: "1/4/5 1/8/1 1/8/1 2/7/1 2/8/0 1/9/0 0/8/2 0/10/0",
}
PAPER_TABLE_2 = {
    (noise, *column): tuple(map(int, counts.split("/")))
    for noise, row in _ROWS_OF_TABLE_2.items()
    for column, counts in zip(_COLUMNS_OF_TABLE_2, row.split(), strict=True)
}


def read_tables(text: str) -> list[str]:
    """Read a list of tables, such as `2,A4-A15`; ValueError names what is none.

    Examples
    --------
    >>> read_tables("2, A4-A6")
    ['2', 'A4', 'A5', 'A6']
    """
    wanted = set()
    for part in text.split(","):
        first, dash, last = (end.strip().upper() for end in part.partition("-"))
        ends = [first, last if dash else first]
        if not set(ends) <= set(TABLES) or TABLES.index(ends[0]) > TABLES.index(ends[1]):
            raise ValueError(
                f"{part.strip()!r} is no table; there are 1 (the figure), 2, A4 to A16, and ranges A4-A15"
            )
        wanted |= set(TABLES[TABLES.index(ends[0]) : TABLES.index(ends[1]) + 1])
    return [name for name in TABLES if name in wanted]


def grid(tables: Sequence[str], domains: Iterable[str], leaves: Sequence[str], seed: int) -> list[Cell]:
    """List the cells that some tables need, each once.

    Parameters
    ----------
    tables : sequence of str
        Of `TABLES`.
    domains : iterable of str
        Others than these are left out.
    leaves : sequence of str
    seed : int

    Returns
    -------
    list of Cell
        In the order of experiment, domain, leaves, noise and t.
    """
    domains = set(domains)
    main: dict[str, set[float]] = {}
    for table in tables:
        if table == "2":
            for name in SOURCES:
                main.setdefault(name, set()).update(TABLE_2_TS)
        for name in [APPENDIX[table]] if table in APPENDIX else []:
            main.setdefault(name, set()).update(_ts(name))
        for name, _ in FIGURE_1 if table == "1" else ():
            main.setdefault(name, set()).update(_ts(name))
    cells = [
        Cell("main", name, TREES, SOURCES[name].max_leaf_nodes, leaf, t, noise, FOLDS, seed)
        for name in SOURCES
        if name in main and name in domains
        for leaf in leaves
        for noise in NOISES
        for t in sorted(main[name])
    ]
    if "A16" in tables:
        cells += [
            Cell("A16", name, trees, A16_LEAVES, leaf, t, noise, FOLDS, seed)
            for name, trees in A16_TREES.items()
            if name in domains
            for leaf in leaves
            for noise in A16_NOISES
            for t in TS
        ]
    return cells


def _ts(name: str) -> tuple[float, ...]:
    return TS if SOURCES[name].max_leaf_nodes == 8 else TABLE_2_TS


def clips(cell: Cell) -> tuple[bool, ...]:
    """Say which models of a cell the paper shows: of winered in Table A16 only the clipped one."""
    return (True,) if cell.experiment == "A16" and cell.domain in A16_CLIPPED_ONLY else (False, True)


def load_domain(name: str, folder: Path | None) -> Domain:
    """Read one of the paper's domains and check that it is whole.

    Parameters
    ----------
    name : str
        Of `SOURCES`.
    folder : Path or None
        Holds NAME.csv or NAME.csv.gz, and perhaps a MANIFEST.json with their SHA-256. None: the data comes
        from OpenML.

    Returns
    -------
    Domain

    Raises
    ------
    DataError
        If it cannot be had, or is not the paper's.
    """
    source = SOURCES[name]
    if folder is None:
        with tempfile.TemporaryDirectory() as place:
            path = _fetch(source, Path(place))
            return _whole(source, path, source.openml_target, source.openml_positive, source.openml_last)
    paths = [folder / f"{name}.csv", folder / f"{name}.csv.gz"]
    found = [path for path in paths if path.exists()]
    if not found:
        raise DataError(f"{paths[0]}: no such file, and no {paths[1].name}")
    _check_hash(found[0])
    return _whole(source, found[0], source.target, source.positive, last=False)


def _whole(source: Source, path: Path, target: str, positive: str, last: bool) -> Domain:
    table = read_table(str(path))
    have = table.frame.height
    if have < source.rows:
        raise DataError(
            f"{path.name}: has {have} rows where the paper used {source.rows}; get the whole file"
        )
    rows = np.arange(have) >= have - source.rows if last else np.arange(have) < source.rows
    domain = make_domain(source.name, table.keep(rows), target, positive)
    n_positive = int(domain.y.sum())
    if n_positive != source.n_positive:
        raise DataError(
            f"{path.name}: {n_positive} of {source.rows} rows are positive ({target} {positive}) where the "
            f"paper's domain has {source.n_positive}; the file is another or damaged"
        )
    return domain


def _check_hash(path: Path) -> None:
    """Compare a file with the hash in the folder's MANIFEST.json, where there is one."""
    try:
        manifest = json.loads((path.parent / "MANIFEST.json").read_text("utf-8"))
        known = {entry["file"]: entry["sha256"] for entry in manifest["datasets"]}
    except (OSError, ValueError, KeyError, TypeError):
        return
    if path.name in known and hashlib.sha256(path.read_bytes()).hexdigest() != known[path.name]:
        raise DataError(f"{path}: is not the file of MANIFEST.json (its SHA-256 differs); get it again")


def _fetch(source: Source, place: Path) -> Path:
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(data_id=source.openml_id, as_frame=True, n_retries=1, delay=0.0)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"{source.name}: cannot be fetched from OpenML ({reason}); give the files with --data DIR"
        ) from None
    except ImportError:
        raise DataError(
            f"{source.name}: fetching from OpenML needs pandas (pip install pandas); or give the files with "
            "--data DIR"
        ) from None
    path = place / f"{source.name}.csv.gz"
    frame = bunch.frame.rename(columns={bunch.target.name: source.openml_target})
    path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    return path


def table_2(
    tests: pl.DataFrame,
    others: Sequence[pl.DataFrame] = (),
    paper: Mapping[tuple[float, float, bool], Sequence[int]] = PAPER_TABLE_2,
) -> pl.DataFrame:
    """Count on how many domains each setting is better than, equivalent to and worse than t = 1.

    Parameters
    ----------
    tests : polars.DataFrame
        As `study.compare` gives it, of one experiment.
    others : sequence of polars.DataFrame
        The same under other seeds of folds and noise.
    paper : mapping
        The paper's counts by noise, t and clip; settings that it lacks are left out. An empty one: all
        settings, none to compare with.

    Returns
    -------
    polars.DataFrame
        A row for each leaves, noise, t and clip: the number of domains, the three counts by Student's test,
        the paper's (`_paper`), those after Holm's rule (`_holm`) and by the corrected test (`_corrected`);
        with `others` the least and largest of each count over all seeds (`_low`, `_high`) and whether the
        paper's three lie between.
    """
    seen = [study.tally(frame, "p_student") for frame in (tests, *others)]
    holm, corrected = study.tally(tests, "p_student_holm"), study.tally(tests, "p_corrected")
    rows = []
    for key, counts in seen[0].items():
        setting = key[1:]
        if paper and setting not in paper:
            continue
        row = dict(zip(("leaves", "noise", "t", "clip"), key, strict=True))
        row |= {"domains": sum(counts)} | _named(counts)
        row |= _named(paper[setting], "_paper") if paper else {}
        row |= _named(holm[key], "_holm") | _named(corrected[key], "_corrected")
        if paper and others:
            every = np.array([one[key] for one in seen])
            low, high = every.min(axis=0), every.max(axis=0)
            row |= _named(low.tolist(), "_low") | _named(high.tolist(), "_high")
            row["paper_in_range"] = bool(((low <= paper[setting]) & (paper[setting] <= high)).all())
        rows.append(row)
    return pl.DataFrame(rows)


def _named(counts: Sequence[int], suffix: str = "") -> dict[str, Any]:
    return {name + suffix: count for name, count in zip(study.OUTCOMES, counts, strict=True)}
