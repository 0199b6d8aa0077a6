# SPDX-License-Identifier: Apache-2.0
"""A file -> a `Table`: named columns of cells, and for each row the place where it stands in the file.

Polars parses. Here stand the checks that it lacks (it fills short rows, renames repeated columns and names
no line), so that a fault is one line that names the file, the line and what to do. What a column means is
the business of `columns.py`.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray


class DataError(ValueError):
    """A fault of the data; the text is one line that names file, column and row, and says what to do."""


# What people bring in place of CSV, by the bytes with which it begins.
_OTHER_KINDS = (
    (rb"\xfd7zXZ\0", "compressed by xz"),
    (rb"BZh[1-9]1AY&SY", "compressed by bzip2"),
    (rb"\x28\xb5\x2f\xfd", "compressed by zstd"),
    (rb"PK\x03\x04|\xd0\xcf\x11\xe0", "a zip archive or a spreadsheet"),
    (rb"ARROW1|FEA1", "a Feather file"),
    (rb"SQLite format 3", "a database"),
    (rb"\xff\xfe|\xfe\xff", "text in UTF-16"),
)


@dataclass(frozen=True)
class Table:
    """The cells of a file.

    Attributes
    ----------
    name : str
        The file's name without its folder, as messages show it.
    frame : polars.DataFrame
        CSV: every column String, cells as written. Parquet: the types of the file.
    lines : ndarray of int64, shape (rows,), or None
        The line of the file on which each row starts, the header's being 1; None when the file has no lines
        (Parquet).
    """

    name: str
    frame: pl.DataFrame
    lines: NDArray[np.int64] | None

    def where(self, row: int) -> str:
        """Say where row `row` (from 0) stands: "line 17" of a CSV file, "row 16" of a Parquet file."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"

    def keep(self, rows: NDArray[np.bool_]) -> Table:
        """Return the table with only the rows marked True; they keep their lines."""
        return Table(self.name, self.frame.filter(rows), None if self.lines is None else self.lines[rows])


def shown(text: object, limit: int = 40) -> str:
    r"""Quote a name or cell for a message: one line whatever it holds, and not longer than `limit`.

    Examples
    --------
    >>> print(shown("two\nlines"))
    'two\nlines'
    """
    quoted = repr(str(text))
    return quoted if len(quoted) <= limit + 2 else quoted[: limit - 1] + "…'"


def read_table(path: str) -> Table:
    """Read a CSV (plain or gzip) or Parquet file; `-` is standard input.

    The kind is told by the content, not by the name. A CSV file is UTF-8 (a byte order mark is fine) and has
    a header. Its cells are separated by commas or, where the header has none, by semicolons or tabs. Quoted
    cells may hold line ends; blank lines are skipped.

    Parameters
    ----------
    path : str
        A file, or `-`.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If the file cannot be read, is empty or has no rows, is no text, has rows of another length than its
        header, or a column without a name or with the name of another.
    """
    name = "standard input" if path == "-" else Path(path).name
    raw = _bytes(path, name)
    if raw[:4] == b"PAR1":
        return _parquet(raw, name)
    return _csv(raw, name)


def _bytes(path: str, name: str) -> bytes:
    if path == "-":
        if sys.stdin is None:
            raise DataError("standard input: is closed")
        raw = sys.stdin.buffer.read()
    elif Path(path).is_dir():
        raise DataError(f"{name}: is a folder; name a CSV or Parquet file")
    else:
        try:
            raw = Path(path).read_bytes()
        except FileNotFoundError:
            raise DataError(f"{path}: no such file") from None
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (EOFError, OSError, zlib.error):
            raise DataError(f"{name}: the gzip data is damaged or cut short") from None
    if not raw.strip():
        raise DataError(f"{name}: is empty")
    return raw


def _parquet(raw: bytes, name: str) -> Table:
    try:
        frame = pl.read_parquet(io.BytesIO(raw))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{name}: cannot be read as Parquet: {_first_line(error)}") from None
    _check_names(frame.columns, name)
    if frame.height == 0:
        raise DataError(f"{name}: has columns but no rows")
    return Table(name, frame, None)


