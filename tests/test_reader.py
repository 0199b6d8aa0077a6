# SPDX-License-Identifier: Apache-2.0
import bz2
import datetime
import gzip
import io
import lzma
import sys

import numpy as np
import polars as pl
import pytest

from tadaboost.columns import features, recognise
from tadaboost.outcome import alike, labels, weights
from tadaboost.reader import DataError, Table, read_table


@pytest.fixture
def written(tmp_path):
    """Write a file and give its path."""

    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def table(**cells):
    """Make a table of text cells as a CSV file would give it."""
    frame = pl.DataFrame({name: list(map(str, values)) for name, values in cells.items()})
    return Table("data.csv", frame, np.arange(frame.height) + 2)


def kind(values):
    """Find the kind of a column with these cells."""
    found = recognise(
        table(x=values, other=[1.5, 2.5] * (len(values) // 2) + [1.0] * (len(values) % 2)), apart=()
    )
    return next((rule["kind"] for rule in found.rules if rule["name"] == "x"), "left out")


# --- files ---


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("a,b\n1,2\n3,4\n", [("1", "2"), ("3", "4")]),
        ("a,b\n1,2\n3,4", [("1", "2"), ("3", "4")]),
        ("\ufeffa,b\r\n1,2\r\n", [("1", "2")]),
        ("a,b\r1,2\r", [("1", "2")]),
        ("a;b\n1,5;2\n", [("1,5", "2")]),
        ('"a,x";b\n1;2\n', [("1", "2")]),
        ("a\tb\n1\t2\n", [("1", "2")]),
        ('a,b\n"one\ntwo","say ""hi"""\n', [("one\ntwo", 'say "hi"')]),
        ("\n\na,b\n1,2\n\n3,\n  \n", [("1", "2"), ("3", "")]),
        ("a , b\n1, 2\n", [("1", " 2")]),
    ],
    ids=[
        "plain",
        "no last newline",
        "bom crlf",
        "cr",
        "semicolon",
        "quoted comma",
        "tab",
        "quotes",
        "blank",
        "spaces",
    ],
)
def test_a_csv_file_gives_its_cells(written, content, rows):
    assert read_table(written(content)).frame.rows() == rows


def test_names_lose_the_spaces_around_them_and_nothing_else(written):
    assert read_table(written('[км] ,"x""<b>"\n1,2\n')).frame.columns == ["[км]", 'x"<b>']


def test_gzip_is_told_by_content_not_by_name(written):
    assert read_table(written(gzip.compress(b"a,b\n1,2\n", mtime=0), "data.txt")).frame.rows() == [("1", "2")]


