# SPDX-License-Identifier: Apache-2.0
"""monotonic_cst and interaction_cst: kept in every tree and at every stage, or refused."""

import itertools
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

import tadaboost
from tadaboost import TAdaBoostClassifier, constraints
from tadaboost.group import main

NAMES = ["town", "up", "down", "free"]


def table(n=240, seed=0):
    """Categories, then a column to rise in, one to fall in, one without order; labels often disagree."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)).round(1), columns=NAMES[1:]).mask(rng.random((n, 3)) < 0.1)
    X.insert(0, "town", rng.choice(list("abcd"), n))
    wave = np.sin(3 * X["up"]) + np.cos(3 * X["down"]) * (X["town"] == "a") + X["up"] * X["free"]
    return X, (np.nan_to_num(wave) + 0.5 * rng.normal(size=n) > 0).astype(int)


def along(X, column, n=40):
    """The first rows of X, each with a grid of values of one column, beyond the training ones too."""
    grid = np.concatenate([[-1e9], np.linspace(-4, 4, n - 2), [1e9]])
    rows = X.head(25).loc[np.repeat(X.index[:25], n)].reset_index(drop=True)
    rows[column] = np.tile(grid, 25)
    return rows, n


def largest_breach(model, X, column, sign):
    """How far the score of some stage falls as the column rises (sign 1), or rises (sign -1)."""
    rows, n = along(X, column)
    return max(
        -(sign * np.diff(score.reshape(-1, n), axis=1)).min()
        for score in model.staged_decision_function(rows)
    )


@pytest.mark.parametrize("t", [0.0, 0.7, 1.0, 1.3])
@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"clip": True, "learning_rate": 1.0, "min_samples_leaf": 0, "leaf_ridge": 0.0},
        {"leaf_values": "theorem_a", "leveraging": "closed", "growth": "heaviest", "clip": True},
        {"leaf_values": "canonical", "leveraging": "exact", "learning_rate": 1.0, "allow_pure_leaves": False},
        {"subsample": 0.5, "colsample": 0.5, "max_leaf_nodes": None, "random_state": 0},
    ],
    ids=["defaults", "clipped", "theorem_a", "canonical", "drawn"],
)
def test_46_the_score_is_monotone_at_every_stage(t, rules):
    X, y = table()
    settings = {"n_estimators": 15, **rules}
    model = TAdaBoostClassifier(t, monotonic_cst={"up": 1, "down": -1}, **settings).fit(X, y)
    assert {NAMES.index("up"), NAMES.index("down")} <= {f for tree in model.trees_ for f in tree.feature}
    assert largest_breach(model, X, "up", 1) <= 0.0
    assert largest_breach(model, X, "down", -1) <= 0.0
    direction = np.array([0, 1, -1, 0], np.int8)
    assert {constraints.broken(tree, direction, None) for tree in model.trees_} == {None}
    assert "monotonic_cst" in {constraints.broken(tree, -direction, None) for tree in model.trees_}
    free = TAdaBoostClassifier(t, **settings).fit(X, y)
    assert max(largest_breach(free, X, "up", 1), largest_breach(free, X, "down", -1)) > 0.1
    assert np.isfinite(model.decision_function(X)).all()


def test_a_constraint_that_the_data_has_costs_no_fit():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 2))
    y = rng.random(2000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    model = TAdaBoostClassifier(monotonic_cst=[1, 0]).fit(X, y)
    against = TAdaBoostClassifier(monotonic_cst=[-1, 0]).fit(X, y)
    assert model.score(X, y) > 0.75
    assert against.rounds_["loss"][-1] > 0.9 > model.rounds_["loss"][-1]


def test_no_step_goes_against_the_order():
    """Where all that the data says is against it, the prior remains."""
    X, y = np.arange(40.0)[:, None], np.arange(40) >= 25
    model = TAdaBoostClassifier(monotonic_cst=[-1]).fit(X, y)
    assert (model.n_iter_, model.stop_reason_) == (1, "no split")
    np.testing.assert_allclose(model.predict_proba(X), [[25 / 40, 15 / 40]] * 40)


@pytest.mark.parametrize("leveraging", ["unit", "closed", "exact"])
def test_a_tree_of_negative_edge_is_a_step_of_zero(monkeypatch, leveraging):
    X, y = table()
    # No data is known to bring it about.
    monkeypatch.setattr(constraints, "in_order", lambda values, *_: -values)
    model = TAdaBoostClassifier(leveraging=leveraging, monotonic_cst={"up": 1}).fit(X, y)
    assert (model.n_iter_, model.stop_reason_) == (1, "edge zero")
    assert model.trees_[0].feature.tolist() == [-1]


def test_leaf_values_come_into_order_and_stay_within_their_range():
    rng = np.random.default_rng(2)
    feature = np.array([0, 1, 0, -1, -1, -1, -1], np.int32)
    left, right = (
        np.array(side, np.int32) for side in ([1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1])
    )
    leaves = np.array([3, 4, 5, 6], np.int32)
    for direction in itertools.product([-1, 0, 1], repeat=2):
        values, weight = rng.normal(size=4), rng.random(4)
        a, b, c, d = constraints.in_order(values, weight, leaves, (feature, left, right), np.array(direction))
        if direction[0]:
            pairs = [(p * direction[0], q * direction[0]) for p in (a, b) for q in (c, d)] + [
                (c, d)[:: direction[0]]
            ]
            assert all(p <= q for p, q in pairs)
        if direction[1]:
            assert (b - a) * direction[1] >= 0
        assert values.min() <= min(a, b, c, d) <= max(a, b, c, d) <= values.max()
    ordered = np.array([-2.0, -1.0, 1.0, 1.0])
    nodes = (feature, left, right)
    np.testing.assert_array_equal(
        constraints.in_order(ordered, np.ones(4), leaves, nodes, np.array([1, 1])), ordered
    )
    np.testing.assert_array_equal(
        constraints.in_order(np.array([3.0, -1.0, 0.0, 1.0]), np.zeros(4), leaves, nodes, np.array([0, 0])),
        [3.0, -1.0, 0.0, 1.0],
    )


def trees_of(model):
    return model.trees_ if len(model.classes_) == 2 else list(itertools.chain.from_iterable(model.trees_))


def same(a, b):
    """The same model, bit for bit."""
    one, two = ([part.tobytes() for tree in trees_of(model) for part in tree] for model in (a, b))
    return one == two and a.rounds_.tobytes() == b.rounds_.tobytes()


def paths(tree, node=0, asked=frozenset()):
    """The sets of columns that the paths of a tree ask about."""
    if tree.feature[node] < 0:
        yield asked
        return
    for child in (tree.left[node], tree.right[node]):
        yield from paths(tree, child, asked | {int(tree.feature[node])})


@pytest.mark.parametrize(
    ("interaction_cst", "sets"),
    [
        ("no_interactions", [{0}, {1}, {2}, {3}]),
        ("pairwise", [set(pair) for pair in itertools.combinations(range(4), 2)]),
        ([{0, 1}, (1, 2)], [{0, 1}, {1, 2}, {3}]),
        ([["town", "up"]], [{0, 1}, {2, 3}]),
        ([["down", 3], {"up"}, np.array([3, 0])], [{2, 3}, {1}, {0, 3}]),
    ],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_path_keeps_to_one_set_of_columns(interaction_cst, sets, n_classes):
    X, y = table()
    y = np.where(X["free"] > 1, n_classes - 1, y)
    model = TAdaBoostClassifier(interaction_cst=interaction_cst, n_estimators=20).fit(X, y)
    found = {path for tree in trees_of(model) for path in paths(tree)}
    assert all(any(path <= allowed for allowed in sets) for path in found)
    assert max(map(len, found)) == max(map(len, sets))  # what is allowed is done, too
    free = trees_of(TAdaBoostClassifier(n_estimators=20).fit(X, y))
    assert not all(any(path <= allowed for allowed in sets) for tree in free for path in paths(tree))


@pytest.mark.parametrize(
    "given", ["pairwise", "no_interactions", [], [{0, 1}], [(3, 0), {0, 2}, [2]], [{0, 1, 2, 3}]]
)
@pytest.mark.parametrize("n_columns", [4, 6])
def test_sets_of_columns_are_those_of_scikit_learn(given, n_columns):
    theirs = HistGradientBoostingClassifier(interaction_cst=given)._check_interaction_cst(n_columns)
    assert [set(group.tolist()) for group in constraints.groups(given, None, n_columns)] == theirs


@pytest.mark.parametrize(
    "neutral",
    [
        {"monotonic_cst": [0, 0, 0, 0]},
        {"monotonic_cst": {"up": 0}},
        {"monotonic_cst": {}},
        {"interaction_cst": [{0, 1, 2, 3}]},
        {"interaction_cst": []},
        {"subsample": 1, "colsample": 1.0, "random_state": 5},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_45_a_parameter_at_its_neutral_value_changes_nothing(neutral, n_classes):
    X, y = table()
    y = np.where(X["free"] > 1, n_classes - 1, y)
    plain = TAdaBoostClassifier(n_estimators=5).fit(X, y)
    assert same(plain, TAdaBoostClassifier(n_estimators=5, **neutral).fit(X, y))


def test_names_and_positions_say_the_same():
    X, y = table()
    by_name = TAdaBoostClassifier(n_estimators=5, monotonic_cst={"down": -1, "up": 1}).fit(X, y)
    for other in ([0, 1, -1, 0], np.array([0.0, 1.0, -1.0, 0.0]), pd.Series([0, 1, -1, 0])):
        assert same(by_name, TAdaBoostClassifier(n_estimators=5, monotonic_cst=other).fit(X, y))
    assert not same(by_name, TAdaBoostClassifier(n_estimators=5, monotonic_cst=[0, 1, 0, 0]).fit(X, y))


ERRORS = [
    (
        {"monotonic_cst": [1, 0]},
        r"^monotonic_cst has shape \(2,\); it needs a value for each of the 4 columns$",
    ),
    ({"monotonic_cst": [[0, 1, 0, 0]]}, r"^monotonic_cst has shape \(1, 4\)"),
    (
        {"monotonic_cst": pd.Series({"up": 1, "down": -1, "a": 0, "b": 0})},
        r"^monotonic_cst is a Series with names, which would be read by position; take its to_dict\(\)$",
    ),
    ({"monotonic_cst": [0, 2, 0, 0]}, r"^monotonic_cst is 2 for column 'up'; it must be -1, 0 or 1$"),
    ({"monotonic_cst": [0, np.nan, 0, 0]}, r"^monotonic_cst is nan for column 'up'; it must be"),
    ({"monotonic_cst": {"up": "rising"}}, r"^monotonic_cst is 'rising' for column 'up'; it must be"),
    ({"monotonic_cst": {"upp": 1}}, r"^monotonic_cst names column 'upp', which X does not have$"),
    ({"monotonic_cst": {1: 1}}, r"^monotonic_cst lists 1, which is no column of X$"),
    (
        {"monotonic_cst": {"town": -1}},
        r"^monotonic_cst is -1 for column 'town', which is categorical: its levels",
    ),
    ({"interaction_cst": [{0, 4}]}, r"^interaction_cst lists column 4, but X has 4 columns, counted from 0$"),
    ({"interaction_cst": [{-1}]}, r"^interaction_cst lists column -1, but X has 4 columns"),
    ({"interaction_cst": [{"upp"}]}, r"^interaction_cst names column 'upp', which X does not have$"),
    ({"interaction_cst": [{0.5}]}, r"^interaction_cst lists 0\.5, which is no column of X$"),
    ({"interaction_cst": [{True}]}, r"^interaction_cst lists True, which is no column of X$"),
    (
        {"interaction_cst": [0, 1]},
        r"^interaction_cst holds 0; it must hold lists, tuples or sets of columns$",
    ),
    ({"interaction_cst": ["up"]}, r"^interaction_cst holds 'up'; it must hold lists, tuples or sets"),
    ({"interaction_cst": "triples"}, r"^The 'interaction_cst' parameter of TAdaBoostClassifier must be"),
    (
        {"subsample": 0.0},
        r"^The 'subsample' parameter of TAdaBoostClassifier must be .* range \(0\.0, 1\.0\]",
    ),
    (
        {"colsample": 1.5},
        r"^The 'colsample' parameter of TAdaBoostClassifier must be .* range \(0\.0, 1\.0\]",
    ),
]


@pytest.mark.parametrize(("parameters", "message"), ERRORS, ids=[str(given) for given, _ in ERRORS])
def test_a_wrong_value_is_refused_in_one_line_and_an_earlier_fit_stays(parameters, message):
    X, y = table()
    model = TAdaBoostClassifier(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match=message) as caught:
        model.set_params(**parameters).fit(X, y)
    assert "\n" not in str(caught.value)
    assert model.n_iter_ == 2


def test_names_need_names():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), [0, 1] * 10
    with pytest.raises(
        ValueError, match=r"^monotonic_cst is a dict, but X has no column names; give a value for"
    ):
        TAdaBoostClassifier(monotonic_cst={"up": 1}).fit(X, y)
    with pytest.raises(
        ValueError, match=r"^interaction_cst names column 'up', but X has no column names; give its"
    ):
        TAdaBoostClassifier(interaction_cst=[{"up"}]).fit(X, y)
    with pytest.raises(ValueError, match=r"^monotonic_cst is 7 for column 1; it must be -1, 0 or 1$"):
        TAdaBoostClassifier(monotonic_cst=[0, 7]).fit(X, y)


def test_an_order_needs_two_classes():
    X, y = table()
    y = np.where(X["free"] > 1, 2, y)
    with pytest.raises(
        ValueError, match=r"^monotonic_cst is for two classes, but y has 3; take monotonic_cst=None$"
    ):
        TAdaBoostClassifier(monotonic_cst={"up": 1}).fit(X, y)
    one = TAdaBoostClassifier(monotonic_cst={"up": 1}, subsample=0.5).fit(X, np.zeros(len(X)))
    assert one.predict(X).tolist() == [0.0] * len(X)


@pytest.mark.parametrize(
    "parameters",
    [{"monotonic_cst": [1, 0]}, {"interaction_cst": "pairwise"}, {"subsample": 0.5}, {"colsample": 0.5}],
    ids=str,
)
def test_a_weak_learner_of_another_kind_takes_none_of_these(parameters):
    X, y = np.random.default_rng(0).normal(size=(20, 2)), [0, 1] * 10
    (name,) = parameters
    model = TAdaBoostClassifier(estimator=DecisionTreeClassifier(max_depth=1), n_estimators=2, **parameters)
    with pytest.raises(
        ValueError, match=rf"^{name} is about trees, whose place estimator= takes; give one of"
    ):
        model.fit(X, y)
    neutral = {"monotonic_cst": [0, 0], "interaction_cst": None, "subsample": 1.0, "colsample": 1.0}
    model.set_params(**neutral).fit(X, y)


def test_a_warm_start_keeps_to_constraints_in_its_earlier_rounds_too(tmp_path):
    X, y = table()
    rules = {"monotonic_cst": {"up": 1, "down": -1}, "interaction_cst": [{"up", "town"}, frozenset({1, 2})]}
    one = TAdaBoostClassifier(n_estimators=8, **rules).fit(X, y)
    model = TAdaBoostClassifier(n_estimators=3, warm_start=True, **rules).fit(X, y)
    tadaboost.save(model, tmp_path / "m.tada")
    loaded = tadaboost.load(tmp_path / "m.tada")
    assert loaded.monotonic_cst == rules["monotonic_cst"]
    assert sorted(map(sorted, loaded.interaction_cst), key=str) == [["town", "up"], [1, 2]]
    assert same(one, loaded.set_params(n_estimators=8).fit(X, y))
    free = TAdaBoostClassifier(n_estimators=3, warm_start=True).fit(X, y).set_params(n_estimators=4)
    for name, value in rules.items():
        match = rf"^warm_start goes on with an earlier fit, whose trees do not keep to {name}$"
        with pytest.raises(ValueError, match=match):
            pickle.loads(pickle.dumps(free)).set_params(**{name: value}).fit(X, y)


def test_a_turned_tree_is_no_step_that_a_warm_start_takes():
    X, y = table()
    model = TAdaBoostClassifier(n_estimators=3, warm_start=True, monotonic_cst={"up": 1}).fit(X, y)
    model.rounds_["alpha"][1] *= -1
    with pytest.raises(ValueError, match=r"whose trees do not keep to monotonic_cst$"):
        model.set_params(n_estimators=4).fit(X, y)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The command line in a folder with data.csv, of columns whose names need quotes."""
    monkeypatch.chdir(tmp_path)
    X, y = table(120)
    X.rename(columns={"free": "a,b:c"}).assign(y=y).to_csv("data.csv", index=False)

    def invoke(*arguments, code=0):
        result = CliRunner().invoke(main, list(arguments))
        assert result.exit_code == code, result.output
        return result

    return invoke


