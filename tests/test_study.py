# SPDX-License-Identifier: Apache-2.0
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy import stats
from sklearn.model_selection import StratifiedKFold

from tadaboost import TAdaBoostClassifier as Classifier
from tadaboost import paper_settings, study, studyfigures
from tadaboost.group import main
from tadaboost.reader import DataError
from tadaboost.study import Cell, Domain, Store

BOTH = (False, True)


def toy(n=90, seed=0):
    """Three columns, one of text; about a tenth of the labels follow nothing."""
    rng = np.random.default_rng(seed)
    X = pl.DataFrame(
        {"a": rng.normal(size=n).round(2), "b": rng.normal(size=n), "c": rng.choice(list("xyz"), n)}
    )
    y = (X["a"].to_numpy() + (X["c"] == "x").to_numpy() + rng.normal(size=n) * 0.5) > 0.3
    return Domain("toy", X, y, ("no", "yes"))


def cell_of(t=0.6, noise=0.0, **changes):
    cell = Cell(
        "study", "toy", n_trees=6, max_leaf_nodes=4, leaves="theorem_a", t=t, noise=noise, folds=3, seed=1
    )
    return cell._replace(**changes)


@pytest.fixture(scope="module")
def domain():
    return toy()


@pytest.mark.parametrize("t", [0.0, 0.6, 1.0, 1.1])
def test_one_fit_gives_what_a_fit_each_of_plain_and_clipped_gives(domain, t):
    cell = cell_of(t, noise=0.2)
    curves = study.run_cell(domain, cell)
    splits = StratifiedKFold(3, shuffle=True, random_state=1).split(domain.X, domain.y)
    for fold, (train, test) in enumerate(splits):
        labels = study.flipped(domain.y, 0.2, 1, fold)[train]
        for clip, suffix in ((False, ""), (True, "_clipped")):
            settings = paper_settings(t, clip=clip) | {"n_estimators": 6, "max_leaf_nodes": 4}
            model = Classifier(**settings).fit(domain.X[train], labels)
            for part, name in ((train, "train_error"), (test, "test_error")):
                errors = [(stage != domain.y[part]).mean() for stage in model.staged_predict(domain.X[part])]
                assert curves[fold][name + suffix][: len(errors)].tolist() == errors
            for name in ("codensity_min", "codensity_max", "n_off"):
                assert curves[fold][name][: model.n_iter_].tolist() == model.rounds_[name].tolist()
            assert curves[fold]["edge"][: model.n_iter_].tolist() == model.rounds_["rho"].tolist()


def test_clipped_errors_are_those_of_a_clipped_fit_where_clipping_acts(domain):
    parameters = {"leveraging": "exact", "allow_pure_leaves": True}
    curves = study.run_cell(domain, cell_of(0.0, noise=0.3, n_trees=30, max_leaf_nodes=8), parameters)
    assert (curves["test_error"] != curves["test_error_clipped"]).any()
    splits = StratifiedKFold(3, shuffle=True, random_state=1).split(domain.X, domain.y)
    for fold, (train, test) in enumerate(splits):
        labels = study.flipped(domain.y, 0.3, 1, fold)[train]
        settings = paper_settings(0.0, clip=True) | {"n_estimators": 30} | parameters
        model = Classifier(**settings).fit(domain.X[train], labels)
        errors = [(stage != domain.y[test]).mean() for stage in model.staged_predict(domain.X[test])]
        assert curves[fold]["test_error_clipped"][: len(errors)].tolist() == errors


def test_noise_touches_no_label_that_errors_are_counted_against():
    domain = Domain("toy", pl.DataFrame({"a": np.arange(60.0)}), np.arange(60) >= 30, ("0", "1"))
    curves = study.run_cell(domain, cell_of(noise=0.3, n_trees=1, max_leaf_nodes=2))
    # A stump on the true column: against flipped labels no error could be far below .3.
    assert curves["test_error"].mean() < 0.15


def test_more_noise_flips_the_same_rows_and_more():
    y = np.zeros(500, bool)
    few, many = study.flipped(y, 0.1, 3, 2), study.flipped(y, 0.4, 3, 2)
    assert many[few].all()
    assert 30 < few.sum() < 70 < 170 < many.sum() < 230
    assert (study.flipped(y, 0.4, 3, 1) != many).any()
    assert not study.flipped(y, 0.0, 3, 2).any()