def test_standard_input_is_read(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n")))
    assert read_table("-").frame.rows() == [("1", "2")]


@pytest.mark.parametrize(
    ("content", "row", "where"),
    [
        ("a,b\n1,2\n3,4\n", 1, "line 3"),
        ("\n\na,b\n1,2\n", 0, "line 4"),
        ('a,b\n"x\ny",2\n3,4\n', 1, "line 4"),
        ("a,b\n1,2\n\n\n3,4\n", 1, "line 5"),
        ('"a\nb",c\n1,2\n', 0, "line 3"),
    ],
)
def test_a_row_is_called_by_the_line_of_the_file_on_which_it_starts(written, content, row, where):
    assert read_table(written(content)).where(row) == where


def test_parquet_keeps_its_types_and_counts_rows_from_one(tmp_path):
    path = tmp_path / "data.bin"
    pl.DataFrame({"a": [1, 2], "b": ["x", None]}).write_parquet(path)
    read = read_table(str(path))
    assert read.frame.schema == {"a": pl.Int64, "b": pl.String}
    assert read.where(1) == "row 2"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"^data\.csv: is empty$"),
        ("\n \n", r"^data\.csv: is empty$"),
        ("\ufeff", r"^data\.csv: is empty$"),
        ("\ufeff\n\r\n", r"^data\.csv: is empty$"),
        ("a,b\n", r"^data\.csv: has a header but no rows$"),
        ("a,b\n1,2\n3\n5,6\n", r"^data\.csv: line 3: 1 cells where the header has 2; look for"),
        ("a,b\n1,2\n3,4,5\n", r"^data\.csv: line 3: 3 cells where the header has 2; look for"),
        ('a,b\n"x\ny",2\n\n3\n', r"^data\.csv: line 5: 1 cells where the header has 2"),
        ('a,b\n1,2\n"3,4\n5,6\n', r"^data\.csv: line 3: .*; look for a stray quote$"),
        ('a,b\n1,2\n"3"x,4\n', r"^data\.csv: line 3: .*; look for a stray quote$"),
        ('a,b,c\n1,5" tube,2\n3,4,5\n', r"^data\.csv: line 2: a quote without its partner; remove it"),
        ('\n\na,b,c\n1,"2\n3",4\n5,6,7"\n8,9,1\n', r"^data\.csv: line 6: a quote without its partner"),
        ("\n\na,b\n1\n", r"^data\.csv: line 4: 1 cells where the header has 2; look for"),
        ('"a,b\n1,2\n', r"^data\.csv: line 1: .*; look for a stray quote$"),
        ("a,b,a\n1,2,3\n", r"^data\.csv: line 1: columns 1 and 3 are both called 'a'; rename one$"),
        ("a,b, a\n1,2,3\n", r"^data\.csv: line 1: columns 1 and 3 are both called 'a'; rename one$"),
        ("a,,b\n1,2,3\n", r"^data\.csv: line 1: column 2 has no name; give it one or remove it$"),
        (b"a,b\n1,2\n3,\xe9\n", r"^data\.csv: line 3: byte 0xe9 is not UTF-8; save the file as UTF-8 text$"),
        (b"a,b\n1,\x00\n", r"^data\.csv: line 2: holds a zero byte; is it a text file\?$"),
        (
            gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:30],
            r"^data\.csv: the gzip data is damaged or cut short$",
        ),
        (b"PAR1 and no more", r"^data\.csv: cannot be read as Parquet: "),
        (lzma.compress(b"a,b\n1,2\n"), r"^data\.csv: is compressed by xz; save it as CSV \(plain or \.gz"),
        (bz2.compress(b"a,b\n1,2\n"), r"^data\.csv: is compressed by bzip2; save it as CSV"),
        (b"\x28\xb5\x2f\xfd\x04", r"^data\.csv: is compressed by zstd; save it as CSV"),
        (b"PK\x03\x04\x14\x00", r"^data\.csv: is a zip archive or a spreadsheet; save it as CSV"),
        ("a,b\n1,2\n".encode("utf-16"), r"^data\.csv: is text in UTF-16; save it as CSV"),
    ],
)
def test_a_bad_file_is_refused_by_name_and_line(written, content, message):
    with pytest.raises(DataError, match=message) as caught:
        read_table(written(content))
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.csv: no such file$"):
        read_table(str(tmp_path / "nowhere.csv"))
    with pytest.raises(DataError, match=r"is a folder; name a CSV or Parquet file$"):
        read_table(str(tmp_path))


def test_a_parquet_file_without_rows_is_refused(tmp_path):
    pl.DataFrame({"a": []}).write_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError, match=r"^none\.parquet: has columns but no rows$"):
        read_table(str(tmp_path / "none.parquet"))


# --- types ---


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "+2", "-3", ".5", "4.", "1e5", " 6 "], "number"),
        (["1", "NA", "n/a", "NaN", "null", "None", "?", "", "2"], "number"),
        (["1", "<NA>", "\\N", "2"], "number"),
        (["00501", "10001", "10001"], "text"),
        (["0.05", "0", "-0.1"], "number"),
        (["true", "False", "TRUE"], "boolean"),
        (["Yes", "no", "NA", "yes"], "boolean"),
        (["t", "f"], "boolean"),
        (["yes", "true", "yes"], "text"),
        (["yes", "maybe", "no", "no"], "text"),
        (["2020-01-31", "1999-12-01", ""], "date"),
        (["2020-01-31T10:00:00Z", "2020-01-31 11:30"], "date"),
        (["31.12.2020", "1.2.2021"], "date"),
        (["31/12/2020", "01/02/2021"], "date"),
        (["12/31/2020", "01/02/2021"], "date"),
        (["2 Jan 2020", "17 March 2021"], "date"),
        (["03/04/2020", "03/04/2020", "05/06/2021"], "text"),
        (["5-10-12", "5-10-12", "6-10-12"], "text"),
        (["red", "green", "red"], "text"),
        (["red", "green", "blue"], "left out"),
        (["7", "7", "7"], "left out"),
        (["7", "7", ""], "number"),
        (["a", "a", "a"], "left out"),
        (["", "NA", "?"], "left out"),
        (["1,5", "2,5", "1,5"], "text"),
        (["1_000", "2", "2"], "text"),
    ],
)
def test_the_kind_of_a_column_is_found_in_its_cells(values, expected):
    assert kind(values) == expected