def test_the_command_line_takes_constraints_and_draws(run):
    settings = ["n_estimators=5", "subsample=.5", "colsample=.5", 'monotonic_cst=up:1,down:-1, "a,b:c:0"']
    pairs = [part for text in [*settings, 'interaction_cst=up,town;"a,b:c",down'] for part in ("--set", text)]
    run("fit", "data.csv", "--target", "y", "--folds", "0", *pairs)
    model = tadaboost.load("data.tada")
    assert (model.subsample, model.colsample) == (0.5, 0.5)
    assert model.monotonic_cst == {"up": 1, "down": -1, "a,b:c": 0}
    assert model.interaction_cst == [["up", "town"], ["a,b:c", "down"]]
    shown = run("inspect", "data.tada").stdout
    assert "{'up': 1, 'down': -1, 'a,b:c': 0}" in shown
    again = json.loads(run("inspect", "data.tada", "--json").stdout)["settings"]
    assert again["interaction_cst"] == model.interaction_cst
    run("predict", "data.tada", "data.csv")
    words = ("--set", "interaction_cst=no_interactions", "--set", "monotonic_cst=none")
    run("fit", "data.csv", "--target", "y", "--folds", "0", "--set", "n_estimators=2", *words)
    model = tadaboost.load("data.tada")
    assert (model.interaction_cst, model.monotonic_cst) == ("no_interactions", None)


@pytest.mark.parametrize("text", ["up", "up:2", ":1", "", "1,0,0", "up:1,down"])
def test_a_setting_that_names_no_column_and_sign_is_wrong_usage(run, text):
    result = run("fit", "data.csv", "--target", "y", "--set", f"monotonic_cst={text}", code=2)
    assert f"--set monotonic_cst={text}: must be COLUMN:1 (rising) or COLUMN:-1" in result.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("monotonic_cst=left:1", "monotonic_cst names column 'left', which X does not have"),
        (
            "monotonic_cst=town:1",
            "monotonic_cst is 1 for column 'town', which is categorical: its levels have",
        ),
        ("interaction_cst=up,left", "interaction_cst names column 'left', which X does not have"),
    ],
)
def test_a_setting_that_does_not_fit_the_file_is_the_files_fault(run, text, message):
    result = run("fit", "data.csv", "--target", "y", "--folds", "0", "--set", text, code=1)
    assert f"Error: data.csv: {message}" in " ".join(result.stderr.split())
