# SPDX-License-Identifier: Apache-2.0
"""What the columns of a table mean: a `Rule` each, found in cells, kept in the model, applied to new data.

A rule is a plain dict that JSON can hold: `name`, `kind` and, for dates, the `formats` in which they are
written. Kinds:

* `number`: every cell is a number. Codes with leading zeros ("00501") are text.
* `boolean`: both words of one pair (true/false, yes/no, t/f, y/n, in any case); the feature is 1 or 0.
* `date`: every cell is a date, with or without a time, in one of the forms of `_DATE_FORMS`; the feature is
  the days since 1970-01-01 (UTC where the cells carry an offset), with the time as a fraction.
* `text`: anything else; the feature is categorical.

Missing is a cell that is empty, NA, N/A, #N/A, <NA>, NaN, null, None, ? or the backslash with N of databases,
in any case and with spaces around it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tadaboost.reader import DataError, Table, shown

Rule = dict[str, Any]

_MISSING = ("", "na", "n/a", "#n/a", "<na>", "\\n", "nan", "null", "none", "?")
_PAIRS = ({"false", "true"}, {"no", "yes"}, {"f", "t"}, {"n", "y"})
# What a boolean column may hold at prediction: the file of another program may write the same thing its own
# way.
_FALSE, _TRUE = ("0", "0.0", "false", "no", "f", "n"), ("1", "1.0", "true", "yes", "t", "y")
# A column is a damaged column of numbers (or dates), not one of text, when it has at least so many of them
# and they are at least this share of its cells.
_ENOUGH, _NEARLY_ALL = 20, 0.95
_OWN = 0.8  # share of different texts from which a column looks like an identifier

_TIME = r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"
_TIMES = ("", "T%H:%M", "T%H:%M:%S%.f", "T%H:%M%#z", "T%H:%M:%S%.f%#z")
# Shape of a cell -> the readings that it allows, each a tuple of formats. Only 3/4/2020 has two.
_DATE_FORMS: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    (r"^\d{4}-\d{1,2}-\d{1,2}", (("%Y-%m-%d",),)),
    (r"^\d{4}/\d{1,2}/\d{1,2}", (("%Y/%m/%d",),)),
    (r"^\d{1,2}\.\d{1,2}\.\d{4}", (("%d.%m.%Y",),)),
    (r"^\d{1,2}-[A-Za-z]{3,9}-\d{4}", (("%d-%b-%Y", "%d-%B-%Y"),)),
    (r"^\d{1,2} [A-Za-z]{3,9} \d{4}", (("%d %b %Y", "%d %B %Y"),)),
    (r"^[A-Za-z]{3,9} \d{1,2}, \d{4}", (("%b %d, %Y", "%B %d, %Y"),)),
    (r"^\d{1,2}/\d{1,2}/\d{4}", (("%d/%m/%Y",), ("%m/%d/%Y",))),
)
_ISO = ("%Y-%m-%d",)
# Cells of text that people read as dates, in these forms or in others.
_LIKE_DATE = (
    r"^(\d{1,2}[-/ ](\d{1,2}|[A-Za-z]{3,9})[-/ ](\d{2}|\d{4})|\d{4}[-/ ]\d{1,2}[-/ ]\d{1,2}"
    r"|\d{1,2}\.\d{1,2}\.\d{2,4})\b"
)
_MICROSECONDS_A_DAY = 86_400_000_000


@dataclass
class Columns:
    """What `recognise` found.

    Attributes
    ----------
    rules : list of dict
        The rules of the columns to use, in the order of the file.
    left_out : list of dict
        `name` and `reason` of each column left out.
    remarks : list of str
        One line each, for the user.
    """

    rules: list[Rule] = field(default_factory=list)
    left_out: list[dict[str, str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def recognise(table: Table, *, apart: Iterable[str], drop: Sequence[str] = ()) -> Columns:
    """Find the rule of every column that can serve as a feature.

    Left out are constant columns, columns without a value, text columns whose values are all different, and
    those of `drop`.

    Parameters
    ----------
    table : Table
    apart : iterable of str
        Columns that are no features: the target, the weights.
    drop : sequence of str
        Columns to leave out.

    Returns
    -------
    Columns

    Raises
    ------
    DataError
        If a column is all but numbers (or dates) with a few other cells, holds an infinite number or values
        of a type that cannot be used, if a column to drop does not exist, or if no column is left.
    """
    for name in drop:
        check_column(table, name, "a column to drop")
    apart, found = set(apart), Columns()
    for name in table.frame.columns:
        if name in apart:
            continue
        rule, reason = ({"name": name}, "--drop") if name in drop else _recognise(table, name, found.remarks)
        if reason:
            found.left_out.append({"name": name, "reason": reason})
        else:
            found.rules.append(rule)
    if not found.rules:
        reasons = ", ".join(f"{shown(out['name'])}: {out['reason']}" for out in found.left_out[:5])
        raise DataError(f"{table.name}: no usable column is left ({reasons or 'there is no other'})")
    return found


def features(table: Table, rules: Sequence[Rule], *, model: str = "") -> tuple[pl.DataFrame, list[str]]:
    """Make the columns that a model takes: numbers as Float64, text as String, missing cells as null.

    Parameters
    ----------
    table : Table
        Columns without a rule are ignored; the order does not matter.
    rules : sequence of dict
    model : str
        The name of the model's file, for messages; "" while fitting.

    Returns
    -------
    frame : polars.DataFrame
        The columns in the order of the rules.
    remarks : list of str
        One line for each boolean column with cells that are neither, which are taken as missing.

    Raises
    ------
    DataError
        If a column is missing, or holds a cell that its rule does not allow.
    """
    series, remarks = [], []
    for rule in rules:
        name = rule["name"]
        if name not in table.frame.columns:
            raise DataError(f"{table.name}: column {shown(name)} is missing; {model} was fitted with it")
        cells = _cells(table, name)
        values = _apply(table, rule, cells, model)
        unknown = cells.is_not_null() & values.is_null()
        if unknown.any():
            example = shown(cells.filter(unknown)[0])
            remarks.append(
                f"{table.name}: column {shown(name)}: {unknown.sum()} cells such as {example} are neither "
                "yes nor no; taken as missing"
            )
        series.append(values)
    return pl.DataFrame(series), remarks


def is_rule(rule: Rule) -> bool:
    """Say whether a rule is one that `recognise` can have made."""
    if rule["kind"] != "date":
        return rule["kind"] in ("number", "boolean", "text")
    known = {form for _, readings in _DATE_FORMS for formats in readings for form in _with_times(formats)}
    return set(rule["formats"]) <= known


def check_column(table: Table, name: str, what: str) -> None:
    """Raise DataError with the closest names unless the table has the column, which was to be `what`."""
    names = table.frame.columns
    if name in names:
        return
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or [
        other for other in names if other.lower() == name.lower()
    ]
    hint = "did you mean " + " or ".join(map(shown, close)) + "?" if close else "it has " + listed(names)
    raise DataError(f"{table.name}: has no column {shown(name)}, named as {what}; {hint}")


def listed(values: Sequence[object], limit: int = 10) -> str:
    """Quote the first values, and say how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    more = f" and {len(values) - limit} more" if len(values) > limit else ""
    return ", ".join(shown(value, 30) for value in values[:limit]) + more


