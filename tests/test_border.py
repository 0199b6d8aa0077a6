# SPDX-License-Identifier: Apache-2.0
"""The border of the compiled core (`_core`): what it refuses, and how; nothing passed to it is a crash."""

import math

import numpy as np
import pytest

from tadaboost import _core

from .shards import TS, grower_of, random_table, shard_of


def arguments(**changed):
    """Arguments of a good Shard of two columns and four rows, some of them replaced."""
    good = {
        "codes": np.array([[0, 1, 2, 1], [0, 0, 1, 1]], np.uint8),
        "n_codes": np.array([3, 2]),
        "is_categorical": np.zeros(2, bool),
        "positive": np.array([True, False, True, False]),
        "multiplicity": None,
        "count": None,
        "whole": True,
        "t": 0.5,
        "n_threads": 1,
    }
    return good | changed


def weights(*values):
    return {"multiplicity": np.array(values, np.float64), "count": np.ones(4, np.uint64)}


CODES = arguments()["codes"]


@pytest.mark.parametrize(
    "changed",
    [
        {"codes": CODES.astype(np.int64)},
        {"codes": CODES.astype(np.int8)},
        {"codes": CODES.astype(np.float64)},
        {"codes": np.asfortranarray(CODES)},
        {"codes": CODES[0]},
        {"codes": np.repeat(CODES, 2, axis=1)[:, ::2]},
        {"codes": CODES.tolist()},
        {"codes": None},
        {"n_codes": np.array([3, 2], np.int32)},
        {"n_codes": np.array([[3, 2]])},
        {"is_categorical": np.zeros(2, np.uint8)},
        {"positive": np.ones(4, np.int64)},
        {"positive": np.ones(8, bool)[::2]},
        {"multiplicity": np.ones(4, np.float32), "count": np.ones(4, np.uint64)},
        {"multiplicity": np.ones(4), "count": np.ones(4, np.int64)},
        {"t": "0.5"},
        {"n_threads": -1},
        {"n_threads": 1.5},
    ],
    ids=str,
)
def test_a_shard_of_the_wrong_type_or_layout_is_a_type_error(changed):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.Shard(**arguments(**changed))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_codes": np.array([], np.int64)}, "n_codes: needs one column at least"),
        ({"n_codes": np.array([3, 2, 2])}, "is_categorical: must be as long as n_codes"),
        ({"is_categorical": np.zeros(3, bool)}, "is_categorical: must be as long as n_codes"),
        ({"n_codes": np.array([3, 1])}, "n_codes: each column has a value and a missing code at least"),
        (
            {"n_codes": np.array([3, -(2**63)])},
            "n_codes: each column has a value and a missing code at least",
        ),
        ({"n_codes": np.array([3, 257])}, "no more than its type holds"),
        ({"codes": CODES[:1]}, "codes: needs a row for each entry of n_codes"),
        ({"codes": CODES[:0]}, "codes: needs a row for each entry of n_codes"),
        ({"positive": np.ones(5, bool)}, "positive: must be as long as a column of codes"),
        ({"codes": CODES[:, :0].copy()}, "positive: must be as long as a column of codes"),
        ({"t": 2.0}, "t: must be finite and below 2"),
        ({"t": math.nan}, "t: must be finite and below 2"),
        ({"t": -math.inf}, "t: must be finite and below 2"),
        ({"multiplicity": np.ones(4)}, "count: comes with multiplicity"),
        ({"count": np.ones(4, np.uint64)}, "count: comes with multiplicity"),
        ({"multiplicity": np.ones(3), "count": np.ones(4, np.uint64)}, "multiplicity: must be as long"),
        ({"multiplicity": np.ones(4), "count": np.ones(3, np.uint64)}, "multiplicity: must be as long"),
        (weights(1, -1, 1, 1), "multiplicity: must be finite, >= 0"),
        (weights(1, math.nan, 1, 1), "multiplicity: must be finite, >= 0"),
        (weights(1, math.inf, 1, 1) | {"whole": False}, "multiplicity: must be finite, >= 0"),
        (weights(1, 0.5, 1, 1), "whole and at most 2\\^31 if it is said to be whole"),
        (weights(1, 2.0**31 + 1, 1, 1), "whole and at most 2\\^31 if it is said to be whole"),
        ({"codes": CODES + 1}, "codes: outside n_codes"),
        ({"codes": CODES + np.uint16(65530)}, "codes: outside n_codes"),
    ],
    ids=str,
)
def test_a_shard_that_does_not_fit_together_is_a_value_error(changed, message):
    with pytest.raises(ValueError, match=message):
        _core.Shard(**arguments(**changed))


