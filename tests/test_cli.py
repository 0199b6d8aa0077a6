# SPDX-License-Identifier: Apache-2.0
import csv
import gzip
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import tadaboost
from tadaboost.commands import main, write_aside

FAST = ("--set", "n_estimators=10", "--folds", "3")


def rows(n=60):
    """Rows of a table whose class depends on size and colour."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=n).round(3)
    colour = rng.choice(["red", "green", "blue"], n)
    y = np.where(size + (colour == "red") + 0.5 * rng.normal(size=n) > 0.3, "yes", "no")
    return [["size", "colour", "day", "y"]] + [
        [s, c, f"2024-01-{i % 28 + 1:02}", label]
        for i, (s, c, label) in enumerate(zip(size, colour, y, strict=True))
    ]


def text_of(table):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(table)
    return out.getvalue()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Run every test in an empty folder with `data.csv`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(text_of(rows()), "utf-8")
    return tmp_path


@pytest.fixture
def run():
    def invoke(*arguments, code=0, stdin=None):
        result = CliRunner().invoke(main, list(map(str, arguments)), input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return invoke


@pytest.fixture
def fitted(run):
    run("fit", "data.csv", "--target", "y", *FAST)
    return "data.tada"


def error_line(result):
    """The only line on standard error."""
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line.removeprefix("Error: ")


# --- the main job ---


def test_fit_writes_a_model_and_a_report_and_prints_the_estimate(run, folder):
    result = run("fit", "data.csv", "--target", "y", *FAST)
    assert result.stderr == ""
    assert "data.csv: 60 rows, 3 columns used, 10 rounds" in result.stdout
    assert "3-fold cross-validation, ± one standard error:" in result.stdout
    for figure in ("error", "log loss", "AUC"):
        assert figure in result.stdout
    assert (folder / "data.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    model = tadaboost.load("data.tada")
    assert model.classes_.tolist() == ["no", "yes"]
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "data.html", "data.tada"]


def test_fit_as_json_says_the_same_for_programs(run):
    said = json.loads(run("fit", "data.csv", "--target", "y", "--json", *FAST).stdout)
    assert said["model"] == "data.tada"
    assert said["report"] == "data.html"
    assert said["classes"] == ["no", "yes"]
    assert said["estimate"]["folds"] == 3
    assert 0 <= said["estimate"]["error"]["mean"] < 0.5
    assert [column["kind"] for column in said["columns"]] == ["number", "text", "date"]


def test_the_same_seed_gives_the_same_files(run, folder):
    for name in ("a", "b"):
        run(
            "fit",
            "data.csv",
            "--target",
            "y",
            "--seed",
            5,
            "--model",
            f"{name}.tada",
            "--report",
            f"{name}.html",
            *FAST,
        )
    assert (folder / "a.tada").read_bytes() == (folder / "b.tada").read_bytes()
    assert (folder / "a.html").read_bytes() == (folder / "b.html").read_bytes()


def test_columns_left_out_are_said_on_standard_error(run, folder):
    (folder / "more.csv").write_text(
        text_of([[*row, i and f"id{i}", 7 if i else "seven"] for i, row in enumerate(rows())])
    )
    text = (folder / "more.csv").read_text().replace("y,0,", "y,id,")
    (folder / "more.csv").write_text(text)
    result = run("fit", "more.csv", "--target", "y", "--drop", "day", *FAST)
    assert result.stderr.splitlines() == [
        "more.csv: column 'day' is left out: --drop",
        "more.csv: column 'id' is left out: text, all values different",
        "more.csv: column 'seven' is left out: constant, always '7'",
    ]


def test_predict_gives_a_class_a_row_and_with_proba_the_probabilities(run, fitted):
    plain = pl.read_csv(io.StringIO(run("predict", fitted, "data.csv").stdout))
    assert plain.columns == ["prediction"]
    assert plain.height == 60
    with_proba = pl.read_csv(io.StringIO(run("predict", fitted, "data.csv", "--proba").stdout))
    assert with_proba.columns == ["prediction", "proba_no", "proba_yes"]
    assert with_proba["prediction"].equals(plain["prediction"])
    assert np.allclose(with_proba["proba_no"] + with_proba["proba_yes"], 1)
    assert ((with_proba["proba_yes"] > 0.5) == (with_proba["prediction"] == "yes")).all()


def test_columns_in_another_order_and_additional_ones_predict_the_same(run, fitted, folder):
    swapped = [[c, "extra" if i == 0 else i, d, s] for i, (s, c, d, _) in enumerate(rows())]
    (folder / "swapped.csv").write_text(text_of(swapped))
    assert run("predict", fitted, "swapped.csv").stdout == run("predict", fitted, "data.csv").stdout


def test_a_file_gzip_parquet_and_standard_input_predict_the_same(run, fitted, folder):
    text = (folder / "data.csv").read_bytes()
    (folder / "data.csv.gz").write_bytes(gzip.compress(text, mtime=0))
    pl.read_csv(text, try_parse_dates=True).write_parquet(folder / "data.parquet")
    expected = run("predict", fitted, "data.csv", "--proba").stdout
    assert run("predict", fitted, "data.csv.gz", "--proba").stdout == expected
    assert run("predict", fitted, "data.parquet", "--proba").stdout == expected
    assert run("predict", fitted, "-", "--proba", stdin=text).stdout == expected


def test_an_unseen_level_and_missing_cells_are_no_error(run, fitted, folder):
    (folder / "new.csv").write_text("size,colour,day\n1,violet,2024-01-01\n,,\n")
    assert len(run("predict", fitted, "new.csv").stdout.splitlines()) == 3


def test_predict_writes_to_a_file_when_asked(run, fitted, folder):
    result = run("predict", fitted, "data.csv", "--output", "out.csv")
    assert result.stdout == ""
    assert (folder / "out.csv").read_text() == run("predict", fitted, "data.csv").stdout


def test_a_rule_makes_the_classes_one_and_zero(run, folder):
    result = run("fit", "data.csv", "--target", "size", "--positive", ">=0", *FAST)
    assert result.exit_code == 0
    assert set(run("predict", "data.tada", "data.csv").stdout.split()) <= {"prediction", "0", "1"}


def test_weight_zero_is_a_row_that_is_not_there(run, folder):
    table = rows()
    weighted = [[*table[0], "w"]] + [[*row, int(i % 3 > 0)] for i, row in enumerate(table[1:])]
    present = [table[0]] + [row for i, row in enumerate(table[1:]) if i % 3]
    (folder / "weighted.csv").write_text(text_of(weighted))
    (folder / "present.csv").write_text(text_of(present))
    run("fit", "weighted.csv", "--target", "y", "--weight", "w", *FAST)
    run("fit", "present.csv", "--target", "y", *FAST)
    weighted_said, present_said = (
        run("predict", f"{name}.tada", "data.csv", "--proba").stdout for name in ("weighted", "present")
    )
    assert weighted_said == present_said


def test_a_warning_of_the_estimator_is_one_line_without_our_file(run, folder):
    table = rows()
    light = [[*table[0], "w"]] + [[*row, 0.01] for row in table[1:]]
    (folder / "light.csv").write_text(text_of(light))
    (line,) = run("fit", "light.csv", "--target", "y", "--weight", "w", *FAST).stderr.splitlines()
    assert line.startswith("light.csv: sample_weight sums to 0.6 over 60 rows")


def test_folds_zero_skips_the_estimate(run, folder):
    result = run("fit", "data.csv", "--target", "y", "--folds", 0, "--set", "n_estimators=5")
    assert "cross-validation" not in result.stdout
    assert "No error was estimated" in (folder / "data.html").read_text("utf-8")


def test_settings_reach_the_estimator(run):
    run(
        "fit", "data.csv", "--target", "y", "--t", "1", "--set", "clip=true", "--set", "max_depth=none", *FAST
    )
    parameters = tadaboost.load("data.tada").get_params()
    assert parameters["t"] == 1.0
    assert parameters["clip"] is True
    assert parameters["max_depth"] is None
    assert parameters["n_estimators"] == 10


def test_inspect_says_what_the_model_is(run, fitted):
    text = run("inspect", fitted).stdout
    for words in ("data.csv: 60 rows, target y", "Classes: no, yes", "colour", "n_estimators", "train_error"):
        assert words in text
    said = json.loads(run("inspect", fitted, "--json").stdout)
    assert set(said["importances"]) == {"size", "colour", "day"}
    assert len(said["rounds"]["alpha"]) == said["n_iter"]
    assert said["settings"]["n_estimators"] == 10


def test_names_with_markup_survive_every_output(run, folder):
    table = rows()
    table[0] = ['[км],"x"<b>', "[bold]c", "day", "y"]
    (folder / "odd.csv").write_text(text_of(table), "utf-8")
    run("fit", "odd.csv", "--target", "y", *FAST)
    assert '[км],"x"<b>' in run("inspect", "odd.tada").stdout
    assert "[bold]c" in run("inspect", "odd.tada").stdout
    assert "[км],&#34;x&#34;&lt;b&gt;" in (folder / "odd.html").read_text("utf-8")
    assert '[км],"x"<b>' in json.loads(run("inspect", "odd.tada", "--json").stdout)["importances"]
    assert len(run("predict", "odd.tada", "odd.csv").stdout.splitlines()) == 61


def test_demo_needs_no_data(run, folder):
    result = run("demo", *FAST)
    assert "569 rows, 30 columns used" in result.stdout
    assert tadaboost.load("demo.tada").classes_.tolist() == ["benign", "malignant"]
    assert (folder / "demo.html").exists()


def test_version_is_the_package_version(run):
    assert run("--version").stdout.split()[-1] == tadaboost.__version__


# --- bad input: exit 1, one line ---


@pytest.mark.parametrize("names", [["gold", "<lead>", "tin"], ["1", "2", "7"]])
def test_a_target_of_several_values_has_a_class_each(run, folder, names):
    rng = np.random.default_rng(0)
    size = rng.normal(size=90).round(3)
    y = np.array(names)[(size > -0.5).astype(int) + (size + 0.3 * rng.normal(size=90) > 0.5)]
    table = [["size", "y"], *zip(size.tolist(), y.tolist(), strict=True)]
    (folder / "three.csv").write_text(text_of(table), "utf-8")
    told = run("fit", "three.csv", "--target", "y", *FAST).stdout
    assert "three.csv: 90 rows, 1 columns used, 10 rounds" in told
    run("predict", "three.tada", "three.csv", "--proba", "--output", "p.csv")
    predicted = pl.read_csv("p.csv", infer_schema=False)
    assert predicted.columns == ["prediction", *(f"proba_{name}" for name in sorted(names))]
    assert (predicted["prediction"].to_numpy() == y).mean() > 0.8
    shares = predicted[:, 1:].cast(pl.Float64).to_numpy()
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    page = (folder / "three.html").read_text("utf-8")
    assert "How often the predicted class is the true one" in page
    assert page.count('<td class="right">') == 3
    assert "Some rounds, each number that of the hardest class" in run("inspect", "three.tada").stdout
    about = json.loads(run("inspect", "three.tada", "--json").stdout)
    assert np.shape(about["rounds"]["loss"]) == (10, 3)
    assert 0.5 < about["estimate"]["auc"]["mean"] <= 1
    assert 0 < about["estimate"]["log_loss"]["mean"] < np.log(3)
    run("fit", "three.csv", "--target", "y", *FAST[:2], "--folds", 0)


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
        (("data.csv", "--target", "y", "--model", "data.csv"), "data.csv is the data"),
        (("data.csv", "--target", "y", "--set", "leaf_ridge=1" + "0" * 400), "leaf_ridge is an integer"),
        (("data.csv", "--target", "y", "--model", "x", "--report", "x"), "--model and --report are both x"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_why(run, folder, arguments, words):
    result = run("fit", *arguments, code=2)
    assert words in result.stderr
    assert result.stdout == ""
    assert [path.name for path in folder.iterdir()] == ["data.csv"]


# --- files and processes ---


def test_a_failed_write_leaves_the_old_file_and_nothing_else(folder):
    (folder / "old").write_text("old")

    def fail(path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(ValueError, match=r"old: cannot be written: No space left on device$"):
        write_aside(folder / "old", fail)
    assert (folder / "old").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "old"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize(("option", "start"), [("--model", b"PK"), ("--report", b"<!")])
def test_a_pipe_is_written_to_and_not_replaced(run, option, start):
    """A device such as /dev/null, too: renamed over by root, it would be gone for the whole machine."""
    os.mkfifo("pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe").read_bytes()), daemon=True)
    reader.start()
    run("fit", "data.csv", "--target", "y", *FAST, option, "pipe")
    assert Path("pipe").is_fifo()
    reader.join(timeout=30)
    assert read[0].startswith(start)


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "tadaboost", *arguments],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_a_process_exits_with_0_1_and_2_and_shows_no_traceback(folder):
    done = command("fit", "data.csv", "--target", "y", *FAST)
    assert (done.returncode, done.stderr) == (0, "")
    fault = command("predict", "data.tada", "nowhere.csv")
    assert (fault.returncode, fault.stdout, fault.stderr) == (1, "", "Error: nowhere.csv: no such file\n")
    assert command("predict").returncode == 2


def test_a_reader_that_leaves_early_is_no_fault_to_shout_about(run, fitted, folder):
    table = rows()
    (folder / "long.csv").write_text(text_of([table[0], *table[1:] * 400]))
    process = subprocess.Popen(
        [sys.executable, "-m", "tadaboost", "predict", fitted, "long.csv", "--proba"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=60) in (0, 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(run, fitted):
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-m", "tadaboost", "predict", fitted, "data.csv"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert process.returncode == 1
    assert process.stderr.splitlines() == ["Error: standard output: No space left on device"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("fit", "--help")], ids=" ".join)
def test_a_full_disk_is_one_line_for_what_click_prints_too(arguments):
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-m", "tadaboost", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert process.returncode == 1
    assert process.stderr.splitlines() == ["Error: standard output: No space left on device"]


@pytest.mark.skipif(os.name != "posix", reason="closes descriptors in a shell")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("inspect data.tada >&-", 0, ""),
        ("inspect data.tada >&- 2>&-", 0, ""),
        ("predict data.tada - <&-", 1, "Error: standard input: is closed\n"),
    ],
)
def test_closed_streams_end_without_a_traceback(run, fitted, arguments, code, said):
    shell = f'"$0" -m tadaboost {arguments}'
    process = subprocess.run(["sh", "-c", shell, sys.executable], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (code, "", said)


@pytest.mark.parametrize("missing", ["click", "polars", "jinja2", "rich"])
def test_a_missing_extra_is_one_line_that_says_what_to_install(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; from tadaboost.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stdout == ""
    assert (
        result.stderr == f'tadaboost: the command line needs {missing}; run: pip install "tadaboost[cli]"\n'
    )


def test_the_package_imports_neither_the_command_line_nor_frames():
    extras = {"click", "rich", "polars", "pandas", "jinja2", "matplotlib"}
    code = f"import sys, tadaboost; print({extras} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "set()\n"


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_an_interrupt_exits_with_130_and_says_nothing():
    code = (
        "import os, signal; from tadaboost import cli, commands;"
        "commands.read_table = lambda path: os.kill(os.getpid(), signal.SIGINT);"
        "cli.main()"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, "fit", "data.csv", "--target", "y"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, process.stdout, process.stderr.strip()) == (130, "", "")