def text_cells(series: pl.Series) -> pl.Series:
    """Return the cells as text without spaces around, the missing ones as null."""
    if series.dtype.is_float():
        # A program that turned whole numbers into floats, because a cell was missing, meant 1 by its 1.0.
        known = series.drop_nans().drop_nulls()
        if ((known % 1 == 0) & (known.abs() < 2.0**63)).all():
            series = series.fill_nan(None).cast(pl.Int64)
    cells = series.cast(pl.String).str.strip_chars()
    return cells.set(cells.str.to_lowercase().is_in(_MISSING), None)


def is_number(cells: pl.Series) -> pl.Series:
    """Mark the text cells that are numbers; none is where some are codes with leading zeros."""
    marks = cells.cast(pl.Float64, strict=False).is_not_null()
    if cells.filter(marks).str.contains(r"^[+-]?0\d").any():
        marks = pl.Series(cells.name, [False]).new_from_index(0, cells.len())
    return marks


def numbers(table: Table, name: str, cells: pl.Series, *, advice: str) -> pl.Series:
    """Turn cells into finite Float64, or raise DataError that names the first bad one and ends `advice`."""
    if cells.dtype == pl.String:
        values = cells.cast(pl.Float64, strict=False)
        _refuse(table, name, cells, cells.is_not_null() & values.is_null(), f"is not a number; {advice}")
    elif cells.dtype.is_temporal():
        raise DataError(f"{table.name}: column {shown(name)} holds dates, not numbers; {advice}")
    else:
        values = cells.cast(pl.Float64)
    _refuse(table, name, cells, values.is_infinite().fill_null(False), f"is infinite; {advice}")
    return values