def prepared():
    """A shard with nodes 0, 1, 2 of four rows, its leaves gathered."""
    shard = _core.Shard(**arguments())
    shard.begin_tree(10)
    shard.split(0, 1, 2, 0, np.array([1, 0, 0], np.uint8))
    shard.leaf_extremes(LEAVES)
    return shard


LEAVES = np.array([1, 2], np.int32)
TEN = np.full((2, 2), 10, np.int32)
CAPS = np.ones((2, 2))
VALUES = np.array([0.5, -0.5])
TABLE = np.ones((2, 2, 5))
SIDES = np.array([1, 0, 0], np.uint8)


def call(shard, method, args):
    """Call a method of the shard, or the function of the core that takes it first."""
    if method in ("solve_leaves", "solve_step"):
        return getattr(_core, method)(shard, *args)
    return getattr(shard, method)(*args)


def ids(*nodes):
    return np.array(nodes, np.int32)


@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("histogram", ("0",)),
        ("histogram", (2**40,)),
        ("begin_tree", (1.5,)),
        ("split", (1, 3, 4, 0, SIDES.astype(bool))),
        ("split", (1, 3, 4, -1, SIDES)),
        ("split", (1, 3, 4, 0, np.ones(6, np.uint8)[::2])),
        ("leaf_extremes", (LEAVES.astype(np.int64),)),
        ("leaf_extremes", ([1, 2],)),
        ("leaf_extremes", (np.arange(4, dtype=np.int32)[::2],)),
        ("leaf_sums", (LEAVES, TEN.astype(np.int64))),
        ("leaf_sums", (LEAVES, 10)),
        ("leaf_sums", (LEAVES, np.asfortranarray(np.array([[1, 2], [3, 4]], np.int32)))),
        ("trial", (LEAVES, VALUES.astype(np.float32), TEN, TEN, CAPS)),
        ("trial", (LEAVES, VALUES, TEN, TEN, CAPS.tolist())),
        ("step", (LEAVES, [0.5, 0.5], 1.0, 1.0, 10, 10)),
        ("step", (LEAVES, VALUES, 1.0, 1.0, 10.5, 10)),
        ("solve_leaves", (LEAVES, TABLE[0], 0.0, 1.0, 1.0)),
        ("solve_step", (LEAVES, VALUES, TABLE.astype(np.float32), 0.0, 1.0, 1.0)),
    ],
)
def test_a_call_of_the_wrong_type_or_layout_is_a_type_error(method, args):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        call(prepared(), method, args)


