# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 over a shard of the core (`_core`): why runs stop, records at extreme settings."""

import math

import numpy as np
import pytest

from tadaboost import TAdaBoostClassifier, binning, rounds
from tadaboost.losses import leaf_link, tempered_exp_loss
from tadaboost.rounds import ROUND, STOP_REASONS, Run, Settings

DEFAULTS = Settings(
    t=0.9,
    n_estimators=5,
    learning_rate=0.3,
    leaf_values="exact",
    leveraging="unit",
    clip=True,
    max_leaf_nodes=8,
    max_depth=0,
    min_samples_leaf=1.0,
    min_leaf_mass=0.0,
    leaf_ridge=3.0,
    growth="best",
    allow_pure_leaves=True,
)


def run_of(X, y, w=None, record=True, n_threads=1, **settings):
    """A run to its end, every numpy error raised."""
    X = np.asarray(X, np.float64)
    n_columns = X.shape[1]
    w = None if w is None else np.asarray(w, np.float64)
    bins = binning.fit_bins(
        X, np.zeros(n_columns, bool), np.zeros(n_columns, np.int32), 255, w, n_threads=n_threads
    )
    codes = binning.encode(X, bins, n_threads=n_threads)
    rules = DEFAULTS._replace(**settings)
    with np.errstate(all="raise", under="ignore"):
        run = Run(codes, bins, np.asarray(y) > 0, w, rules, n_threads, record)
        while run.stop_reason is None:
            run.step()
    return run


