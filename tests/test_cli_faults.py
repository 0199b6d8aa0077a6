# SPDX-License-Identifier: Apache-2.0
"""The command line and mistakes: one line on standard error, exit code 1 for bad data, 2 for wrong usage."""

import gzip
from pathlib import Path

import numpy as np
import pytest

import tadaboost

from .commandline import FAST, error_line, fitted, folder, made, run

# --- bad input: exit 1, one line ---


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "bad.csv: is empty"),
        ("size,y\n", "bad.csv: has a header but no rows"),
        (
            "size,y\n1,a\n2\n",
            "bad.csv: line 3: 1 cells where the header has 2; look for a missing or stray separator or quote",
        ),
        ("size,y,size\n1,a,2\n", "bad.csv: line 1: columns 1 and 3 are both called 'size'; rename one"),
        ("size,Y\n1,a\n2,b\n", "bad.csv: has no column 'y', named as the target; did you mean 'Y'?"),
        ("size,y\n1,a\n2,a\n", "bad.csv: target 'y': is 'a' in every row; two classes are needed"),
        (
            "size,y\n1,0.5\n2,1\n3,2\n",
            "bad.csv: target 'y': has 3 values ('0.5', '1', '2'), too many for a class each; "
            "say which are positive, such as --positive '>=1'",
        ),
        ("y\na\nb\n", "bad.csv: no usable column is left (there is no other)"),
        (
            "id,c,y\nu,5,a\nv,5,b\n",
            "bad.csv: no usable column is left ('id': text, all values different, 'c': constant, always '5')",
        ),
        ("size,y\n1,a\n2,\n", "bad.csv: target 'y', line 3: is empty; give the row a class or remove it"),
        (
            "size,y\n1,0\n2,nan\n",
            "bad.csv: target 'y', line 3: 'nan' counts as missing; give the row a class or remove it",
        ),
        ("size,y\n1,0\n2,inf\n", "bad.csv: column 'y', line 3: 'inf' is infinite; the target must be finite"),
        (
            "size,y\n1,0\n-inf,1\n",
            "bad.csv: column 'size', line 3: '-inf' is infinite; correct it or leave it empty",
        ),
        (
            "size,y\n" + "1,0\n2,1\n" * 20 + "big,1\n",
            "bad.csv: column 'size', line 42: 'big' is not among the numbers that 40 of the 41 cells are; "
            "correct it, leave it empty, or leave the column out with --drop 'size'",
        ),
        (
            "size,y\n1,0\n2,1\n3,1\n",
            "bad.csv: class '0' has 1 rows, fewer than the 3 folds; take fewer with --folds (at least 2), "
            "or 0 for no estimate",
        ),
    ],
)
def test_fit_refuses_bad_data_in_one_line(run, folder, content, line):
    (folder / "bad.csv").write_text(content)
    assert error_line(run("fit", "bad.csv", "--target", "y", *FAST, code=1)) == line
    assert sorted(path.name for path in folder.iterdir()) == ["bad.csv", "data.csv"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("nowhere.csv", "--target", "y"), "nowhere.csv: no such file"),
        ((".", "--target", "y"), ": is a folder; name a CSV or Parquet file"),
        (
            ("data.csv", "--target", "y", "--drop", "siz"),
            "data.csv: has no column 'siz', named as a column to drop; did you mean 'size'?",
        ),
        (("data.csv", "--target", "y", "--weight", "colour"), "is not a number; a weight is a number >= 0"),
        (
            ("data.csv", "--target", "y", "--positive", "maybe"),
            "data.csv: target 'y': no row has the value 'maybe'; the values are 'no', 'yes'",
        ),
        (
            ("data.csv", "--target", "y", "--positive", "in:"),
            "data.csv: target 'y': the rule 'in:' holds in no row; the values are 'no', 'yes'",
        ),
        (("data.csv", "--target", "y", "--model", "m" * 300), "m: File name too long"),
        (("data.csv", "--target", "y", "--report", "m" * 300), "m: File name too long"),
        (("data.csv", "--target", "y", "--model", "no/m.tada"), "no/m.tada: there is no folder no"),
        (("data.csv", "--target", "y", "--report", "."), ".: is a folder; name a file"),
    ],
)
def test_fit_refuses_what_it_cannot_find_or_write(run, folder, arguments, line):
    assert error_line(run("fit", *arguments, *FAST, code=1)).endswith(line)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("colour,day\nred,2024-01-01\n", "new.csv: column 'size' is missing; data.tada was fitted with it"),
        (
            "size,colour,day\n1,red,2024-01-01\nbig,red,2024-01-01\n",
            "new.csv: column 'size', line 3: 'big' is not a number; data.tada was fitted with numbers there",
        ),
        (
            "size,colour,day\n1,red,tomorrow\n",
            "new.csv: column 'day', line 2: 'tomorrow' is not a date in the form that data.tada "
            "was fitted with",
        ),
        (
            "size,colour,day\n1,red\n",
            "new.csv: line 2: 2 cells where the header has 3; look for a missing or stray separator or quote",
        ),
        ("", "new.csv: is empty"),
    ],
)
def test_predict_refuses_data_that_does_not_fit_the_model(run, fitted, folder, content, line):
    (folder / "new.csv").write_text(content)
    assert error_line(run("predict", fitted, "new.csv", "--output", "out.csv", code=1)) == line
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("fit data.csv --target y --model data.csv", "data.csv is the data"),
        ("fit data.csv --target y --report ./linked.csv", "linked.csv is the data"),
        ("fit data.csv --target y --set checkpoint=data.csv", "data.csv is the data"),
        ("predict data.tada data.csv --output data.csv", "data.csv is the data"),
        ("predict data.tada data.csv --output linked.csv", "linked.csv is the data"),
        ("predict model data.csv --output model", "model is the model"),
    ],
)
def test_output_onto_a_file_that_is_read_is_refused(run, fitted, folder, arguments, line):
    (folder / "linked.csv").symlink_to("data.csv")
    (folder / "model").write_bytes((folder / fitted).read_bytes())
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    refused = error_line(run(*arguments.split(), code=1))
    assert refused == f"{line}; writing there would destroy it, so name another file"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("output", ["data.tada", "other.tada", "new.TADA"])