@pytest.mark.parametrize(
    ("method", "args", "message"),
    [
        ("begin_tree", (1021,), "exponent: must be within -1020..1020"),
        ("begin_tree", (-1021,), "exponent: must be within -1020..1020"),
        ("begin_tree", (32,), "exponent: fixed-point weights must stay within 2\\^31"),
        ("histogram", (3,), "node: no such node in this shard"),
        ("histogram", (-1,), "node: no such node in this shard"),
        ("split", (3, 4, 5, 0, SIDES), "node: no such node in this shard"),
        ("split", (-1, 3, 4, 0, SIDES), "node: no such node in this shard"),
        ("split", (0, 3, 4, 0, SIDES), "node: was split already"),
        ("split", (1, 2, 3, 0, SIDES), "left, right: must be the next two nodes"),
        ("split", (1, 3, 3, 0, SIDES), "left, right: must be the next two nodes"),
        ("split", (1, 2**31 - 1, -(2**31), 0, SIDES), "left, right: must be the next two nodes"),
        ("split", (1, 2**30, 2**30 + 1, 0, SIDES), "left, right: must be the next two nodes"),
        ("split", (1, 3, 4, 2, SIDES), "column: no such column"),
        ("split", (1, 3, 4, 1, SIDES), "goes_left: needs an entry a code of the column"),
        ("split", (1, 3, 4, 0, SIDES * 2), "goes_left: entries are 0 and 1"),
        ("leaf_extremes", (ids(1, 3),), "leaves: no such node in this shard"),
        ("leaf_extremes", (ids(-1),), "leaves: no such node in this shard"),
        ("leaf_extremes", (ids(1, 1),), "leaves: must be increasing"),
        ("leaf_extremes", (ids(2, 1),), "leaves: must be increasing"),
        ("leaf_extremes", (ids(0),), "leaves: a node that was split is none"),
        ("leaf_sums", (ids(7), TEN[:1]), "leaves: no such node in this shard"),
        ("leaf_sums", (LEAVES, TEN[:1]), "exponent: shape must be \\(leaves, 2\\)"),
        ("leaf_sums", (LEAVES, TEN.reshape(1, 4)), "exponent: shape must be \\(leaves, 2\\)"),
        ("leaf_sums", (LEAVES, TEN * 200), "exponent: must be within -1020..1020"),
        ("trial", (LEAVES, VALUES[:1], TEN, TEN, CAPS), "value: must be as long as leaves"),
        ("trial", (LEAVES, VALUES * math.inf, TEN, TEN, CAPS), "value: must be finite"),
        ("trial", (LEAVES, VALUES, TEN[:1], TEN, CAPS), "exponent: shape must be \\(leaves, 2\\)"),
        ("trial", (LEAVES, VALUES, TEN, TEN * 200, CAPS), "exponent: must be within -1020..1020"),
        ("trial", (LEAVES, VALUES, TEN, TEN, CAPS[:1]), "slope_cap: shape must be \\(leaves, 2\\)"),
        ("step", (LEAVES, VALUES[:1], 1.0, 1.0, 10, 10), "value: must be as long as leaves"),
        ("step", (LEAVES, VALUES * math.nan, 1.0, 1.0, 10, 10), "value: must be finite"),
        ("step", (LEAVES, VALUES, math.inf, 1.0, 10, 10), "value: must be finite, times alpha too"),
        ("step", (LEAVES, VALUES * 1e200, 1e200, 1.0, 10, 10), "value: must be finite, times alpha too"),
        ("step", (LEAVES, VALUES, 1.0, 0.0, 10, 10), "clip: must be positive"),
        ("step", (LEAVES, VALUES, 1.0, math.nan, 10, 10), "clip: must be positive"),
        ("step", (LEAVES, VALUES, 1.0, 1.0, 1021, 10), "exponent: must be within -1020..1020"),
        ("step", (LEAVES, VALUES, 1.0, 1.0, 10, -1021), "exponent: must be within -1020..1020"),
        ("step", (LEAVES[:1], VALUES[:1], 1.0, 1.0, 10, 10), "leaves: a step needs all leaves of the tree"),
        ("step", (LEAVES[:0], VALUES[:0], 1.0, 1.0, 10, 10), "leaves: a step needs all leaves of the tree"),
        ("solve_leaves", (ids(9), TABLE[:1], 0.0, 1.0, 1.0), "leaves: no such node in this shard"),
        ("solve_leaves", (LEAVES, TABLE[:1], 0.0, 1.0, 1.0), "table: shape must be"),
        ("solve_leaves", (LEAVES, np.ones((2, 2, 4)), 0.0, 1.0, 1.0), "table: shape must be"),
        ("solve_leaves", (LEAVES, TABLE, -1.0, 1.0, 1.0), "ridge: must be finite and >= 0"),
        ("solve_leaves", (LEAVES, TABLE, 0.0, 0.0, 1.0), "cap: must be positive"),
        ("solve_leaves", (LEAVES, TABLE, 0.0, 1.0, math.inf), "most_multiplicity: must be finite"),
        ("solve_step", (LEAVES, VALUES[:1], TABLE, 0.0, 1.0, 1.0), "value: must be as long as leaves"),
        ("solve_step", (LEAVES, VALUES, TABLE[:1], 0.0, 1.0, 1.0), "table: shape must be"),
        ("solve_step", (LEAVES, VALUES, TABLE, 0.0, math.nan, 1.0), "cap: must be positive"),
        ("solve_step", (LEAVES, VALUES, TABLE, 0.0, 1.0, 0.0), "most_multiplicity: must be finite"),
    ],
)
def test_a_call_that_does_not_fit_the_shard_is_a_value_error(method, args, message):
    shard = prepared()
    before = shard.leaf_sums(LEAVES, TEN).tolist(), shard.log_weights().tolist()
    with pytest.raises(ValueError, match=message):
        call(shard, method, args)
    assert (shard.leaf_sums(LEAVES, TEN).tolist(), shard.log_weights().tolist()) == before


