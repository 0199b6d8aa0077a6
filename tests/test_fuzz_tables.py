# SPDX-License-Identifier: Apache-2.0
"""Any table at all: a clean error of one line, or a model whose predictions are finite and agree."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier, load, save

MAX = np.finfo(float).max

# name -> column of n cells from a generator; some of these no fit takes
NUMBERS = {
    "normal": lambda r, n: r.normal(size=n),
    "with NaN": lambda r, n: np.where(r.random(n) < 0.4, np.nan, r.normal(size=n)),
    "all NaN": lambda r, n: np.full(n, np.nan),
    "infinite": lambda r, n: np.where(r.random(n) < 0.1, r.choice([np.inf, -np.inf]), 0.5),
    "huge": lambda r, n: r.choice([MAX, -MAX, MAX / 2, 1e300, 0.0], n),
    "tiny": lambda r, n: r.choice([5e-324, -5e-324, 1e-310, 2.2250738585072014e-308, 0.0, -0.0], n),
    "neighbours": lambda r, n: 1.0 + r.integers(0, 4, n) * 2.0**-52,
    "constant": lambda r, n: np.full(n, r.choice([0.0, 7.5, MAX])),
    "few": lambda r, n: r.integers(0, 3, n).astype(float),
    "short": lambda r, n: r.normal(size=n).astype(np.float32),
    "half": lambda r, n: r.normal(size=n).astype(np.float16),
    "bytes": lambda r, n: r.integers(0, 255, n).astype(np.uint8),
    "large integers": lambda r, n: r.integers(2**63 - 9, 2**63 - 1, n),
    "larger integers": lambda r, n: r.integers(2**63, 2**64 - 1, n, dtype=np.uint64),
    "boolean": lambda r, n: r.random(n) < 0.5,
}
OTHERS = {
    "text": lambda r, n: r.choice(["a", "b", "ü", "", " "], n).astype(object),
    "many words": lambda r, n: np.array([f"word {i}" for i in r.integers(0, 10**6, n)], object),
    "text and None": lambda r, n: r.choice(np.array(["a", "b", None], object), n),
    "only None": lambda r, n: np.full(n, None),
    "booleans and None": lambda r, n: r.choice(np.array([True, False, None], object), n),
    "mixed": lambda r, n: r.choice(np.array(["a", 1.5, None], object), n),
    "lists": lambda r, n: np.array([None, *[[1, 2]] * (n - 1)], object),
    "dates": lambda r, n: np.datetime64("2024-01-01", "us") + r.integers(0, 9, n),
    "complex": lambda r, n: r.normal(size=n) + 1j,
}
MAKERS = NUMBERS | OTHERS

LABELS = {
    "integers": [0, 1, 2, 3],
    "signed": [-1, 1, 5, 2**40],
    "text": ["no", "yes", "", "ü"],
    "floats": [0.0, 1.0, -2.0, 1e300],
    "booleans": [False, True],
    "with NaN": [0.0, 1.0, np.nan],
    "fractions": [0.5, 1.25, 3.0],
}

WEIGHTS = {
    "none": lambda r, n: None,
    "ones": lambda r, n: np.ones(n),
    "counts": lambda r, n: r.integers(0, 4, n),
    "fractions": lambda r, n: r.random(n),
    "tiny": lambda r, n: r.random(n) * 1e-300,
    "huge": lambda r, n: r.random(n) * 1e300,
    "far apart": lambda r, n: 10.0 ** r.integers(-200, 200, n),
    "one row": lambda r, n: np.eye(1, n)[0],
    "all zero": lambda r, n: np.zeros(n),
    "negative": lambda r, n: r.normal(size=n),
    "NaN": lambda r, n: np.where(r.random(n) < 0.1, np.nan, 1.0),
    "infinite": lambda r, n: np.where(r.random(n) < 0.1, np.inf, 1.0),
    "short": lambda r, n: np.ones(max(0, n - 1)),
    "complex": lambda r, n: np.ones(n) + 1j,
}


def as_numpy(columns):
    return np.column_stack(list(columns.values()))


def as_pandas(columns):
    return pd.DataFrame(columns)


def as_nullable(columns):
    return pd.DataFrame(columns).convert_dtypes()


def as_categories(columns):
    return pd.DataFrame(columns).astype("category")


def as_polars(columns):
    return pl.DataFrame({name: pl.Series(column.tolist(), strict=False) for name, column in columns.items()})


def as_arrow(columns):
    return pa.table({name: pa.array(column.tolist()) for name, column in columns.items()})


CONTAINERS = [as_numpy, as_pandas, as_nullable, as_categories, as_polars, as_arrow]

BOOSTERS = st.fixed_dictionaries(
    {
        "t": st.sampled_from([0.5, 1.0, 0.0, -2.0, 0.9, 1.1, 1.9, 1.0 + 1e-9]),
        "n_estimators": st.integers(1, 5),
        "learning_rate": st.sampled_from([1.0, 0.1, 1e-9]),
        "leaf_values": st.sampled_from(["exact", "theorem_a", "canonical"]),
        "leveraging": st.sampled_from(["unit", "closed", "exact"]),
        "clip": st.booleans(),
        "max_leaf_nodes": st.sampled_from([8, 2, None]),
        "min_samples_leaf": st.sampled_from([5, 0, 1]),
        "leaf_ridge": st.sampled_from([3.0, 0.0]),
        "growth": st.sampled_from(["best", "heaviest"]),
        "allow_pure_leaves": st.booleans(),
        "max_bins": st.sampled_from([255, 2, 65535]),
        "categorical_features": st.sampled_from(["from_dtype", None, [0]]),
        "early_stopping": st.booleans(),
        "class_weight": st.sampled_from([None, "balanced"]),
        "record_weights": st.booleans(),
        "n_jobs": st.sampled_from([1, 2]),
    }
)
ONE_TREE = {
    "t",
    "leaf_values",
    "max_leaf_nodes",
    "min_samples_leaf",
    "leaf_ridge",
    "growth",
    "max_bins",
    "n_jobs",
}


@st.composite
def tables(draw):
    """Rows in a container, with labels and weights; columns may repeat each other."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from([40, 1, 2, 7, 300]))
    container = draw(st.sampled_from(CONTAINERS))
    kinds = draw(st.lists(st.sampled_from(sorted(NUMBERS)), min_size=1, max_size=4))
    if draw(st.booleans()):
        kinds += draw(st.lists(st.sampled_from(sorted(OTHERS)), max_size=2))
    columns = {f"{kind} {i}": MAKERS[kind](random, n) for i, kind in enumerate(kinds)}
    if draw(st.booleans()):
        columns["again"] = columns[f"{kinds[0]} 0"]
    labels = np.array(LABELS[draw(st.sampled_from(sorted(LABELS)))][: draw(st.integers(1, 4))])
    y = labels[random.integers(0, len(labels), n)]
    weight = WEIGHTS[draw(st.sampled_from(sorted(WEIGHTS)))](random, n)
    return container, columns, y, weight