def test_predictions_are_not_written_over_or_as_a_model(run, fitted, folder, output):
    (folder / "other.tada").write_bytes((folder / fitted).read_bytes())
    (folder / "model").write_bytes((folder / fitted).read_bytes())
    line = error_line(run("predict", "model", "data.csv", "--output", output, code=1))
    assert line == f"{output}: predictions are CSV, and .tada is for models; name it .csv"
    assert (folder / "other.tada").read_bytes() == (folder / fitted).read_bytes()
    assert not (folder / "new.TADA").exists()


def test_a_report_is_not_written_over_or_as_a_model(run, fitted, folder):
    (folder / "other.tada").write_bytes((folder / fitted).read_bytes())
    line = error_line(run("fit", "data.csv", "--target", "y", "--report", "other.tada", code=1))
    assert line == "other.tada: a report is a page, and .tada is for models; name it .html"
    assert (folder / "other.tada").read_bytes() == (folder / fitted).read_bytes()


@pytest.mark.parametrize(
    ("option", "name", "fault"),
    [
        ("--report", "r.html.gz", "a report is a page"),
        ("--model", "m.tada.gz", "a model is a kind of its own"),
    ],
)
def test_a_name_that_promises_another_kind_of_file_is_refused_before_a_fit(run, folder, option, name, fault):
    line = error_line(run("fit", "data.csv", "--target", "y", option, name, code=1))
    right = name.removesuffix(".gz")[1:]
    assert line == f"{name}: {fault}, and .gz is for compressed files; name it {right}"
    assert [path.name for path in folder.iterdir()] == ["data.csv"]


def test_predictions_in_a_file_named_gz_are_compressed(run, fitted):
    run("predict", fitted, "data.csv", "--output", "plain.csv")
    run("predict", fitted, "data.csv", "--output", "p.csv.gz")
    assert gzip.decompress(Path("p.csv.gz").read_bytes()) == Path("plain.csv").read_bytes()
    for name, kind in {"p.parquet": "Parquet files", "p.tada.gz": "models"}.items():
        assert f"and .{name.split('.')[1]} is for {kind}; name it .csv" in error_line(
            run("predict", fitted, "data.csv", "--output", name, code=1)
        )


@pytest.mark.parametrize(
    "command",
    [
        ("fit", "data.csv", "--target", "y", "--report"),
        ("fit", "data.csv", "--target", "y", "--model"),
        ("predict", "data.tada", "data.csv", "--output"),
        ("study", "data.csv", "--target", "y", "--output"),
    ],
)
def test_an_empty_name_of_a_file_is_refused(run, command):
    *_, line = run(*command, "", code=2).stderr.splitlines()
    assert line == f"Error: Invalid value for '{command[-1]}': is empty; name a file, or leave the option out"