@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("histogram", (0,)),
        ("split", (0, 1, 2, 0, SIDES)),
        ("leaf_extremes", (ids(0),)),
        ("leaf_sums", (ids(0), TEN[:1])),
        ("step", (ids(0), VALUES[:1], 1.0, 1.0, 10, 10)),
    ],
)
def test_a_shard_has_no_nodes_before_a_tree_begins(method, args):
    with pytest.raises(ValueError, match="no such node in this shard"):
        getattr(_core.Shard(**arguments()), method)(*args)


BEFORE = {
    "nothing": lambda shard: shard.begin_tree(10),
    "a split": lambda shard: shard.split(2, 3, 4, 0, SIDES),
    "a step": lambda shard: shard.step(LEAVES, VALUES, 1.0, 9.0, 10, 10),
}


@pytest.mark.parametrize("between", BEFORE)
def test_sums_need_the_extremes_of_the_same_leaves_just_before(between):
    """Sums read states that leaf_extremes put in order; what uses that memory, or moves rows, ends it."""
    shard = prepared()
    BEFORE[between](shard)
    leaf = ids(0) if between == "nothing" else ids(1)
    calls = {
        "leaf_sums": (leaf, TEN[:1]),
        "trial": (leaf, VALUES[:1], TEN[:1], TEN[:1], CAPS[:1]),
        "solve_leaves": (leaf, TABLE[:1], 0.0, 1.0, 1.0),
        "solve_step": (leaf, VALUES[:1], TABLE[:1], 0.0, 1.0, 1.0),
    }
    for method, args in calls.items():
        with pytest.raises(ValueError, match="leaves: call leaf_extremes of them first"):
            call(shard, method, args)
    shard.leaf_extremes(leaf)
    for method, args in calls.items():
        call(shard, method, args)


def test_extremes_of_one_leaf_do_not_serve_another():
    shard = prepared()
    shard.begin_tree(10)
    shard.split(0, 1, 2, 0, SIDES)
    shard.leaf_extremes(ids(2))
    shard.leaf_sums(ids(2), TEN[:1])
    with pytest.raises(ValueError, match="leaves: call leaf_extremes of them first"):
        shard.leaf_sums(LEAVES, TEN)
    shard.leaf_extremes(ids(1))
    assert shard.leaf_sums(LEAVES, TEN)[..., 0].tolist() == [[1024, 0], [1024, 2048]]


def growers(**changed):
    good = {
        "n_codes": np.array([3, 2]),
        "is_categorical": np.zeros(2, bool),
        "t": 0.5,
        "max_leaves": 4,
        "max_depth": 0,
        "heaviest": False,
        "min_leaf_mass": 0.0,
        "min_count": 0,
        "pure_allowed": True,
    }
    return good | changed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_codes": np.array([], np.int64)}, "n_codes: needs one column at least"),
        ({"n_codes": np.array([3, 65537])}, "no more than its type holds"),
        ({"is_categorical": np.zeros(1, bool)}, "is_categorical: must be as long as n_codes"),
        ({"t": 2.0}, "t: must be finite and below 2"),
        ({"t": math.nan}, "t: must be finite and below 2"),
        ({"min_leaf_mass": -0.1}, "min_leaf_mass: must be within 0..1"),
        ({"min_leaf_mass": math.nan}, "min_leaf_mass: must be within 0..1"),
        ({"smoothing": -1.0}, "smoothing: must be finite and at least 0"),
        ({"smoothing": math.inf}, "smoothing: must be finite and at least 0"),
    ],
    ids=str,
)
def test_a_grower_that_cannot_be_is_a_value_error(changed, message):
    with pytest.raises(ValueError, match=message):
        _core.Grower(**growers(**changed))


@pytest.mark.parametrize("changed", [{"max_leaves": -1}, {"min_count": 0.5}, {"max_depth": None}], ids=str)
def test_a_grower_of_the_wrong_type_is_a_type_error(changed):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.Grower(**growers(**changed))


def conversation():
    """A grower, and histograms of a root and of a child that it asks for."""
    table = random_table(100, (5, 9))
    shard = shard_of(table)
    shard.begin_tree(10)
    root = shard.histogram(0)
    grower = grower_of(table)
    grower.begin(root)
    *split, build = grower.next()
    shard.split(*split)
    assert build >= 0
    return grower_of(table), root, shard.histogram(build)