def test_features_are_numbers_days_and_levels_with_nulls_for_missing():
    cells = table(
        number=["1", " +2.5 ", "NA"],
        flag=["Yes", "no", "?"],
        day=["1970-01-02", "1970-01-01T12:00:00", ""],
        level=["a", "a ", "None"],
    )
    frame, remarks = features(cells, recognise(cells, apart=()).rules)
    assert frame.rows() == [(1.0, 1.0, 1.0, "a"), (2.5, 0.0, 0.5, "a"), (None, None, None, None)]
    assert remarks == []


def test_an_offset_turns_a_time_into_utc():
    cells = table(day=["1970-01-01T12:00:00+12:00", "1970-01-02T00:00:00Z"])
    assert features(cells, recognise(cells, apart=()).rules)[0]["day"].to_list() == [0.0, 1.0]


def test_day_first_or_month_first_is_settled_by_the_whole_column():
    for cells, expected in (
        (["02/01/1970", "31/01/1970"], [1.0, 30.0]),
        (["01/02/1970", "01/31/1970"], [1.0, 30.0]),
    ):
        column = table(day=cells)
        assert features(column, recognise(column, apart=()).rules)[0]["day"].to_list() == expected


def test_dates_that_can_be_read_in_two_ways_and_decimal_commas_are_remarked_on():
    remarks = recognise(
        table(day=["03/04/2020", "05/06/2020"] * 2, size=["1,5", "2,5"] * 2), apart=()
    ).remarks
    assert len(remarks) == 2
    assert "column 'day': dates like 03/04/2020 can be read in two ways" in remarks[0]
    assert "column 'size': cells such as '1,5' look like numbers with a decimal comma" in remarks[1]


@pytest.mark.parametrize(
    ("cells", "remark"),
    [
        (
            ["5%", "10%"] * 2,
            "cells such as '5%' look like numbers with signs or separators and are taken as text",
        ),
        (["$1.50", "-$2"], "cells such as '$1.50' look like numbers with signs or separators"),
        (["1,234", "56,789,012", "7"], "cells such as '1,234' look like numbers with signs or separators"),
        (["\N{MINUS SIGN}5", "5"], "cells such as '\N{MINUS SIGN}5' look like numbers with signs"),
        (
            [*range(30), *["#DIV/0!"] * 5],
            "270 of 315 cells are numbers, but others such as '#DIV/0!' are not, so all are taken as text; "
            "leave missing cells empty",
        ),
        (
            ["01/02/20", "31/12/19"],
            "cells such as '01/02/20' look like dates, but not all are in one form that",
        ),
        (
            ["2020-01-31", "31.1.2020"],
            "cells such as '2020-01-31' look like dates, but not all are in one form",
        ),
        (
            ["2020-01-31 10:00 PM"] * 2 + ["x"],
            "cells such as '2020-01-31 10:00 PM' look like dates, but not all",
        ),
    ],
)
def test_text_that_people_read_as_numbers_or_dates_is_remarked_on(cells, remark):
    (found,) = recognise(table(x=cells * 9, y=range(9 * len(cells))), apart=()).remarks
    assert found.startswith(f"data.csv: column 'x': {remark}")


@pytest.mark.parametrize(
    "cells",
    [
        ["00501", "10001", "10002"],
        ["S", "M", "L", "40", "42"],
        ["1.2.3", "1.2.4"],
        ["123-45-6789", "987-65-4321"],
        ["a, b", "c (d)"],
        ["-", "+"],
    ],
)
def test_codes_and_words_are_not_remarked_on(cells):
    assert recognise(table(x=cells * 30, y=range(30 * len(cells))), apart=()).remarks == []


def test_a_text_column_with_nearly_a_level_a_row_is_remarked_on():
    for n_levels, n_rows, remarked in ((38, 40, True), (30, 40, False), (18, 19, False)):
        names = [f"u{i % n_levels}" for i in range(n_rows)]
        found = recognise(table(name=names, size=list(range(n_rows))), apart=())
        assert [rule["name"] for rule in found.rules] == ["name", "size"]
        assert bool(found.remarks) == remarked
    names = [f"u{i % 38}" for i in range(40)]
    (remark,) = recognise(table(name=[*names, *[""] * 99]), apart=()).remarks  # missing cells do not count
    assert remark.endswith(
        "column 'name': 38 different texts in 40 cells look like an identifier; "
        "leave it out with --drop 'name' if it is one"
    )