def test_a_model_that_ends_early_keeps_its_last_values():
    domain = Domain(
        "toy", pl.DataFrame({"a": np.repeat([0.0, 1.0], 30)}), np.repeat([False, True], 30), ("0", "1")
    )
    curves = study.run_cell(domain, cell_of(), {"allow_pure_leaves": True})  # one split, and nothing is wrong
    assert (curves["test_error"] == 0).all()
    assert (curves["edge"] == 1).all()


def test_a_training_set_that_noise_left_with_one_class_predicts_that_class(monkeypatch):
    domain = Domain("toy", pl.DataFrame({"a": np.arange(12.0)}), np.arange(12) % 2 == 0, ("0", "1"))
    monkeypatch.setattr(study, "flipped", lambda y, *_: np.ones_like(y))
    assert study.run_cell(domain, cell_of())["test_error"].tolist() == [[0.5] * 6] * 3


def test_the_bound_of_a_clipped_model_above_one_is_not_claimed(domain):
    assert np.isnan(study.run_cell(domain, cell_of(1.1))["bound_clipped"]).all()
    curves = study.run_cell(domain, cell_of(0.6, leaves="canonical"))
    assert (curves["bound"] >= curves["train_error"] - 1e-12).all()


def test_cells_and_tests_have_the_columns_of_the_contract(domain):
    cells = [cell_of(t) for t in (0.6, 1.0)]
    results = {cell: study.run_cell(domain, cell) for cell in cells}
    table = study.tidy(results, lambda cell: BOTH)
    assert ",".join(table.columns) == (
        "experiment,domain,n_trees,max_leaf_nodes,leaves,t,clip,noise,fold,round,train_error,test_error,"
        "codensity_min,codensity_max,n_off,n_nonfinite,edge,bound"
    )
    assert table.height == 2 * 2 * 3 * 6
    one = table.filter(pl.col("clip") & (pl.col("t") == 0.6) & (pl.col("fold") == 2) & (pl.col("round") == 5))
    assert one["test_error"].item() == results[cells[0]]["test_error_clipped"][1, 4]
    tests = study.compare(results, lambda cell: BOTH)
    last = table.filter(pl.col("round") == 6)
    for row in tests.iter_rows(named=True):
        ours = last.filter((pl.col("t") == row["t"]) & (pl.col("clip") == row["clip"]))["test_error"]
        base = last.filter((pl.col("t") == 1) & ~pl.col("clip"))["test_error"]
        expected = (
            stats.ttest_rel(ours.to_numpy(), base.to_numpy()).pvalue if (ours != base).any() else math.nan
        )
        assert row["p_student"] == pytest.approx(expected, rel=1e-12, nan_ok=True)
    assert tests["t"].to_list() == [0.6, 0.6]


def test_holm_is_over_domains():
    values = {"one": 0.0, "two": 0.0}
    results = {}
    rng = np.random.default_rng(0)
    for name in values:
        for t in (0.5, 1.0):
            curves = np.zeros((10, 6), study.CURVES)
            curves["test_error"] = rng.random((10, 1)) + (t == 1) * rng.normal(0.2, 0.1, (10, 1))
            results[cell_of(t, domain=name, folds=10)] = curves
    tests = study.compare(results, lambda cell: (False,))
    assert tests["p_student_holm"].min() == pytest.approx(2 * tests["p_student"].min())
    assert tests.height == 2


def test_without_t_one_there_is_nothing_to_compare(domain):
    cell = cell_of(0.6)
    assert study.compare({cell: study.run_cell(domain, cell)}, lambda cell: BOTH).height == 0


def test_verdicts_are_counted_over_domains():
    rows = [{"leaves": "x", "noise": 0.0, "t": 0.5, "clip": False, "difference": d, "p": p}
            for d, p in ((-1, 0.01), (-1, 0.2), (1, 0.05), (1, 0.01), (0, math.nan))]  # fmt: skip
    assert study.tally(pl.DataFrame(rows, strict=False), "p") == {("x", 0.0, 0.5, False): (1, 2, 2)}


