# SPDX-License-Identifier: Apache-2.0
"""The tree vectors through the compiled tree, and that no vector of any file goes untested.

The scalar, projection and boosting vectors are read by the tests of `calculus`, `losses`, `measures` and
`boosting`. A threshold of the vectors lies between the values of a leaf, ours between those of the column:
what is compared is which rows go where. A node's number says in which order the leaves were split.
"""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from tadaboost import TemperedTreeClassifier, losses

from . import oracle, test_calculus, test_losses

NOT_APPLICABLE: dict[str, str] = {}  # record -> reason; none
COUNTS = {"scalars": 3692, "projections": 116, "boosting": 165, "trees": 66}


def tree_records():
    path = oracle.VECTORS / "trees.json"
    return oracle.read("trees")["records"] if path.exists() else []


def fitted(record):
    """The compiled tree of a record, the data, and the multiplicities."""
    X, y = np.array(record["X"], float), np.array(record["y"])
    w = np.ones(len(y)) if record["w"] is None else np.array(record["w"], float)
    model = TemperedTreeClassifier(
        record["t"],
        max_leaf_nodes=record["n_splits"] + 1,
        min_samples_leaf=0,
        growth="heaviest",
        allow_pure_leaves=False,
        leaf_values="theorem_a",
        categorical_features=record["categorical"] or None,
    ).fit(X, y, w)
    return model, X, y, w


@pytest.mark.parametrize("record", tree_records(), ids=lambda record: f"{record['name']}, t={record['t']}")
def test_the_compiled_tree_equals_the_vector(record):
    model, X, y, w = fitted(record)
    tree, want, tol, t = model.tree_, record["expect"], record["tol"], record["t"]
    assert [
        (node, tree.left[node], tree.right[node], tree.feature[node])
        for node in sorted(np.flatnonzero(tree.feature >= 0), key=lambda node: tree.left[node])
    ] == [(s["node"], s["left"], s["right"], s["feature"]) for s in want["splits"]]

    leaf_of = model.apply(X)
    assert {int(leaf) for leaf in leaf_of[w > 0]} == {leaf["node"] for leaf in want["leaves"]}
    share, risk = model.predict_proba(X)[:, -1], 0.0
    for leaf in want["leaves"]:
        node, rows = leaf["node"], np.flatnonzero((leaf_of == leaf["node"]) & (w > 0))
        assert rows.tolist() == leaf["rows"]
        positive, negative = (w[rows][y[rows] == label].sum() for label in (1, -1))
        oracle.assert_within(
            np.array([positive, negative]), oracle.numbers([leaf["w_pos"], leaf["w_neg"]]), tol, tol
        )
        oracle.assert_within(tree.mass[node], float(leaf["w_pos"]) + float(leaf["w_neg"]), tol, tol)
        if len(model.classes_) == 2:  # the sign of a single class is the class itself
            oracle.assert_within(tree.value[node], float(leaf["value"]), tol, tol)
            oracle.assert_within(share[rows], np.full(len(rows), float(leaf["p"])), tol, tol)
        else:
            assert abs(tree.value[node]) == abs(float(leaf["value"]))
        p = losses.inverse_link(tree.value[node], t)
        risk += tree.mass[node] / w.sum() * float(losses.bayes_risk(p, t))
    assert risk == pytest.approx(float(want["risk"]), abs=4 * tol * (1 + float(want["risk"])))  # (64)


@pytest.mark.parametrize("record", tree_records(), ids=lambda record: f"{record['name']}, t={record['t']}")
def test_the_compiled_splits_have_the_categories_and_the_gains_of_the_vector(record):
    model, X, y, w = fitted(record)
    tree, t = model.tree_, record["t"]
    # Fixed-point weights: whole ones are exact, others carry 2^-20 of the mean.
    near = 1e-12 if np.all(w == np.floor(w)) else 1e-5
    rows_of = [w > 0] + [None] * (len(tree.feature) - 1)
    for split in record["expect"]["splits"]:
        node, rows = split["node"], rows_of[split["node"]]
        if "right_categories" in split:
            right = tree.categories[tree.category_start[node] : tree.category_start[node + 1]]
            levels = np.unique(X[w > 0, split["feature"]])
            present = np.unique(X[rows, split["feature"]])
            assert sorted(set(levels[right]) & set(present)) == split["right_categories"]
            goes_right = np.isin(X[:, split["feature"]], split["right_categories"])
        else:
            goes_right = X[:, split["feature"]] >= split["threshold"]
            np.testing.assert_array_equal(
                (X[:, split["feature"]] > tree.threshold[node])[rows], goes_right[rows]
            )
        rows_of[split["left"]], rows_of[split["right"]] = rows & ~goes_right, rows & goes_right
        mass = w[rows].sum()
        before = mass * float(losses.bayes_risk(w[rows & (y == 1)].sum() / mass, t))
        assert tree.gain[node] == pytest.approx((before - float(split["loss"])) / w.sum(), abs=near)
        assert tree.gain[node] >= 0


def test_every_vector_is_tested():
    tables = oracle.scalar_tables()
    assert set(tables) == set(test_calculus.FUNCTIONS) | set(test_losses.FUNCTIONS)
    records = {name: oracle.read(name)["records"] for name in ("projections", "boosting", "trees")}
    assert {r["mu_rule"] for r in records["boosting"]} == {"closed", "exact"}
    counted = {"scalars": sum(map(len, tables.values()))} | {name: len(r) for name, r in records.items()}
    assert counted == COUNTS
    assert NOT_APPLICABLE == {}


# SHA-256 of the check and the vectors with which it passed; it takes half a minute and uses nothing of ours.
CHECKED = "0f706914d81db554bf0e517c9178af359ff3c90694267dd2241350a6231a1b82"


def test_the_vectors_survive_their_own_check_by_brute_force():
    script = oracle.VECTORS.parent / "selfcheck.py"
    if not script.exists():
        pytest.skip("the check of the vectors is not beside the repository")
    files = [script, *sorted(oracle.VECTORS.glob("*.json"))]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    if digest == CHECKED and "EXAMPLES" not in os.environ:  # which `.ci/nightly` sets
        return
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_only_a_non_contiguous_set_of_levels_keeps_both_leaves_impure():  # N7
    # Share of positives: A all, B half, C none. Sorted by it, {A | B, C} and {A, B | C} have a pure side.
    levels, y = [0.0, 0.0, 1.0, 1.0, 2.0, 2.0], [1, 1, 1, -1, -1, -1]
    X = np.array(levels)[:, None]
    rules = {"max_leaf_nodes": 2, "min_samples_leaf": 0, "categorical_features": [0]}
    impure = TemperedTreeClassifier(allow_pure_leaves=False, growth="heaviest", **rules).fit(X, y)
    assert impure.tree_.categories.tolist() == [1]  # B alone
    free = TemperedTreeClassifier(**rules).fit(X, y)
    assert free.tree_.categories.tolist() in ([1, 2], [2])
    assert free.tree_.gain[0] > impure.tree_.gain[0]
    assert impure.tree_.gain[0] == pytest.approx(0.0, abs=1e-12)