def test_typed_columns_of_parquet_follow_the_same_rules():
    frame = pl.DataFrame(
        {
            "whole": [1, 2, None],
            "real": [1.5, float("nan"), 2.0],
            "flag": [True, False, None],
            "day": [datetime.date(1970, 1, 2), None, datetime.date(1970, 1, 3)],
            "level": pl.Series(["a", "a", "b"], dtype=pl.Categorical),
            "text": ["1", "2", "3"],
        }
    )
    cells = Table("data.parquet", frame, None)
    found = recognise(cells, apart=())
    assert [rule["kind"] for rule in found.rules] == ["number", "number", "boolean", "date", "text", "number"]
    assert features(cells, found.rules)[0].rows()[0] == (1.0, 1.5, 1.0, 1.0, "a", 1.0)


def test_a_model_of_a_csv_file_takes_the_typed_columns_of_parquet():
    trained = table(flag=["yes", "no"] * 2, code=["1", "x"] * 2, day=["2020-01-01", "2020-01-02"] * 2)
    typed = pl.DataFrame(
        {"code": [1.0, None], "day": [datetime.datetime(1970, 1, 1, 6), None], "flag": [False, True]}
    )
    frame, _ = features(Table("new.parquet", typed, None), recognise(trained, apart=()).rules, model="m.tada")
    assert frame.rows() == [(0.0, "1", 0.25), (1.0, None, None)]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            {"x": [*range(999), "oops"]},
            r"^data\.csv: column 'x', line 1001: 'oops' is not among the numbers that 999 of the 1000 cells "
            r"are; correct it, leave it empty, or leave the column out with --drop 'x'$",
        ),
        (
            {"x": [*(f"2020-01-{day:02}" for day in range(1, 31)), "2020-02-31"]},
            r"^data\.csv: column 'x', line 32: '2020-02-31' is not among the dates that 30 of the 31",
        ),
        ({"x": ["1", "inf", "2"]}, r"^data\.csv: column 'x', line 3: 'inf' is infinite"),
        ({"x": ["1", "2", "1e999"]}, r"^data\.csv: column 'x', line 4: '1e999' is infinite"),
        (
            {"x": ["7", "7"], "y": ["a", "b"]},
            r"^data\.csv: no usable column is left \('x': constant, always '7', 'y'",
        ),
    ],
)
def test_a_column_that_would_make_a_wrong_model_is_refused(cells, message):
    with pytest.raises(DataError, match=message):
        recognise(table(**cells), apart=())


def test_a_type_that_cannot_be_used_is_refused_by_name():
    frame = pl.DataFrame({"x": [[1], [2]], "y": [1, 2]})
    with pytest.raises(DataError, match=r"^d\.parquet: column 'x' holds values of type List\(Int64\)"):
        recognise(Table("d.parquet", frame, None), apart=())
    assert recognise(Table("d.parquet", frame, None), apart=(), drop=["x"]).rules == [
        {"name": "y", "kind": "number"}
    ]


def test_a_column_to_drop_must_exist():
    with pytest.raises(
        DataError, match=r"^data\.csv: has no column 'ag', named as a column to drop; did you mean 'age'\?$"
    ):
        recognise(table(age=[1, 2]), apart=(), drop=["ag"])


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"flag": ["yes"]}, r"^data\.csv: column 'size' is missing; m\.tada was fitted with it$"),
        (
            {"size": ["1", "big"], "flag": ["yes", "no"]},
            r"^data\.csv: column 'size', line 3: 'big' is not a number; m\.tada was fitted with numbers",
        ),
        ({"size": ["inf"], "flag": ["yes"]}, r"^data\.csv: column 'size', line 2: 'inf' is infinite"),
    ],
)
def test_new_data_that_does_not_fit_the_model_is_refused(cells, message):
    rules = [{"name": "size", "kind": "number"}, {"name": "flag", "kind": "boolean"}]
    with pytest.raises(DataError, match=message):
        features(table(**cells), rules, model="m.tada")