@pytest.mark.parametrize("damage", ["cut", "foreign", "empty", "folder", "absent"])
@pytest.mark.parametrize("command", ["predict", "inspect"])
def test_a_bad_model_file_is_refused_by_name(run, fitted, folder, command, damage):
    path = folder / "bad.tada"
    if damage == "cut":
        path.write_bytes((folder / fitted).read_bytes()[:-200])
    elif damage == "foreign":
        path.write_bytes(b"PK\x03\x04 but no model")
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "folder":
        path.mkdir()
    line = error_line(run(command, "bad.tada", *(["data.csv"] if command == "predict" else []), code=1))
    assert "bad.tada" in line


def forged(path, change):
    """Change what `fit` noted about its data in a model file, as a foreign or hostile file may have it."""
    model = tadaboost.load(path)
    change(model.table_)
    tadaboost.save(model, path)


@pytest.mark.parametrize("command", ["predict", "inspect"])
@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.clear(),
        lambda table: table.pop("columns"),
        lambda table: table.update(columns=[]),
        lambda table: table.update(columns=[3]),
        lambda table: table["columns"].reverse(),
        lambda table: table["columns"][0].update(kind="elephant"),
        lambda table: table["columns"][0].update(kind=[]),
        lambda table: table["columns"][0].update(name="width"),
        lambda table: table["columns"][2].update(formats=["%Q"]),
        lambda table: table["columns"][2].pop("formats"),
        lambda table: table.update(target="y"),
        lambda table: table.update(weight=3),
        lambda table: table["estimate"].pop("folds"),
        lambda table: table["estimate"]["error"].update(mean="low"),
        lambda table: table.update(left_out=[{}]),
        lambda table: table.update(rows=None),
    ],
)
def test_a_model_file_with_forged_notes_is_refused(run, fitted, command, change):
    forged(fitted, change)
    arguments = (fitted, "data.csv") if command == "predict" else (fitted,)
    line = error_line(run(command, *arguments, code=1))
    assert line == "data.tada: damaged model file (table cannot be right)"


def test_rules_that_contradict_the_levels_of_the_model_are_one_line(run, fitted):
    forged(fitted, lambda table: table["columns"][0].update(kind="text"))
    line = error_line(run("predict", fitted, "data.csv", code=1))
    assert line.startswith("data.csv: column 'size' holds text")
    forged(fitted, lambda table: [rule.update(kind="number") for rule in table["columns"][:2]])
    assert "column 'colour', line 2:" in error_line(run("predict", fitted, "data.csv", code=1))


def test_a_model_saved_from_python_is_refused_with_the_reason(run):
    model = tadaboost.TAdaBoostClassifier(n_estimators=2).fit(np.arange(40.0)[:, None], np.arange(40) % 2)
    tadaboost.save(model, "plain.tada")
    assert "plain.tada: was not made by `tadaboost fit`" in error_line(
        run("predict", "plain.tada", "data.csv", code=1)
    )


def test_a_line_end_in_a_name_does_not_break_the_one_line(run, folder):
    (folder / "bad.csv").write_text('"si\nze",y\n1,a\ninf,b\n')
    assert r"column 'si\nze', line 4: 'inf' is infinite" in error_line(
        run("fit", "bad.csv", "--target", "y", code=1)
    )


# --- wrong usage: exit 2 ---


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("data.csv",), "Missing option '--target'"),
        (("data.csv", "--target", "y", "--t", "auto"), "--t auto: is not a number"),
        (("data.csv", "--target", "y", "--t", "2"), "'t'"),
        (
            ("data.csv", "--target", "y", "--set", "n_estimator=5"),
            "no such parameter; did you mean n_estimators",
        ),
        (("data.csv", "--target", "y", "--set", "n_estimators"), "must be NAME=VALUE"),
        (("data.csv", "--target", "y", "--set", "t=0.5"), "use --t 0.5"),
        (("data.csv", "--target", "y", "--set", "n_estimators=many"), "n_estimators"),
        (("data.csv", "--target", "y", "--folds", "1"), "--folds 1 leaves nothing to fit to"),
        (("data.csv", "--target", "y", "--drop", "y"), "'y' is the target"),
        (("data.csv", "--target", "y", "--set", "leaf_ridge=1" + "0" * 400), "leaf_ridge is an integer"),
        (("data.csv", "--target", "y", "--model", "x", "--report", "x"), "--model and --report are both x"),
        (("data.csv", "--target", "y", "--model", "-"), "--model -: standard output holds what is printed"),
        (("data.csv", "--target", "y", "--report", "-"), "--report -: standard output holds what is printed"),
        (("data.csv", "--target", "y", "--model", "x", "--report", "./no/../x"), "--report are both x"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_why(run, folder, arguments, words):
    result = run("fit", *arguments, code=2)
    assert words in result.stderr
    assert result.stdout == ""
    assert [path.name for path in folder.iterdir()] == ["data.csv"]