def test_finished_cells_are_not_run_again(tmp_path, domain, monkeypatch):
    cells = [cell_of(t) for t in (0.6, 1.0)]
    first = study.run_cells({"toy": domain}, cells[:1], Store(tmp_path), n_jobs=1)
    calls = []
    run = study.run_cell
    monkeypatch.setattr(study, "run_cell", lambda *args: (calls.append(args[1]), run(*args))[1])
    both = study.run_cells({"toy": domain}, cells, Store(tmp_path), n_jobs=1)
    assert calls == cells[1:]
    assert list(both) == cells
    assert both[cells[0]].tobytes() == first[cells[0]].tobytes()


def test_a_damaged_or_foreign_cell_is_run_again(tmp_path, domain):
    cell, store = cell_of(), Store(tmp_path)
    expected = study.run_cells({"toy": domain}, [cell], store, n_jobs=1)[cell]
    path = store.path(domain, cell)
    for content in (b"", path.read_bytes()[:-9], b"garbage"):
        path.write_bytes(content)
        assert store.read(domain, cell) is None
        assert study.run_cells({"toy": domain}, [cell], store, n_jobs=1)[cell].tobytes() == expected.tobytes()
    assert store.path(toy(seed=5), cell) != path  # other rows
    assert store.path(domain, cell._replace(seed=2)) != path
    assert Store(tmp_path, {"max_bins": 9}).path(domain, cell) != path


def test_side_by_side_or_one_by_one_the_cells_are_the_same(tmp_path, domain):
    cells = [cell_of(t, noise=0.1) for t in (0.0, 0.6, 1.0)]
    runs = [study.run_cells({"toy": domain}, cells, Store(tmp_path / str(n)), n_jobs=n) for n in (1, 2)]
    assert [curves.tobytes() for curves in runs[0].values()] == [
        curves.tobytes() for curves in runs[1].values()
    ]


def test_too_few_rows_of_a_class_are_named():
    domain = Domain("toy", pl.DataFrame({"a": np.arange(20.0)}), np.arange(20) < 3, ("no", "yes"))
    with pytest.raises(
        DataError, match=r"^toy: class 'yes' has 3 rows, fewer than the 5 folds; take fewer with"
    ):
        study.check_folds(domain, 5)


# The command.


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        studyfigures, "png", lambda rows: b""
    )  # has a test of its own, and takes a second each
    domain = toy()
    table = domain.X.with_columns(y=np.where(domain.y, "yes", "no"), kind=np.arange(90) % 3, one=7)
    table.write_csv(tmp_path / "data.csv")
    return tmp_path


FAST = ("data.csv", "--target", "y", "--ts", "0.5,1", "--noise", "0,0.2", "--folds", "3", "--trees", "4")
FILES = {
    "cells.csv",
    "cells.parquet",
    "tests.csv",
    "tests.parquet",
    "summary.csv",
    "table2.csv",
    "report.html",
    "run.json",
}