def test_dates_and_numbers_are_not_taken_for_each_other():
    day = {"name": "x", "kind": "date", "formats": ["%Y-%m-%d"]}
    with pytest.raises(
        DataError, match=r"column 'x', line 2: '5' is not a date in the form that m\.tada was fitted with$"
    ):
        features(table(x=["5"]), [day], model="m.tada")
    typed = Table("new.parquet", pl.DataFrame({"x": [5]}), None)
    with pytest.raises(DataError, match=r"column 'x' holds numbers; m\.tada was fitted with dates there$"):
        features(typed, [day], model="m.tada")
    dates = Table("new.parquet", pl.DataFrame({"x": [datetime.date(2020, 1, 1)]}), None)
    with pytest.raises(
        DataError, match=r"column 'x' holds dates, not numbers; m\.tada was fitted with numbers there$"
    ):
        features(dates, [{"name": "x", "kind": "number"}], model="m.tada")


def test_columns_are_matched_by_name_in_the_order_of_the_model_and_others_ignored():
    rules = [{"name": "b", "kind": "number"}, {"name": "a", "kind": "text"}]
    frame, _ = features(table(extra=["z"], a=["x"], b=["1"]), rules)
    assert frame.columns == ["b", "a"]
    assert frame.rows() == [(1.0, "x")]


def test_a_word_that_is_neither_yes_nor_no_is_missing_and_remarked_on():
    frame, remarks = features(
        table(flag=["TRUE", "perhaps", "0", "1.0"]), [{"name": "flag", "kind": "boolean"}]
    )
    assert frame["flag"].to_list() == [1.0, None, 0.0, 1.0]
    assert remarks == [
        "data.csv: column 'flag': 1 cells such as 'perhaps' are neither yes nor no; taken as missing"
    ]


# --- target ---


@pytest.mark.parametrize(
    ("cells", "rule", "expected"),
    [
        (["b", "a ", "b"], None, ["b", "a", "b"]),
        (["1", "2", "2.0"], None, [1, 2, 2]),
        (["0.5", "1", "0.50"], None, ["0.5", "1", "0.5"]),
        ([str(2**60), str(2**60 + 1)], None, [str(2**60), str(2**60 + 1)]),
        ([str(2**60), "1"], ">=2", [1, 0]),
        (["01", "02"], None, ["01", "02"]),
        (["True", "False"], None, ["True", "False"]),
        (["3", "7", "6"], ">=6", [0, 1, 1]),
        (["3", "7", "6"], "> 6", [0, 1, 0]),
        (["3", "7", "6"], "<=6", [1, 0, 1]),
        (["3", "7", "6"], "<6", [1, 0, 0]),
        (["1.0", "2", "3"], "1", [1, 0, 0]),
        (["a", "b", "c"], "in:a, c", [1, 0, 1]),
        (["a,x", "b", "c"], 'in:"a,x",c', [1, 0, 1]),
        (["1", "2", "3.0"], "in:1.0,3", [1, 0, 1]),
        (["<=50K", ">50K"], ">50K", [0, 1]),
        (["<5", ">=5"], "<5", [1, 0]),
        (["in:a", "b"], "in:a", [1, 0]),
    ],
)
def test_the_classes_are_the_values_or_what_the_rule_says(cells, rule, expected):
    assert labels(table(y=cells), "y", rule).tolist() == expected


@pytest.mark.parametrize(
    ("cells", "rule", "message"),
    [
        (
            ["a", "", "b"],
            None,
            r"^data\.csv: target 'y', line 3: is empty; give the row a class or remove it$",
        ),
        (["1", "2", "NaN"], None, r"^data\.csv: target 'y', line 4: 'NaN' counts as missing; give"),
        (
            ["1", "inf", "2"],
            None,
            r"^data\.csv: column 'y', line 3: 'inf' is infinite; the target must be finite$",
        ),
        (["a", "a"], None, r"^data\.csv: target 'y': is 'a' in every row; two classes are needed$"),
        (
            ["1", "2.5", "3"],
            None,
            r"^data\.csv: target 'y': has 3 values \('1', '2\.5', '3'\), too many for a class each; say "
            r"which are positive, such as --positive '>=2\.5'$",
        ),
        ([str(i) for i in range(21)], None, r"has 21 values .* such as --positive '>=10'$"),
        ([f"{i:02}x" for i in range(51)], None, r"has 51 values .* such as --positive '00x'$"),
        (["a", "b"], "c", r"^data\.csv: target 'y': no row has the value 'c'; the values are 'a', 'b'$"),
        (["a", "b"], "in:a,c", r"no row has the value 'c'; the values are 'a', 'b'$"),
        (["1", "2"], "x", r"no row has the value 'x'; the values are '1', '2'$"),
        (["1", "2"], ">=x", r"no row has the value '>=x'; .* what follows >= in a rule is a number$"),
        (["1", "2"], ">=3", r"the rule '>=3' holds in no row; the values are '1', '2'$"),
        (["1", "2"], ">=1", r"the rule '>=1' holds in every row; two classes are needed$"),
        (["a", "b"], ">=1", r"holds text, so the rule '>=1' has no meaning; it has 'a', 'b'$"),
    ],
)
def test_a_target_that_gives_no_two_classes_is_refused(cells, rule, message):
    with pytest.raises(DataError, match=message):
        labels(table(y=cells), "y", rule)


