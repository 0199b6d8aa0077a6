# SPDX-License-Identifier: Apache-2.0
"""subsample and colsample: drawn by (seed, round, row or node) alone, and only to choose splits."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

from tadaboost import TAdaBoostClassifier, _core, rounds, tree
from tadaboost.losses import leaf_link

from .shards import grower_of, naive_histogram, random_table, shard_of


def data(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    return (
        X,
        np.digitize(np.nan_to_num(X @ [2, 1, -1, 0, 0]) + rng.normal(size=n), [0.0]),
        rng.integers(0, 3, n),
    )


def bits(model):
    trees = [
        one for of_round in model.trees_ for one in ([of_round] if len(model.classes_) == 2 else of_round)
    ]
    return (
        model.rounds_.tobytes(),
        model.estimator_weights_.tobytes(),
        [part.tobytes() for one in trees for part in one],
    )


DRAWS = {"subsample": 0.5, "colsample": 0.4, "random_state": 3, "n_estimators": 8}


def test_the_same_seed_gives_the_same_model_and_another_seed_another():
    X, y, w = data()
    model = TAdaBoostClassifier(**DRAWS).fit(X, y, w)
    assert bits(model) == bits(clone(model).fit(X, y, w))
    for name in ("subsample", "colsample"):
        one = TAdaBoostClassifier(**DRAWS | {name: 1.0}).fit(X, y, w)
        other = clone(one).set_params(random_state=4).fit(X, y, w)
        assert len({str(bits(m)) for m in (model, one, other)}) == 3
    generator = np.random.RandomState(7)
    drawn = [TAdaBoostClassifier(**DRAWS | {"random_state": generator}).fit(X, y) for _ in range(2)]
    assert bits(drawn[0]) != bits(drawn[1])
    assert bits(drawn[0]) == bits(
        TAdaBoostClassifier(**DRAWS | {"random_state": np.random.RandomState(7)}).fit(X, y)
    )


def test_a_fit_without_draws_leaves_the_generator_alone():
    X, y, _ = data(100)
    generator = np.random.RandomState(7)
    TAdaBoostClassifier(n_estimators=2, random_state=generator).fit(X, y)
    assert generator.randint(2**31) == np.random.RandomState(7).randint(2**31)


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_change_no_bit(weighted):
    X, y, w = data(20_000)
    w = w if weighted else None
    one, two = (TAdaBoostClassifier(**DRAWS, n_jobs=n).fit(X, y, w) for n in (1, 2))
    assert bits(one) == bits(two)


def test_a_draw_of_columns_does_not_see_the_order_of_rows_and_takes_a_weight_for_a_repetition():
    X, y, w = data()
    rules = DRAWS | {"subsample": 1.0}
    model = TAdaBoostClassifier(**rules).fit(X, y, w)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), w))
    repeated = TAdaBoostClassifier(**rules).fit(X[order], y[order])
    for one, two in zip(model.trees_, repeated.trees_, strict=True):
        assert one.feature.tolist() == two.feature.tolist()
        np.testing.assert_array_equal(one.threshold, two.threshold)
        np.testing.assert_allclose(one.value, two.value, rtol=1e-12)


def test_absent_rows_hold_a_place_in_the_draw_and_do_nothing_else():
    """A draw goes by position: rows of weight 0 behind the others leave every position as it is."""
    X, y, w = data()
    model = TAdaBoostClassifier(**DRAWS).fit(X, y, w)
    longer = np.vstack([X, X[:50] + 9]), np.append(y, 1 - y[:50]), np.append(w, np.zeros(50))
    assert bits(model) == bits(TAdaBoostClassifier(**DRAWS).fit(*longer))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_warm_start_draws_what_one_fit_would(n_classes):
    X, y, w = data()
    y = np.where(X[:, 0] > 1, n_classes - 1, y)
    model = TAdaBoostClassifier(**DRAWS | {"random_state": None}, warm_start=True, record_weights=True)
    for n in (1, 3, 8):
        model.set_params(n_estimators=n).fit(X, y, w)
    one = clone(model).set_params(warm_start=False, random_state=model._seed).fit(X, y, w)
    assert bits(model) == bits(one)
    assert model.weights_.tobytes() == one.weights_.tobytes()


def test_all_classes_draw_the_same_rows_and_columns():
    X, y, w = data()
    y = np.where(X[:, 0] > 1, 2, y)
    model = TAdaBoostClassifier(**DRAWS).fit(X, y, w)
    for k in range(3):
        alone = TAdaBoostClassifier(**DRAWS).fit(X, y == k, w)
        ours = [part.tobytes() for of_round in model.trees_ for part in of_round[k]]
        assert ours == [part.tobytes() for one in alone.trees_ for part in one]


def test_drawn_rows_choose_splits_and_all_rows_everything_else():
    X, y, w = data()
    model = TAdaBoostClassifier(**DRAWS | {"leaf_values": "theorem_a"}, record_weights=True).fit(X, y, w)
    leaf = model.apply(X)
    for j, one in enumerate(model.trees_):
        mass = np.bincount(leaf[:, j], w, minlength=len(one.mass))
        is_leaf = one.feature < 0
        np.testing.assert_array_equal(one.mass[is_leaf], mass[is_leaf])
        inner = np.flatnonzero(~is_leaf)
        np.testing.assert_array_equal(one.mass[inner], one.mass[one.left[inner]] + one.mass[one.right[inner]])
    first, rows = model.trees_[0], leaf[:, 0]
    for i in np.flatnonzero(first.feature < 0):
        positive, negative = w[(rows == i) & (y == 1)].sum(), w[(rows == i) & (y == 0)].sum()
        assert first.value[i] == pytest.approx(leaf_link(positive, negative, 0.5), rel=1e-12)
    scores = model.decision_function(X)
    margin = np.where(y == 1, scores, -scores)
    error = np.average(margin <= 0, weights=w)
    assert model.rounds_["train_error"][-1] == pytest.approx(error, rel=1e-12)


def test_limits_on_leaves_count_drawn_rows():
    X, y, _ = data(200)
    drawn = rounds.drawn_rows(0.5, 3, 0, len(y))
    model = TAdaBoostClassifier(subsample=0.5, random_state=3, n_estimators=1, min_samples_leaf=20).fit(X, y)
    leaf = model.apply(X)[:, 0]
    counts = np.bincount(leaf[drawn])
    assert counts[counts > 0].min() >= 20
    assert len(counts) > 1
    assert np.bincount(leaf)[np.flatnonzero(counts)].min() > counts[counts > 0].min()


def test_a_draw_that_leaves_no_step_is_followed_by_all_rows_and_columns():
    X, y = np.arange(12.0)[:, None], np.arange(12) // 6
    few = TAdaBoostClassifier(subsample=1e-9, random_state=0, n_estimators=3, min_samples_leaf=1).fit(X, y)
    plain = TAdaBoostClassifier(n_estimators=3, min_samples_leaf=1).fit(X, y)
    assert bits(few) == bits(plain)
    constant = np.column_stack([np.zeros((12, 30)), X])
    some = TAdaBoostClassifier(colsample=1e-9, random_state=0, n_estimators=3, min_samples_leaf=1).fit(
        constant, y
    )
    assert {f for one in some.trees_ for f in one.feature} == {-1, 30}


def test_a_tree_that_is_drawn_again_when_it_has_no_edge_left_gives_way_to_all_columns():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 2)).astype(float)
    y = X.sum(axis=1) + rng.normal(size=400) > 1
    rules = {"max_leaf_nodes": 2, "leaf_values": "theorem_a", "learning_rate": 1.0, "growth": "heaviest"}
    for seed in range(8):  # t = 1: such a step is exact; in most draws a column comes twice in a row
        model = TAdaBoostClassifier(1.0, n_estimators=6, colsample=0.5, random_state=seed, **rules).fit(X, y)
        asked = [one.feature[0] for one in model.trees_]
        assert all(a != b for a, b in itertools.pairwise(asked))
        assert min(np.abs(one.value).max() for one in model.trees_) > 1e-9


def test_draws_have_the_share_that_was_asked_for_and_differ_between_rounds():
    n = 20_000
    for share in (0.1, 0.5, 0.999):
        drawn = [rounds.drawn_rows(share, seed, j, n) for seed in (0, 2**32 - 1) for j in range(3)]
        six_sigma = 6 * np.sqrt(share * (1 - share) / n)
        assert max(abs(one.mean() - share) for one in drawn) < six_sigma
        both = [np.mean(a & b) for i, a in enumerate(drawn) for b in drawn[:i]]
        assert max(abs(x - share**2) for x in both) < six_sigma
    np.testing.assert_array_equal(rounds.drawn_rows(0.5, 1, 2, 100), rounds.drawn_rows(0.5, 1, 2, n)[:100])


def test_every_column_has_its_turn_in_the_draw_of_a_node():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 10)), np.arange(400) % 2
    model = TAdaBoostClassifier(colsample=0.1, random_state=0, n_estimators=300, learning_rate=0.01).fit(X, y)
    for node in (0, 1, 2):  # 300 draws of one in ten: 30 each, and six standard deviations are 31
        asked = np.bincount(
            [one.feature[node] for one in model.trees_ if one.feature[node] >= 0], minlength=10
        )
        assert asked.min() > 5
        assert asked.max() < 61


@pytest.mark.parametrize("kind", ["unit", "whole", "fractional"])
def test_shards_count_the_drawn_rows_of_every_node(kind):
    table = random_table(300, kind=kind, dtype=np.uint16, seed=1)
    drawn = np.random.default_rng(2).random(300) < 0.4
    shard = shard_of(table)
    shard.begin_tree(20, drawn)
    goes_left = np.zeros(table.n_codes[2], np.uint8)
    goes_left[:9] = 1
    shard.split(0, 1, 2, 2, goes_left)
    shard.split(2, 3, 4, 1, np.array([1, 0, 1, 0, 1], np.uint8))
    left, odd = table.codes[2] < 9, table.codes[1] % 2 == 1
    full = shard_of(table)
    full.begin_tree(20)
    weight, count = full.histogram(0)[:, : table.n_rows].sum(axis=0).T
    for node, rows in ((1, left), (3, ~left & ~odd), (4, ~left & odd)):
        times = (rows & drawn).astype(np.uint64)
        want = naive_histogram(table.codes, table.n_codes, table.positive, weight * times, count * times)
        np.testing.assert_array_equal(shard.histogram(node), want)
    leaves = np.array([1, 3, 4], np.int32)
    counts, _ = shard.leaf_extremes(leaves)
    of_all = [
        [np.sum(table.counts()[rows & side]) for side in (table.positive, ~table.positive)]
        for rows in (left, ~left & ~odd, ~left & odd)
    ]
    np.testing.assert_array_equal(counts[..., 0], of_all)
    shard.begin_tree(20)
    np.testing.assert_array_equal(shard.histogram(0), full.histogram(0))


def test_a_tree_of_drawn_rows_and_columns_is_the_same_over_several_shards():
    table = random_table(500, n_codes=(5, 17, 200), kind="whole", dtype=np.uint16, seed=3)
    drawn = np.random.default_rng(4).random(500) < 0.6

    def grown(parts):
        grower = grower_of(table)
        grower.set_draw(0.5, 12345)
        grower.set_direction(np.array([0, 1, -1, 0], np.int8))
        grower.set_groups(np.array([0, 2, 5]), np.array([0, 1, 2, 1, 3], np.uint32))
        shards = [shard_of(table, rows=rows) for rows in parts]
        for shard, rows in zip(shards, parts, strict=True):
            shard.begin_tree(20, np.ascontiguousarray(drawn[rows]))
        leaves = tree.grow(grower, shards) if len(shards) > 1 else _core.grow(grower, shards[0])
        return [part.tolist() for part in grower.tree().arrays()], leaves.tolist()

    one = grown([slice(None)])
    assert len(one[1]) > 2
    assert (
        one == grown([slice(0, 100), slice(100, 500)]) == grown([slice(0, 1), slice(1, 300), slice(300, 500)])
    )


BAD = [
    (lambda g, s: s.begin_tree(20, np.ones(3, bool)), r"^drawn: must be as long as positive was$"),
    (lambda g, s: g.set_direction(np.zeros(2, np.int8)), r"^direction: must be as long as n_codes$"),
    (lambda g, s: g.set_direction(np.array([0, 2, 0, 0], np.int8)), r"^direction: entries are -1, 0 and 1$"),
    (
        lambda g, s: g.set_direction(np.array([0, 1, 0, 0], np.int8)),
        r"^direction: a categorical column has none$",
    ),
    (
        lambda g, s: g.set_groups(np.array([0, 2]), np.array([0], np.uint32)),
        r"^start: must go from 0 to the number",
    ),
    (
        lambda g, s: g.set_groups(np.array([0, 2, 1, 2]), np.array([0, 1], np.uint32)),
        r"^start: must not fall$",
    ),
    (lambda g, s: g.set_groups(np.array([0, 1]), np.array([4], np.uint32)), r"^columns: no such column$"),
    (lambda g, s: g.set_groups(np.empty(0, np.int64), np.empty(0, np.uint32)), r"^start: must go from 0"),
    (lambda g, s: g.set_draw(0.0, 1), r"^share: must be above 0 and at most 1$"),
    (lambda g, s: g.set_draw(float("nan"), 1), r"^share: must be above 0 and at most 1$"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_the_core_refuses_rules_that_do_not_fit_the_columns(call, message):
    table = random_table(20, categorical=(1,))
    with pytest.raises(ValueError, match=message):
        call(grower_of(table), shard_of(table))


def test_other_groups_end_a_tree_under_way():
    """Its nodes keep to groups that are no more."""
    table = random_table(200)
    shard, grower = shard_of(table), grower_of(table)
    shard.begin_tree(20)
    grower.begin(shard.histogram(0))
    grower.set_groups(np.array([0, 4]), np.arange(4, dtype=np.uint32))
    assert grower.next() is None


def test_a_tree_that_may_ask_about_nothing_is_a_root():
    table = random_table(200)
    shard, grower = shard_of(table), grower_of(table)
    grower.set_groups(np.zeros(2, np.int64), np.empty(0, np.uint32))
    for share in (1.0, 0.5):
        grower.set_draw(share, 1)
        shard.begin_tree(20)
        assert _core.grow(grower, shard).tolist() == [0]