def invoke(*arguments, code=0):
    result = CliRunner().invoke(main, ["study", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def command(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "tadaboost", "study", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def contents(folder):
    """Every file but run.json, hidden ones too."""
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if name != "run.json"}


def test_study_writes_all_files_and_two_runs_are_identical(folder):
    for name in ("one", "two"):
        text = invoke(*FAST, "--jobs", "1", "--output", name)
        assert "column 'one' is left out: constant" in text
    assert {path.name for path in (folder / "one").iterdir()} == FILES | {"figures", "store"}
    one, two = contents(folder / "one"), contents(folder / "two")
    assert one == two
    assert {name for name in one if name.endswith(".svg")} == {
        "figures/study-data-theorem_a-noise0.svg", "figures/study-data-theorem_a-noise0.2.svg"
    }  # fmt: skip
    run = json.loads((folder / "one" / "run.json").read_text())
    assert (run["seeds"], run["cells"], run["cells_run_now"]) == ([0], 4, 4)
    assert {"tadaboost", "numpy", "Python", "sklearn"} <= set(run["versions"])


def test_the_csv_holds_every_digit(folder):
    invoke(*FAST, "--jobs", "1", "--output", "out")
    whole = pl.read_parquet("out/cells.parquet")
    text = pl.read_csv("out/cells.csv", schema_overrides={"t": pl.Float64, "noise": pl.Float64})
    assert text.equals(whole.select(text.columns).cast(text.schema))


def test_another_seed_gives_other_folds(folder):
    for seed in (0, 1):
        invoke(*FAST, "--jobs", "1", "--output", f"out{seed}", "--seed", seed)
    assert (folder / "out0" / "cells.csv").read_bytes() != (folder / "out1" / "cells.csv").read_bytes()


def test_a_run_that_was_killed_goes_on_to_the_same_bytes(folder):
    long = (*FAST[:4], "0,0.3,0.6,0.9,1,1.1", *FAST[5:-1], "30", "--jobs", "1")
    killed = command(*long, "--output", "killed", start_new_session=True)
    store, deadline = folder / "killed" / "store", time.monotonic() + 60
    while len(list(store.glob("*.npy"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert not (folder / "killed" / "report.html").exists(), "it ended before it was killed"
    (store / ".half.npy.1.part").write_bytes(b"half")  # what a kill within a write leaves
    invoke(*long, "--output", "killed")
    invoke(*long, "--output", "whole")
    assert contents(folder / "killed") == contents(folder / "whole")
    run = json.loads((folder / "killed" / "run.json").read_text())
    assert 0 < run["cells_run_now"] < run["cells"]


def test_a_kept_cell_of_which_a_bit_has_changed_is_made_again(folder):
    invoke(*FAST, "--jobs", "1", "--output", "out")
    before = contents(folder / "out")
    for file in sorted((folder / "out" / "store").glob("*.npy"))[:2]:
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 0x40
        file.write_bytes(content)
    invoke(*FAST, "--jobs", "1", "--output", "out")
    assert json.loads((folder / "out" / "run.json").read_text())["cells_run_now"] == 2
    assert contents(folder / "out") == before


def test_a_full_disk_is_one_line_and_the_next_run_goes_on(folder):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))  # enough for cells, not for cells.csv
    try:
        last = invoke(*FAST, "--jobs", "1", "--output", "out", code=1).splitlines()[-1]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert last.startswith("Error: ")
    assert "out/cells.csv: cannot be written: File too large" in last
    assert not (folder / "out" / "cells.csv").exists()
    invoke(*FAST, "--jobs", "1", "--output", "out")
    invoke(*FAST, "--jobs", "1", "--output", "whole")
    assert json.loads((folder / "out" / "run.json").read_text())["cells_run_now"] == 0
    assert contents(folder / "out") == contents(folder / "whole")


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        (("--ts", "0.5,2"), 2, "--ts 2: a temperature is a number below 2"),
        (("--ts", "0.5,inf"), 2, "--ts inf: a temperature is a number below 2"),
        (("--ts", "a"), 2, "--ts a: a temperature is a number below 2"),
        (("--noise", "0.5"), 2, "--noise 0.5: noise is a number of at least 0 and below 0.5"),
        (("--noise", "-0.1"), 2, "--noise -0.1: noise is a number of at least 0 and below 0.5"),
        (("--leaves", "best"), 2, "--leaves best: is not one of exact, theorem_a, canonical"),
        (("--folds", "60"), 1, "data: class 'no' has"),
        (("--target", "kind"), 1, "target 'kind': has 3 values ('0', '1', '2'), two are needed; say which"),
        (("--target", "z"), 1, "has no column 'z', named as the target"),
        (("other/data.csv",), 2, "two files are called 'data'; rename one"),
        (("gone.csv",), 1, "gone.csv: no such file"),
        (("--output", "data.csv"), 1, "data.csv: is a file; name a folder with --output"),
    ],
)
def test_bad_input_is_one_line(changes, code, message):
    output = invoke(*FAST, *changes, code=code)
    assert message in output
    assert "Traceback" not in output


def test_a_rule_makes_a_target_of_many_values_two_classes(folder):
    invoke(*FAST[:2], "kind", "--positive", ">=1", *FAST[3:], "--jobs", "1", "--output", "out")
    assert "kind" not in (folder / "out" / "cells.csv").read_text()


def test_without_t_one_the_command_says_that_nothing_is_tested(folder):
    output = invoke(*FAST, "--ts", "0.5", "--jobs", "1", "--output", "out")
    assert "--ts has no 1, so there is nothing to test the others against" in output
    assert (folder / "out" / "tests.csv").read_text().splitlines()[1:] == []
    assert "Nothing was compared" in (folder / "out" / "report.html").read_text()


def test_several_files_are_several_domains(folder):
    Path("second.csv").write_bytes(Path("data.csv").read_bytes())
    invoke(*FAST, "second.csv", "--jobs", "1", "--output", "out")
    assert pl.read_csv("out/table2.csv")["domains"].to_list() == [2] * 4
