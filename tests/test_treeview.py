# SPDX-License-Identifier: Apache-2.0
"""Trees for people: the text says exactly what the tree does, and nothing in a picture overlaps."""

from itertools import combinations

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
from click.testing import CliRunner
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier, load
from tadaboost.displays import TreeDisplay
from tadaboost.group import main
from tadaboost.treeview import export_text


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"date": rng.integers(20180101, 20181231, n) + 0.1, "size": rng.normal(3e10, 7, n)})
    X["kind"] = rng.choice(["ash", 'x"y', "elm, oak", "}"], n)
    X["flag"] = pd.Series(rng.choice([1, 2, 30], n), dtype="category")
    y = (X["size"] > 3e10) ^ X["kind"].isin(["ash", "}"])
    X.loc[::7, "date"] = np.nan
    X.loc[::9, "kind"] = None
    return X, np.where(rng.random(n) < 0.1, ~y, y)


def follow(text, row):
    """Take a row through the lines of a text, by their words alone; the value it ends with."""
    depth = 0
    for line in text.splitlines():
        bars, what = line.split("|--- ")
        if bars != "|   " * depth:
            continue
        if what.startswith("value "):
            return float(what.split()[1].rstrip(","))
        condition = what.removesuffix(" or missing")
        name, condition = condition.split(" ", 1)
        value = row[name]
        if value is None or value != value:
            goes = what != f"{name} {condition}"
        else:
            goes = eval(f"value {condition}")
        depth += goes
    raise AssertionError(f"no line takes {row}")


@pytest.mark.parametrize("make", [TAdaBoostClassifier, TemperedTreeClassifier])
def test_a_text_takes_every_row_to_the_value_of_its_leaf(make):
    X, y = data()
    model = make(max_leaf_nodes=None, min_samples_leaf=1).fit(X, y)
    tree = model.trees_[-1] if hasattr(model, "trees_") else model.tree_
    values = tree.value[model.apply(X).reshape(len(X), -1)[:, -1]]
    text = export_text(model, -1)
    for row, value in zip(X.to_dict("records"), values, strict=True):
        assert follow(text, row) == pytest.approx(value, rel=1e-5)
    assert "missing" in text


def test_a_text_knows_rows_classes_and_columns():
    X, y = np.arange(40.0)[:, None] ** 2, np.repeat(["ant", "bee", "cow"], [10, 10, 20])
    model = TAdaBoostClassifier(n_estimators=2, t=0.0).fit(X, y)
    assert export_text(model, label="cow", feature_names=["a\nb"]).splitlines() == [
        "|--- 'a\\nb' <= 380.5 or missing",
        "|   |--- value -0.869565, 20 rows",
        "|--- 'a\\nb' > 380.5",
        "|   |--- value 0.869565, 20 rows",
    ]
    assert export_text(model, 0, label="ant").startswith("|--- column 0 <= 90.5\n")
    assert export_text(model, 1, label="ant") == export_text(model, -1, label="ant")
    assert export_text(TAdaBoostClassifier().fit(X, [7] * 40)) == "|--- value -2, 40 rows\n"


def test_what_cannot_be_shown_is_refused():
    X, y = data()
    model = TAdaBoostClassifier(n_estimators=3).fit(X, y)
    with pytest.raises(IndexError, match=r"^index is 3, but the model has 3 rounds of trees$"):
        export_text(model, 3)
    with pytest.raises(ValueError, match=r"^feature_names has 1 names, but the model has 4 columns$"):
        TreeDisplay.from_estimator(model, feature_names=["a"])
    with pytest.raises(NotFittedError, match="not fitted"):
        export_text(TAdaBoostClassifier())
    three = TAdaBoostClassifier(n_estimators=1).fit(X, np.arange(300) % 3)
    with pytest.raises(ValueError, match=r"^label is 7; choose the class to show: \[0, 1, 2\]$"):
        export_text(three, label=7)
    linear = TAdaBoostClassifier(estimator=LogisticRegression(), n_estimators=1).fit(X[["size"]] - 3e10, y)
    with pytest.raises(AttributeError, match="no trees: it was fitted with estimator=LogisticRegression"):
        export_text(linear)