def noisy(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(1)
    return X, np.where(X[:, 0] + X[:, 1] + rng.normal(size=n) > 0, 1, -1)


XOR = [[0, 0], [0, 1], [1, 0], [1, 1]], [1, -1, -1, 1]
WHOLE = {"leaf_ridge": 0.0, "learning_rate": 1.0}


def assert_sound(run):
    """Every number is finite and in its range, and the weights of each round sum to 1."""
    records, s = run.rounds(), 1.0 - run.settings.t
    assert run.stop_reason in STOP_REASONS
    assert len(records) == len(run.trees) == len(run.alphas)
    for name in ROUND.names:
        if name in ("val_loss", "bound") or (name == "mu" and s < -0.9):
            continue  # mu = alpha (sum w)^(1/(2-t) - 1) leaves the range of doubles as t -> 2
        assert np.isfinite(records[name]).all(), (name, records[name])
    bound = records["bound"]
    assert np.isnan(bound).all() if run.settings.clip and s < 0 else not np.isnan(bound).any()
    assert np.all(np.abs(records["rho"]) <= 1)
    assert np.all((records["train_error"] >= 0) & (records["train_error"] <= 1))
    assert np.all(records["loss"] >= 0)
    assert np.all((records["codensity_min"] >= 0) & (records["codensity_min"] <= records["codensity_max"]))
    assert np.isfinite(run.alphas).all()
    for tree in run.trees:
        assert np.isfinite(tree.value).all()
        assert np.isfinite(tree.gain).all()
        assert np.isfinite(tree.mass).all()
    weights = run.weights()
    assert weights.shape[0] == len(records) + 1
    assert np.all(weights >= 0)
    sums = weights.sum(axis=1)
    off = np.append(1.0, records["loss"]) == 0.0
    np.testing.assert_allclose(sums[~off], 1.0, rtol=1e-12)
    assert np.all(sums[off] == 0.0)


@pytest.mark.parametrize(
    ("reason", "X", "y", "settings"),
    [
        ("n_estimators", *noisy(), {}),
        ("no split", [[1.0], [1.0], [1.0]], [1, 1, -1], {}),
        # Each leaf of the first tree predicts the prior's share: nothing is left to gain.
        ("no split", [[0.0], [0.0], [1.0], [1.0]] * 3, [1, -1, 1, -1] * 3, {}),
        ("edge zero", *XOR, {"growth": "heaviest", "max_leaf_nodes": 2}),
        ("perfect", [[0.0], [1.0]], [-1, 1], {"t": 0.5, **WHOLE, "leveraging": "exact"}),
        ("perfect", [[0.0], [1.0]], [-1, 1], WHOLE),
        ("frozen step", *noisy(), {"learning_rate": 1e-300}),
    ],
)  # fmt: skip
def test_each_reason_to_stop_is_reached(reason, X, y, settings):
    run = run_of(X, y, **settings)
    assert run.stop_reason == reason
    assert len(run.trees) >= 1
    assert_sound(run)


def test_a_run_without_a_split_predicts_the_prior():
    run = run_of([[1.0]] * 4, [1, 1, 1, -1], t=1.0)
    assert run.stop_reason == "no split"
    assert run.trees[0].feature.tolist() == [-1]
    assert run.alphas == [1.0]
    assert run.trees[0].value[0] == pytest.approx(math.log(3) / 2, rel=1e-14)


def test_a_run_whose_first_tree_has_no_edge_predicts_the_prior_too():
    run = run_of(*XOR, growth="heaviest", max_leaf_nodes=2)
    assert [len(tree.feature) for tree in run.trees] == [1]
    assert run.trees[0].value.tolist() == [0.0]
    assert run.trees[0].mass.tolist() == [4.0]


@pytest.mark.parametrize("t", [-20.0, -1.0, 0.0, 0.5, 0.9, 0.999999, 1.0, 1.000001, 1.1, 1.5, 1.999])
@pytest.mark.parametrize("leveraging", ["unit", "closed", "exact"])
@pytest.mark.parametrize("leaf_values", ["exact", "theorem_a", "canonical"])
def test_records_are_sound_at_every_temperature(t, leveraging, leaf_values):
    X, y = noisy()
    for settings in (
        {},
        {"learning_rate": 1.0, "leaf_ridge": 0.0},
        {"max_leaf_nodes": 2, "n_estimators": 1},
        {"growth": "heaviest", "allow_pure_leaves": False, "max_leaf_nodes": 0, "max_depth": 4},
        {"clip": False},
    ):
        run = run_of(X, y, t=t, leveraging=leveraging, leaf_values=leaf_values, **settings)
        assert_sound(run)


@pytest.mark.parametrize("t", [-20.0, 0.0, 0.9, 1.0, 1.1, 1.999])
@pytest.mark.parametrize("leveraging", ["unit", "closed", "exact"])
@pytest.mark.parametrize(
    "settings",
    [
        {"learning_rate": 1e-12},
        {"learning_rate": 1e-300},
        {"leaf_ridge": 1e12},
        {"leaf_ridge": 1e300},
        {"leaf_ridge": 1e-300, "learning_rate": 1.0},
        {"n_estimators": 60, "learning_rate": 1.0, "leaf_ridge": 0.0, "max_leaf_nodes": 0},
    ],
    ids=str,
)
def test_extreme_settings_end_in_finite_records(t, leveraging, settings):
    X, y = noisy()
    assert_sound(run_of(X, y, t=t, leveraging=leveraging, **settings))


@pytest.mark.parametrize("t", [-20.0, 0.0, 0.9, 1.0, 1.1, 1.999])
@pytest.mark.parametrize("leveraging", ["unit", "closed", "exact"])
@pytest.mark.parametrize(
    ("y", "w"),
    [
        (np.ones(20), None),
        (-np.ones(20), None),
        (np.arange(20) % 2 * 2 - 1, np.eye(20)[3]),
        (np.arange(20) % 2 * 2 - 1, np.eye(20)[3] + np.eye(20)[4]),
        (np.arange(20) % 2 * 2 - 1, np.geomspace(1e-8, 1e8, 20)),
        (np.arange(20) % 2 * 2 - 1, np.geomspace(1, 2.0**31, 20).round()),
        (np.arange(20) % 2 * 2 - 1, np.full(20, 1e-40)),
        (np.arange(20) % 2 * 2 - 1, np.full(20, 1e38)),
    ],
    ids=[
        "positive",
        "negative",
        "one row",
        "two rows",
        "wide weights",
        "large weights",
        "tiny weights",
        "huge weights",
    ],
)
def test_extreme_data_end_in_finite_records(t, leveraging, y, w):
    X = np.column_stack([np.arange(20.0), np.arange(20.0)[::-1] % 7])
    assert_sound(run_of(X, y, w, t=t, leveraging=leveraging))


@pytest.mark.parametrize("w", [np.full(20, 5e-324), np.geomspace(1e-300, 1e300, 20), np.full(20, 1e306)])
@pytest.mark.parametrize("t", [-1.0, 0.5, 1.0, 1.5])
def test_weights_at_the_ends_of_the_range_of_doubles_end_in_finite_records(w, t):
    X = np.arange(20.0)[:, None]
    assert_sound(run_of(X, np.arange(20) % 3 - 1, w, t=t))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("leveraging", ["unit", "closed", "exact"])
def test_weights_of_all_sizes_and_whole_steps_end_in_finite_records(leveraging, seed):
    """A step may take every weight above the least double below it, where the loss is not yet 0."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 3))
    w = 10.0 ** rng.uniform(-300, 300, 60)
    limits = {"leaf_ridge": 0.0, "min_samples_leaf": 0.0, "learning_rate": 1.0}
    assert_sound(run_of(x, x[:, 0] > 0, w, t=1.5, leveraging=leveraging, **limits))


@pytest.mark.parametrize("t", [-1.0, 0.5, 1.0, 1.5])
@pytest.mark.parametrize("unit", [2.0**-900, 2.0**900])
def test_the_unit_of_weights_does_not_matter_with_the_limits_off(t, unit):
    X, y = noisy(60)
    w = 0.3 + np.arange(60) % 7
    limits = {"t": t, "leaf_ridge": 0.0, "min_samples_leaf": 0.0}
    one, other = run_of(X, y, w, **limits), run_of(X, y, w * unit, **limits)
    assert one.alphas == other.alphas
    for a, b in zip(one.trees, other.trees, strict=True):
        assert a.value.tolist() == b.value.tolist()
        assert a.threshold.tolist() == b.threshold.tolist()
        assert (a.mass * unit).tolist() == b.mass.tolist()


@pytest.mark.parametrize("unit", [0.1, 1.0, 2.7])
def test_extremes_of_the_codensity_are_those_of_the_recorded_weights_for_one_example(unit):
    X, y = noisy(60)
    w = unit * (1 + np.arange(60) % 3)
    run = run_of(X, y, w, n_estimators=3)
    of_one = run.weights()[1:] / w
    np.testing.assert_allclose(run.rounds()["codensity_min"], of_one.min(axis=1), rtol=1e-12)
    np.testing.assert_allclose(run.rounds()["codensity_max"], of_one.max(axis=1), rtol=1e-12)


def test_weights_are_in_the_order_of_the_rows_given():
    X, y = noisy(40)
    w = np.where(np.arange(40) % 3 == 0, 0.0, 1.5)
    run = run_of(X, y, w, n_estimators=1)
    first = run.weights()[0]
    np.testing.assert_allclose(first, w / w.sum(), rtol=1e-15)


def test_weights_that_were_not_recorded_are_an_error():
    run = run_of(*noisy(40), record=False)
    with pytest.raises(ValueError, match="weights were not recorded: pass record_weights=True"):
        run.weights()


@pytest.mark.parametrize("t", [0.5, 0.9, 1.0])
def test_large_whole_weights_do_not_hide_a_perfect_split(t):
    """Sums of fixed-point weights above 2^53 are not exact as doubles, and a pure child must be pure."""
    rng = np.random.default_rng(0)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 60, (400, 1)).astype(np.float64)
        w = rng.integers(2**27, 2**31, 400).astype(np.float64)
        run = run_of(X, np.where(X[:, 0] < 30, 1, -1), w, t=t, n_estimators=3, max_leaf_nodes=2)
        assert [tree.threshold[0] for tree in run.trees] == [29.5] * 3


@pytest.mark.parametrize(
    ("multiplicity", "whole", "unit"),
    [
        (None, True, 1.0),
        ([1.0, 2.0, 0.0], True, 1.0),
        ([1.0, 2.5, 0.0], False, 2.0**-48),
        ([2.0**31, 1.0, 0.0], True, 1.0),
        ([2.0**31, 2.0**31, 0.0], False, 2.0**-18),
        ([2.0**33, 1.0, 0.0], False, 2.0**-16),
    ],
)
def test_counts_of_the_core(multiplicity, whole, unit):
    given = None if multiplicity is None else np.array(multiplicity)
    got = rounds._counts(given)
    assert got[:2] == (whole, unit)
    if given is not None:
        np.testing.assert_allclose(got[2] * unit, given, rtol=1e-14)


@pytest.mark.parametrize("t", [-1e6, -200.0, -100.0, -96.0, -20.0, 0.5, 1.9])
@pytest.mark.parametrize("seed", [0, 14])
def test_exact_values_of_pure_leaves_are_roots_at_any_t(t, seed):
    """Near the step that switches all weights off slopes have no bound, and odds to the 1-t may overflow."""
    X = np.repeat([0.0, 1.0], 10)[:, None]
    w = np.random.default_rng(seed).integers(1, 5, 20).astype(float)
    run = run_of(X, 2 * X[:, 0] - 1, w, t=t, n_estimators=1, leaf_ridge=3.0, max_leaf_nodes=2)
    (tree,), s = run.trees, 1.0 - t
    for leaf, side in zip((tree.left[0], tree.right[0]), (-1.0, 1.0), strict=True):
        mass = w[X[:, 0] * 2 - 1 == side].sum()

        def rest(v, mass=mass):
            return mass * max(0.0, 1.0 - s * v) ** (1.0 / s) - 3.0 * v

        v = side * tree.value[leaf]
        assert rest(v * (1 - 1e-9)) > -1e-9
        assert rest(v * (1 + 1e-9)) < 1e-9


@pytest.mark.parametrize("t", [0.9, 1.0, 1.1])
@pytest.mark.parametrize("leaf_values", ["theorem_a", "exact"])
def test_light_rows_that_weigh_most_keep_their_digits_beside_heavy_ones(t, leaf_values):
    # On either side of the split the other class has 10^-13 of the mass, and its row weighs 10^6 in the end.
    X = np.repeat([[0.0], [1.0]], 8, axis=0)
    y = np.tile([0, 0, 0, 0, 0, 0, 0, 1], 2) ^ np.repeat([0, 1], 8)
    w = np.where(y == X[:, 0], 1e6, 1e-6) * np.linspace(1.0, 1.5, 16)
    model = TAdaBoostClassifier(t, n_estimators=1, learning_rate=1.0, leaf_values=leaf_values, leaf_ridge=0.0)
    model.set_params(min_samples_leaf=0).fit(X, y, w)
    margin = model.decision_function(X) * (2 * y - 1)
    want = math.fsum(w * tempered_exp_loss(margin, t)) / math.fsum(w)
    assert model.rounds_["loss"][0] == pytest.approx(want, rel=1e-13, abs=0.0)
    if leaf_values == "exact":  # of theorem A at the first round
        want = leaf_link(w[:8][y[:8] == 1].sum(), w[:8][y[:8] == 0].sum(), t)
        assert model.trees_[0].value[1] == pytest.approx(float(want), rel=1e-13)