@pytest.mark.parametrize("cells", [[[1], [2]], [{"a": 1}, {"a": 2}], [b"a", b"\xff"]])
@pytest.mark.parametrize(("read", "what"), [(labels, "target"), (weights, "weights")])
def test_cells_that_have_no_text_are_neither_classes_nor_weights(cells, read, what):
    typed = Table("d.parquet", pl.DataFrame({"y": cells}), None)
    with pytest.raises(
        DataError, match=rf"^d\.parquet: column 'y' holds values of type \w+.* be the {what};"
    ):
        read(typed, "y")


def test_large_numbers_of_a_typed_column_are_not_missing():
    typed = Table("d.parquet", pl.DataFrame({"y": [1e300, 2.0], "x": [1e20, 2e20]}), None)
    assert weights(typed, "y").tolist() == [1e300, 2.0]
    assert labels(typed, "y").tolist() == ["1e+300", "2.0"]
    X, _ = features(typed, [{"name": "x", "kind": "text"}])
    assert X["x"].to_list() == ["1e+20", "2e+20"]


def test_fractions_are_classes_of_a_fit_and_numbers_of_a_study():
    fractions = table(y=["10.5", "9.5"])
    assert labels(fractions, "y").tolist() == ["10.5", "9.5"]
    assert labels(fractions, "y", two=True).tolist() == [10.5, 9.5]


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [(["b", "a", "c"], "U"), ([str(i) for i in range(20)], "i"), ([f"{i}x" for i in range(50)], "U")],
)
def test_every_value_of_a_few_is_a_class(cells, dtype):
    found = labels(table(y=cells), "y")
    assert found.dtype.kind == dtype
    assert [str(label) for label in found] == cells


def test_classes_that_differ_only_in_case_or_spaces_are_remarked_on():
    for cells, remark in (
        (["No", "yes", "no", "x"], "the classes 'No' and 'no' differ only in case or spaces"),
        (["a b", "ab", "b", "c"], "the classes 'a b' and 'ab' differ only in case or spaces"),
        (["a", "b", "c", "d"], ""),
        (["1", "2", "3", "4"], ""),
    ):
        assert alike(labels(table(y=cells), "y")) == remark


def test_an_unknown_target_is_refused_with_the_closest_names():
    with pytest.raises(
        DataError, match=r"^data\.csv: has no column 'ring', named as the target; did you mean 'Rings'\?$"
    ):
        labels(table(Rings=["1", "2"], Sex=["M", "F"]), "ring")
    with pytest.raises(DataError, match=r"has no column 'zzz', named as the target; it has 'Rings', 'Sex'$"):
        labels(table(Rings=["1", "2"], Sex=["M", "F"]), "zzz")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1", "-1"], r"^data\.csv: weights 'w', line 3: is -1; a weight is a number >= 0$"),
        (["", "1"], r"^data\.csv: weights 'w', line 2: is empty; a weight"),
        (["1", "x"], r"^data\.csv: column 'w', line 3: 'x' is not a number; a weight"),
        (["1", "inf"], r"^data\.csv: column 'w', line 3: 'inf' is infinite; a weight"),
        (["0", "0"], r"^data\.csv: weights 'w': every weight is 0$"),
    ],
)
def test_a_bad_weight_is_refused(cells, message):
    with pytest.raises(DataError, match=message):
        weights(table(w=cells), "w")
