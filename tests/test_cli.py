# SPDX-License-Identifier: Apache-2.0
"""The command line: what `fit`, `predict`, `inspect`, `demo` write and print."""

import gzip
import io
import json

import numpy as np
import polars as pl
import pytest

import tadaboost

from .commandline import FAST, fitted, folder, made, rows, run, text_of


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


@pytest.mark.parametrize("names", [["gold", "<lead>", "tin"], ["1", "2", "7"]])
def test_a_target_of_several_values_has_a_class_each(run, folder, names):
    rng = np.random.default_rng(0)
    size = rng.normal(size=90).round(3)
    y = np.array(names)[(size > -0.5).astype(int) + (size + 0.3 * rng.normal(size=90) > 0.5)]
    table = [["size", "y"], *zip(size.tolist(), y.tolist(), strict=True)]
    (folder / "three.csv").write_text(text_of(table), "utf-8")
    told = run("fit", "three.csv", "--target", "y", *FAST).stdout
    assert "three.csv: 90 rows, 1 column used, 10 rounds" in told
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


def test_a_column_of_which_the_model_knows_no_text_is_remarked_on(run, fitted, folder):
    content = (folder / "data.csv").read_text()
    remark = (
        "new.csv: column 'colour': none of its 60 cells, such as 'xred', is a text that data.tada was fitted"
    )
    for known, said in ((0, f"{remark} with; taken as missing\n"), (1, "")):
        lines = content.replace(",blue", ",xblue").replace(",green", ",xgreen").replace(",red", ",xred")
        (folder / "new.csv").write_text(lines.replace(",xred", ",red", known))
        assert (
            run("predict", fitted, "new.csv").stderr.replace("xgreen", "xred").replace("xblue", "xred")
            == said
        )


def test_a_fit_says_that_classes_look_alike(run, folder):
    (folder / "new.csv").write_text((folder / "data.csv").read_text().replace("yes", "No"))
    said = run("fit", "new.csv", "--target", "y", *FAST).stderr
    assert said == "new.csv: target 'y': the classes 'No' and 'no' differ only in case or spaces\n"
