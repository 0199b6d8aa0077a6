# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: a folder with a small table, and a model of it."""

import csv
import io
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from tadaboost.group import main

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


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with what `fit` made of `data.csv`."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "data.csv").write_text(text_of(rows()), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner().invoke(main, ["fit", "data.csv", "--target", "y", *FAST])
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def fitted(folder, made):
    shutil.copy(made / "data.tada", folder)
    return "data.tada"


def error_line(result):
    """The only line on standard error."""
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line.removeprefix("Error: ")