def _cells(table: Table, name: str) -> pl.Series:
    """Return a column as String (trimmed), Float64, Boolean or Datetime, its missing cells as null."""
    series = table.frame[name]
    dtype = series.dtype
    if dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        return text_cells(series)
    if dtype.is_numeric():
        return series.cast(pl.Float64).fill_nan(None)
    if dtype in (pl.Date, pl.Datetime):
        return series.cast(pl.Datetime("us"))
    if dtype == pl.Boolean:
        return series
    raise DataError(
        f"{table.name}: column {shown(name)} holds values of type {dtype}, which cannot be used; "
        f"leave it out with --drop {shown(name)}"
    )


def _recognise(table: Table, name: str, remarks: list[str]) -> tuple[Rule, str]:
    """Return the rule of a column, and the reason to leave it out or ""."""
    cells = _cells(table, name)
    present = cells.drop_nulls()
    rule: Rule = {"name": name, "kind": "text"}
    if present.is_empty():
        return rule, "no values"
    if cells.dtype == pl.String:
        rule |= _kind_of_text(table, name, cells, remarks)
    elif cells.dtype.is_temporal():
        rule |= {"kind": "date", "formats": _with_times(_ISO)}
    else:
        rule["kind"] = "boolean" if cells.dtype == pl.Boolean else "number"
    values = _apply(table, rule, cells, model="")
    # Missing counts as a value of its own: that a cell is empty may tell the classes apart.
    if values.n_unique() == 1:
        return rule, f"constant, always {shown(present[0], 20)}"
    if rule["kind"] == "text" and present.n_unique() == present.len():
        return rule, "text, all values different"
    if rule["kind"] == "text" and present.len() >= _ENOUGH and present.n_unique() > _OWN * present.len():
        remarks.append(
            f"{table.name}: column {shown(name)}: {present.n_unique()} different texts in {present.len()} "
            f"cells look like an identifier; leave it out with --drop {shown(name)} if it is one"
        )
    return rule, ""


def _kind_of_text(table: Table, name: str, cells: pl.Series, remarks: list[str]) -> Rule:
    present = cells.drop_nulls()
    number = is_number(present)
    if number.all():
        return {"kind": "number"}
    words = present.str.to_lowercase().unique()
    if len(words) == 2 and set(words) in _PAIRS:
        return {"kind": "boolean"}
    for shape, readings in _DATE_FORMS:
        if present.head(100).str.contains(shape + _TIME).sum() < 0.9 * min(100, present.len()):
            continue
        days = {formats: _days(present, _with_times(formats)) for formats in readings}
        whole = [formats for formats in readings if days[formats].is_not_null().all()]
        if len(whole) > 1 and not days[whole[0]].equals(days[whole[1]]):
            remarks.append(
                f"{table.name}: column {shown(name)}: dates like {present[0]} can be read in two ways and "
                "are taken as text; write them as 2020-12-31"
            )
            return {"kind": "text"}
        if whole:
            return {"kind": "date", "formats": _with_times(whole[0])}
        best = max(readings, key=lambda formats: days[formats].count())
        _refuse_damaged(table, name, cells, _days(cells, _with_times(best)), "dates")
    if number.any():
        _refuse_damaged(table, name, cells, cells.cast(pl.Float64, strict=False), "numbers")
    puzzle = _puzzle(present, number)
    if puzzle:
        remarks.append(f"{table.name}: column {shown(name)}: {puzzle}")
    return {"kind": "text"}


def _puzzle(present: pl.Series, number: pl.Series) -> str:
    """Say what cells that are taken as text look like, or ""."""

    def such(like: pl.Series, share: float, what: str) -> str:
        """Give the remark if this share of the cells are numbers or `like`, and some are."""
        found = like.any() and (like | number).sum() >= share * present.len()
        return f"cells such as {shown(present.filter(like)[0])} look like {what}" if found else ""

    comma = present.str.contains(r"^[+-]?\d+,\d+$")
    thousands = present.str.contains(r"^[+-]?\d{1,3}(,\d{3})+$")
    bare = present.str.replace_all(r"[\s%$€£¥,'()]", "").str.replace("\N{MINUS SIGN}", "-", literal=True)
    marked = is_number(bare) & ~number
    share = number.sum() / present.len()
    if number.sum() >= _ENOUGH and share >= 0.5 and not marked.any():
        other = shown(present.filter(~number)[0])
        return (
            f"{number.sum()} of {present.len()} cells are numbers, but others such as "
            f"{other} are not, so all are taken as text; leave missing cells empty"
        )
    text = "and are taken as text; write them"
    dates = present.str.contains(_LIKE_DATE) & ~number
    return (
        such(comma & ~thousands, _NEARLY_ALL, f"numbers with a decimal comma {text} with a point")
        or such(marked, _NEARLY_ALL, f"numbers with signs or separators {text} as 1234.5")
        or such(dates, 0.5, f"dates, but not all are in one form that is known, {text} as 2020-12-31")
    )