def _csv(raw: bytes, name: str) -> Table:
    for beginning, kind in _OTHER_KINDS:
        if re.match(beginning, raw):
            raise DataError(f"{name}: is {kind}; save it as CSV (plain or .gz, UTF-8) or Parquet")
    text = _text(raw, name)
    # Blank lines before the header would be taken for it, yet they count as lines.
    skipped = text[: len(text) - len(text.lstrip("\r\n"))].count("\n")
    text = text.lstrip("\r\n")
    if not text:  # but for a byte order mark
        raise DataError(f"{name}: is empty")
    first = re.sub('"[^"]*"', "", text[:100_000]).partition("\n")[0]
    separator = "," if "," in first else max(";\t", key=first.count)
    header = [cell.strip() for cell in next(_records(text, separator, name, skipped))[1]]
    _check_names(header, name)
    try:
        frame = pl.read_csv(
            text.encode(), separator=separator, infer_schema=False, empty_string_is_null=False
        )
    except pl.exceptions.PolarsError as error:
        # These say more than polars does: they name the line.
        _, starts = _scan(text, separator, len(header), name, skipped)
        _refuse_stray_quote(text, starts, name, skipped)
        raise DataError(f"{name}: cannot be read as CSV: {_first_line(error)}") from None
    lines = np.arange(frame.height, dtype=np.int64) + 2 + skipped
    one_line_a_row = text.count("\n") + (not text.endswith("\n")) == frame.height + 1
    # Polars fills a short row, so a row that ends in an empty cell may be one. Only then, and where rows are
    # not lines, every row is read a second time.
    if not one_line_a_row or frame.width != len(header) or (frame.to_series(-1) == "").any():
        filled, lines = _scan(text, separator, len(header), name, skipped)
        frame = frame.filter(filled)
    if frame.height == 0:
        raise DataError(f"{name}: has a header but no rows")
    return Table(name, frame.rename(dict(zip(frame.columns, header, strict=True))), lines)


def _text(raw: bytes, name: str) -> str:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}: line {line}: byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8 text"
        ) from None
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise DataError(f"{name}: line {line}: holds a zero byte; is it a text file?")
    return text if "\n" in text else text.replace("\r", "\n")  # line ends of old spreadsheets


def _records(text: str, separator: str, name: str, skipped: int) -> Iterator[tuple[int, list[str]]]:
    """Yield each row by Python's own parser, after its first line; `skipped` lines stand before the text."""
    csv.field_size_limit(max(len(text), 131072))  # a cell may be as long as the file
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    line = skipped + 1
    try:
        for record in reader:
            yield line, record
            line = skipped + reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{name}: line {line}: {error}; look for a stray quote") from None


def _scan(
    text: str, separator: str, width: int, name: str, skipped: int
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Check the length of every row; mark the rows that are not blank lines, and number their lines."""
    filled, lines = [], []
    for line, record in _records(text, separator, name, skipped):
        blank = not record or (len(record) == 1 and not record[0].strip())
        if not blank and len(record) != width:
            raise DataError(
                f"{name}: line {line}: {len(record)} cells where the header has {width}; "
                "look for a missing or stray separator or quote"
            )
        filled.append(not blank)
        lines.append(line)
    keep = np.array(filled[1:], dtype=np.bool_)
    return keep, np.array(lines[1:], dtype=np.int64)[keep]


def _refuse_stray_quote(text: str, starts: NDArray[np.int64], name: str, skipped: int) -> None:
    """Name the first row with an odd number of quotes: Python takes one within a cell as it is."""
    rows = text.split("\n")
    starts = starts - 1 - skipped
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True):
        if sum(row.count('"') for row in rows[start:end]) % 2:
            raise DataError(
                f"{name}: line {start + 1 + skipped}: a quote without its partner; remove it, "
                "or put the cell in quotes and double the quote in it"
            )


def _check_names(names: Sequence[str], file: str) -> None:
    for position, column in enumerate(names, 1):
        if not column:
            raise DataError(f"{file}: line 1: column {position} has no name; give it one or remove it")
    column, times = Counter(names).most_common(1)[0]
    if times > 1:
        first, second = [i for i, other in enumerate(names, 1) if other == column][:2]
        raise DataError(
            f"{file}: line 1: columns {first} and {second} are both called {shown(column)}; rename one"
        )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