def check(model, X, path):
    score, share, labels = model.decision_function(X), model.predict_proba(X), model.predict(X)
    assert np.isfinite(score).all()
    assert ((share >= 0) & (share <= 1)).all()
    np.testing.assert_allclose(share.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(labels, model.classes_[share.argmax(axis=1)])
    importances = model.feature_importances_
    assert (importances >= 0).all()
    assert abs(importances.sum() - importances.any()) <= 1e-12
    save(model, path)
    loaded = load(path)
    np.testing.assert_array_equal(loaded.decision_function(X), score)
    np.testing.assert_array_equal(loaded.predict(X), labels)
    if isinstance(model, TAdaBoostClassifier):
        *_, last = model.staged_decision_function(X)
        np.testing.assert_array_equal(last, score)
        for name in set(model.rounds_.dtype.names) - {"bound", "val_loss", "mu"}:
            assert np.isfinite(model.rounds_[name]).all(), name


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "m.tada"


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(table=tables(), rules=BOOSTERS, boosted=st.sampled_from([True, True, True, False]))
def test_a_fit_is_refused_in_one_line_or_predicts_soundly(path, table, rules, boosted):
    container, columns, y, weight = table
    try:
        X = container(columns)
    except Exception:
        event("the container does not take such cells")
        return
    kind = TAdaBoostClassifier if boosted else TemperedTreeClassifier
    rules = rules if boosted else {name: rules[name] for name in ONE_TREE}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "sample_weight sums to")
        try:
            model = kind(**rules).fit(X, y, weight)
        except (ValueError, TypeError) as error:
            if "\n" in str(error) or not str(error).strip():
                raise
            event("refused")
            return
    event("fitted")
    check(model, X, path)