def unknown_levels(X: pl.DataFrame, schema: Sequence[Any], table: Table, model: str) -> list[str]:
    """Remark on columns of text of which `model`, fitted with the levels of `schema`, knows not one cell.

    Parameters
    ----------
    X : polars.DataFrame
        The features of the table.
    schema : sequence of list or None
        The levels of each column.
    table : Table
    model : str

    Returns
    -------
    list of str
    """
    remarks = []
    for series, levels in zip(X.iter_columns(), schema, strict=True):
        cells = series.drop_nulls()
        if levels and len(cells) and set(levels).isdisjoint(cells.unique().to_list()):
            remarks.append(
                f"{table.name}: column {shown(series.name)}: none of its {len(cells)} cells, such as "
                f"{shown(cells[0])}, is a text that {model} was fitted with; taken as missing"
            )
    return remarks


def _apply(table: Table, rule: Rule, cells: pl.Series, model: str) -> pl.Series:
    """Make the feature of a column; `model` names the model, or is "" while fitting."""
    name, kind = rule["name"], rule["kind"]
    if kind == "number":
        advice = f"{model} was fitted with numbers there" if model else "correct it or leave it empty"
        return numbers(table, name, cells, advice=advice)
    if kind == "text":
        return cells if cells.dtype == pl.String else text_cells(table.frame[name])
    if kind == "boolean":
        words = text_cells(table.frame[name]).str.to_lowercase()
        false, true = words.is_in(_FALSE), words.is_in(_TRUE)
        return true.cast(pl.Float64).set(~(false | true), None)
    if cells.dtype.is_temporal():
        return (cells.to_physical() / _MICROSECONDS_A_DAY).alias(name)
    if cells.dtype != pl.String:
        raise DataError(
            f"{table.name}: column {shown(name)} holds numbers; {model} was fitted with dates there"
        )
    days = _days(cells, rule["formats"])
    fault = f"is not a date in the form that {model} was fitted with"
    _refuse(table, name, cells, cells.is_not_null() & days.is_null(), fault)
    return days


def _with_times(days: Sequence[str]) -> list[str]:
    return [day + time for day in days for time in _TIMES]


def _days(cells: pl.Series, formats: Sequence[str]) -> pl.Series:
    """Read text cells as days since 1970-01-01, in the first format that fits; null where none does."""
    plain = cells.str.replace(r"(\d) (\d{1,2}:)", "${1}T${2}")  # a space before the time is an ISO T
    days = pl.Series(cells.name, [None], dtype=pl.Float64).new_from_index(0, cells.len())
    for form in formats:
        if days.null_count() == cells.null_count():
            break
        # Without strict a cell that does not fit is null; a cell with an offset becomes UTC.
        read = plain.str.to_datetime(form, time_unit="us", strict=False).to_physical() / _MICROSECONDS_A_DAY
        days = days.zip_with(days.is_not_null(), read)
    return days


def _refuse_damaged(table: Table, name: str, cells: pl.Series, values: pl.Series, what: str) -> None:
    """Refuse text that is all but numbers or dates: one stray cell must not turn them all into categories."""
    good, present = values.count(), cells.count()
    if good >= _ENOUGH and good >= _NEARLY_ALL * present:
        fault = (
            f"is not among the {what} that {good} of the {present} cells are; correct it, leave it empty, "
            f"or leave the column out with --drop {shown(name)}"
        )
        _refuse(table, name, cells, cells.is_not_null() & values.is_null(), fault)


def _refuse(table: Table, name: str, cells: pl.Series, bad: pl.Series, fault: str) -> None:
    """Raise DataError that names the first cell marked bad, if there is one."""
    row = bad.arg_max() if bad.any() else None
    if row is not None:
        where = f"{table.name}: column {shown(name)}, {table.where(row)}"
        raise DataError(f"{where}: {shown(cells[row])} {fault}")