def test_a_grower_refuses_messages_out_of_turn():
    grower, root, built = conversation()
    assert grower.next() is None
    assert len(grower.leaves()) == 0
    assert [len(x) for x in grower.tree().arrays()] == [0, 0, 0, 0, 0, 0, 1, 0, 0]
    with pytest.raises(ValueError, match="supply: no request awaits a histogram"):
        grower.supply(root)
    grower.begin(root)
    with pytest.raises(ValueError, match="supply: no request awaits a histogram"):
        grower.supply(built)
    assert grower.next()[-1] >= 0
    with pytest.raises(ValueError, match="next: the last request awaits its histogram, supply it first"):
        grower.next()
    grower.supply(built)
    with pytest.raises(ValueError, match="supply: no request awaits a histogram"):
        grower.supply(built)


@pytest.mark.parametrize("message", ["begin", "supply"])
def test_a_histogram_of_another_shape_is_refused(message):
    grower, root, _ = conversation()
    if message == "supply":
        grower.begin(root)
        grower.next()
    for wrong in (root[:1], root[:, :-1].copy(), np.zeros((2, root.shape[1], 3), np.uint64)):
        with pytest.raises(ValueError, match=r"histogram: shape must be \(2, codes of all columns, 2\)"):
            getattr(grower, message)(wrong)
    for wrong in (root.astype(np.int64), root[..., ::-1], root[0], None):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            getattr(grower, message)(wrong)


def test_growth_refuses_a_shard_of_other_columns_or_without_a_beginning():
    shard = _core.Shard(**arguments())
    with pytest.raises(ValueError, match="shard: needs begin_tree before each tree"):
        _core.grow(_core.Grower(**growers()), shard)
    shard.begin_tree(10)
    with pytest.raises(ValueError, match="grower: made for other columns than the shard"):
        _core.grow(_core.Grower(**growers(n_codes=np.array([2, 3]))), shard)
    grower = _core.Grower(**growers())
    _core.grow(grower, shard)
    with pytest.raises(ValueError, match="shard: needs begin_tree before each tree"):
        _core.grow(grower, shard)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.grow(None, shard)


def test_histograms_that_contradict_themselves_end_in_some_tree():
    """Nonsense from a driver may grow nonsense, but never a crash."""
    rng = np.random.default_rng(11)
    for seed in range(60):
        n_codes = rng.integers(2, 12, 4)
        table = random_table(2)._replace(n_codes=n_codes, is_categorical=rng.random(4) < 0.5)
        grower = grower_of(table, float(rng.choice(TS)), max_leaves=9, growth=("best", "heaviest")[seed % 2])
        largest = int(10.0 ** rng.uniform(0, 19))

        def nonsense(n_codes=n_codes, largest=largest):
            return rng.integers(0, largest, (2, n_codes.sum(), 2), np.uint64)

        grower.begin(nonsense())
        while (request := grower.next()) is not None:
            if request[-1] >= 0:
                grower.supply(nonsense())
        assert len(grower.leaves()) <= 9


def test_solvers_answer_contradictory_sums_with_some_number():
    rng = np.random.default_rng(12)
    values = [0.0, 1.0, -1.0, 1e300, 1e-300, math.inf, -math.inf, math.nan]
    for t in TS:
        shard = _core.Shard(**arguments(t=t))
        shard.begin_tree(10)
        shard.split(0, 1, 2, 0, SIDES)
        shard.leaf_extremes(LEAVES)
        for _ in range(60):
            stats = rng.choice(values, (2, 2, 5))
            assert (
                len(_core.solve_leaves(shard, LEAVES, stats, float(rng.choice([0.0, 3.0])), 500.0, 1.0)) == 2
            )
            assert isinstance(_core.solve_step(shard, LEAVES, VALUES, stats, 0.1, 500.0, 1.0), float)


def test_terms_above_their_bound_give_nonsense_but_no_crash():
    shard = prepared()
    most = np.full((2, 2), 1020, np.int32)
    assert shard.leaf_sums(LEAVES, most).shape == (2, 2, 2)
    assert shard.trial(LEAVES, VALUES * 1e300, most, most, CAPS * math.nan).shape == (2, 2, 2, 2)
    sums, _ = shard.step(LEAVES, VALUES * -1e300, 1.0, math.inf, 1020, 1020)
    assert sums.shape == (8,)
