# SPDX-License-Identifier: Apache-2.0
import json
import shutil
import urllib.error
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from tadaboost import reproduce, study, studyfigures
from tadaboost.group import main
from tadaboost.reader import DataError
from tadaboost.reproduce import Source

UCI = Path(__file__).parents[2] / "shared" / "data" / "uci"

needs_uci = pytest.mark.skipif(not UCI.exists(), reason="the ten domains are not beside the checkout")


@pytest.fixture
def toys(monkeypatch, tmp_path):
    """Two small domains in the place of the ten, in the folder `data`."""
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    sources = {}
    for seed, name in enumerate(("first", "second")):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(70, 2))
        y = X[:, 0] + 0.5 * rng.normal(size=70) > 0
        frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": np.where(y, "p", "n")})
        frame.write_csv(f"data/{name}.csv")
        sources[name] = Source(name, "y", "in:p", 60, int(y[:60].sum()), 1, "class", "in:p")
    monkeypatch.setattr(reproduce, "SOURCES", sources)
    monkeypatch.setattr(studyfigures, "png", lambda rows: b"")
    monkeypatch.setattr(reproduce, "TREES", 2)
    monkeypatch.setattr(reproduce, "FOLDS", 3)
    return tmp_path


def invoke(*arguments, code=0):
    fixed = ("--data", "data", "--domains", "first,second", "--tables", "2", "--jobs", "1", "--output", "out")
    result = CliRunner().invoke(main, ["reproduce", *fixed, *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def test_the_paper_has_sixteen_cells_of_ten_domains():
    assert len(reproduce.PAPER_TABLE_2) == 16
    assert {sum(counts) for counts in reproduce.PAPER_TABLE_2.values()} == {10}
    assert reproduce.PAPER_TABLE_2[0.1, 0.6, True] == (1, 8, 1)


def test_the_grid_is_the_papers():
    cells = reproduce.grid(reproduce.TABLES, reproduce.SOURCES, ["theorem_a"], seed=0)
    main_cells = [cell for cell in cells if cell.experiment == "main"]
    assert len(main_cells) == 2 * (8 * 8 + 2 * 5)
    assert {(c.domain, c.max_leaf_nodes) for c in main_cells if c.max_leaf_nodes != 8} == {
        ("creditcard", 3),
        ("adult", 3),
    }
    assert {(c.n_trees, c.folds) for c in main_cells} == {(20, 10)}
    long = {
        (c.domain, c.n_trees, c.max_leaf_nodes, reproduce.clips(c)) for c in cells if c.experiment == "A16"
    }
    assert long == {
        ("winered", 150, 3, (True,)),
        ("sonar", 100, 3, (False, True)),
        ("qsar", 100, 3, (False, True)),
    }
    assert len(set(cells)) == len(cells)


def test_table_2_alone_needs_no_more_than_its_temperatures():
    cells = reproduce.grid(["2"], ["sonar"], ["canonical"], seed=0)
    assert [cell.t for cell in cells] == [0.6, 0.8, 0.9, 1.0, 1.1] * 2


def test_ranges_of_tables_are_read_and_others_refused():
    assert reproduce.read_tables("A16, 2,a4-A6") == ["2", "A4", "A5", "A6", "A16"]
    for text in ("A3", "", "A6-A4", "2,A17", "A4-"):
        with pytest.raises(ValueError, match="is no table; there are 1"):
            reproduce.read_tables(text)


@needs_uci
@pytest.mark.parametrize("name", reproduce.SOURCES)
def test_the_ten_domains_are_whole(name):
    domain = reproduce.load_domain(name, UCI)
    entry = {e["name"]: e for e in json.loads((UCI / "MANIFEST.json").read_text())["datasets"]}[name]
    assert (domain.X.height, domain.X.width) == (entry["paper"]["m"], entry["features"])
    assert int(domain.y.sum()) == reproduce.SOURCES[name].n_positive


@needs_uci
def test_a_file_with_another_hash_is_refused(tmp_path):
    shutil.copy(UCI / "MANIFEST.json", tmp_path)
    text = (UCI / "sonar.csv").read_text()
    (tmp_path / "sonar.csv").write_text(text.replace("0.0200", "0.0201", 1))
    with pytest.raises(DataError, match=r"sonar\.csv: is not the file of MANIFEST\.json"):
        reproduce.load_domain("sonar", tmp_path)


def test_only_the_first_rows_are_used(toys):
    assert reproduce.load_domain("first", Path("data")).X.height == 60


def test_a_domain_that_is_missing_or_damaged_is_named_and_the_others_go_on(toys):
    text = Path("data/second.csv").read_text().splitlines()
    faults = {
        None: "data/second.csv: no such file, and no second.csv.gz; the other domains go on",
        "\n".join(text[:40]): "second.csv: has 39 rows where the paper used 60; get the whole file",
        "\n".join([*text[:9], "1,2", *text[9:]]): "second.csv: line 10: 2 cells where the header has 3",
        "\n".join(text).replace(",p", ",q", 1): "rows are positive (y in:p) where the paper's",
    }
    for content, message in faults.items():
        Path("data/second.csv").unlink(missing_ok=True)
        if content is not None:
            Path("data/second.csv").write_text(content)
        output = invoke(code=1)
        assert message in output
        assert "1 of 2 domains are missing, see above" in output
        assert "Traceback" not in output
        table = pl.read_csv("out/table2.csv")
        assert set(table["domains"]) == {1}
        assert json.loads(Path("out/run.json").read_text())["faults"][0].startswith(
            ("data/second.csv", "second.csv")
        )
        assert "Not whole" in Path("out/report.html").read_text()


def test_no_domain_at_all_is_an_error(toys):
    shutil.rmtree("data")
    assert "data: there is no such folder" in invoke(code=1)
    Path("data").mkdir()
    assert "no domain could be read" in invoke(code=1)
    assert not Path("out").exists()


def test_without_a_network_the_line_says_where_data_may_come_from(toys, monkeypatch):
    def unreachable(**_):
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", unreachable)
    result = CliRunner().invoke(main, ["reproduce", "--domains", "first", "--tables", "2", "--output", "out"])
    assert result.exit_code == 1
    assert "first: cannot be fetched from OpenML (<urlopen error no route to host>); give" in result.output


def test_what_openml_sends_is_checked_like_a_file(toys, monkeypatch):
    pd = pytest.importorskip("pandas")

    class Bunch:
        frame = pd.read_csv("data/first.csv").rename(columns={"y": "class"})
        target = frame["class"]

    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: Bunch)
    ours, theirs = (reproduce.load_domain("first", folder) for folder in (Path("data"), None))
    assert ours.digest == theirs.digest
    Bunch.frame = Bunch.frame.head(50)
    with pytest.raises(DataError, match=r"first\.csv\.gz: has 50 rows where the paper used 60"):
        reproduce.load_domain("first", None)


def test_table_2_stands_beside_the_papers(toys):
    invoke("--seeds", "2")
    table = pl.read_csv("out/table2.csv")
    assert table.height == 32
    first = table.row(0, named=True)
    assert (first["noise"], first["t"], first["clip"]) == (0.0, 0.6, False)
    assert [first[f"{name}_paper"] for name in study.OUTCOMES] == [2, 5, 3]
    for name in study.OUTCOMES:
        assert (table[f"{name}_low"] <= table[name]).all()
        assert (table[name] <= table[f"{name}_high"]).all()
    tests = pl.read_csv("out/tests.csv")
    for row in table.iter_rows(named=True):
        key = pl.all_horizontal(pl.col(name) == row[name] for name in ("leaves", "noise", "t", "clip"))
        verdicts = tests.filter(key)["verdict"].to_list()
        assert [verdicts.count(name) for name in study.OUTCOMES] == [row[name] for name in study.OUTCOMES]
    run = json.loads(Path("out/run.json").read_text())
    assert run["seeds"] == [0, 1]
    assert set(pl.read_csv("out/cells.csv")["fold"]) == {1, 2, 3}  # of the first seed only


def test_the_papers_counts_are_in_range_only_if_all_three_are():
    def tests(n_better, n_worse):
        p = [0.01] * (n_better + n_worse) + [0.5] * (10 - n_better - n_worse)
        difference = [-0.1] * n_better + [0.1] * (10 - n_better)
        fixed = {"experiment": "main", "leaves": "x", "noise": 0.0, "t": 0.6, "clip": False}
        return pl.DataFrame(
            {"p_student": p, "p_student_holm": p, "p_corrected": p, "difference": difference}
        ).with_columns(**{name: pl.lit(value) for name, value in fixed.items()})

    paper = {(0.0, 0.6, False): (2, 5, 3)}
    inside = reproduce.table_2(tests(1, 4), [tests(3, 1), tests(2, 3)], paper)
    assert inside.select("better_low", "better_high", "paper_in_range").row(0) == (1, 3, True)
    outside = reproduce.table_2(tests(1, 4), [tests(1, 3)], paper)
    assert not outside["paper_in_range"].item()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (("--domains", "first,third"), "--domains third: is not one of first, second"),
        (("--tables", "A3"), "--tables: 'A3' is no table"),
        (("--leaves", "63"), "--leaves 63: is not one of exact, theorem_a, canonical"),
        (("--tables", "A16"), "none of the domains first, second is in the tables A16"),
    ],
)
def test_wrong_usage_is_one_line(toys, changes, message):
    assert message in invoke(*changes, code=2)