@pytest.mark.parametrize(("leaves", "small"), [(2, False), (2, True), (8, True), (20, False)])
def test_nothing_in_a_picture_overlaps_or_is_cut_off(leaves, small):
    X, y = data()
    X = X.rename(columns={"size": "a $ name $ that goes on and on and on", "kind": "$k$"})
    model = TAdaBoostClassifier(n_estimators=2, max_leaf_nodes=leaves, min_samples_leaf=1).fit(X, y)
    ax = pyplot.subplots(1, 2)[1][1] if small else None
    display = TreeDisplay.from_estimator(model, 1, ax=ax)
    canvas = display.figure_.canvas
    canvas.draw()
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in display.ax_.texts]
    assert len(boxes) == 2 * len(model.trees_[1].feature) - 1  # a node each, and a word a branch
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
    whole = display.figure_.bbox
    title = display.ax_.title if small else display.ax_._left_title
    for box in [*boxes, *([] if small else [title.get_window_extent()])]:
        assert whole.x0 <= box.x0 <= box.x1 <= whole.x1
        assert whole.y0 <= box.y0 <= box.y1 <= whole.y1
    written = "".join(text.get_text() for text in display.ax_.texts)
    assert "missing" in written
    assert "size" not in written


def test_a_picture_says_what_the_tree_does():
    X = np.array([[20180130.0], [20180131.0]] * 20)
    display = TreeDisplay.from_estimator(TAdaBoostClassifier(t=0.0).fit(X, ["no", "yes"] * 20))
    texts = [text.get_text() for text in display.ax_.texts]
    assert sorted(texts) == [
        "-0.87, 20 rows", "0.87, 20 rows", "column 0\n<= 20180130.5", "no", "yes, missing"
    ]  # fmt: skip
    assert display.ax_.get_title(loc="left") == "tree 0, coefficient 0.1; values above 0 speak for 'yes'"
    assert display.plot() is display
    tree = TreeDisplay.from_estimator(TemperedTreeClassifier().fit(X, ["no", "yes"] * 20))
    assert tree.ax_.get_title(loc="left") == "values above 0 speak for 'yes'"


@pytest.mark.parametrize("labels", [["no", "yes"], ["ant", "bee", "cow"]])
def test_the_command_line_prints_the_trees_of_a_round(tmp_path, monkeypatch, labels):
    monkeypatch.chdir(tmp_path)
    lines = [f"{i % 7},2020-01-{1 + i % 28:02d},{labels[i % 7 % len(labels)]}" for i in range(70)]
    (tmp_path / "d.csv").write_text("\n".join(["[a],day,y".replace("[a]", '"[a]"'), *lines]))
    run = CliRunner().invoke
    assert (
        run(main, ["fit", "d.csv", "--target", "y", "--folds", "0", "--set", "n_estimators=3"]).exit_code == 0
    )
    printed = run(main, ["inspect", "d.tada", "--tree", "1"]).stdout
    for label in labels[-1:] if len(labels) == 2 else labels:
        assert (
            f"Tree 1 (round 2 of 3), coefficient 0.1, values above 0 speak for {label}:\n|--- [a] <= "
            in printed
        )
        names = ["[a]", "day in days since 1970-01-01"]
        assert export_text(load("d.tada"), 1, label=label, feature_names=names) in printed
    assert "\n\n" not in printed
    assert run(main, ["inspect", "d.tada", "--tree", "0"]).stdout.startswith("Tree 0 (round 1 of 3), ")
    wrong = run(main, ["inspect", "d.tada", "--tree", "3"])
    assert (wrong.exit_code, "--tree 3: the trees are 0 to 2" in wrong.stderr) == (2, True)
    both = run(main, ["inspect", "d.tada", "--tree", "1", "--json"])
    assert (both.exit_code, "--tree prints text; leave out --json" in both.stderr) == (2, True)
