# SPDX-License-Identifier: Apache-2.0
"""Other people's ways to keep a model: skops, MLflow, joblib with memory maps."""

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io

import tadaboost
from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier

PUBLIC = {
    "tadaboost.classifier.TAdaBoostClassifier",
    "tadaboost.single.TemperedTreeClassifier",
    "tadaboost.tree.Tree",
}


def data(n_classes=2, n=90):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "c": pd.Categorical(rng.choice(["u", "v"], n)),
            "k": pd.Categorical(rng.choice([1, 2, 30], n)),
            "s": rng.choice(["x", "y", None], n),
            "b": rng.random(n) < 0.5,
        }
    )
    return X, np.digitize(X["a"] + X["b"] + rng.normal(size=n), np.linspace(0, 1, n_classes - 1))


def fitted():
    X, y = data(3)
    two = np.where(y > 0, "yes", "no")
    return [
        TAdaBoostClassifier(n_estimators=3).fit(X, y),
        TAdaBoostClassifier(
            n_estimators=4, clip=True, record_weights=True, class_weight={"yes": 1.0, "no": 2.0}
        ).fit(X, two),
        TAdaBoostClassifier(n_estimators=3, early_stopping=True, random_state=1).fit(
            X[["a", "b"]].to_numpy(), y > 0
        ),
        TemperedTreeClassifier().fit(X, two),
        TemperedTreeClassifier(t=1.0).fit(X, y),
    ]


MODELS = fitted()


@pytest.fixture(params=MODELS, ids=lambda model: f"{type(model).__name__}, {model.classes_.tolist()}")
def model(request):
    return request.param


def table(model):
    X, _ = data(3)
    return X if hasattr(model, "feature_names_in_") else X[["a", "b"]].to_numpy()


def assert_same(model, twin):
    X = table(model)
    assert type(twin) is type(model)
    np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))


def test_skops_asks_to_trust_our_public_classes_only(model):
    content = skops.io.dumps(model)
    untrusted = skops.io.get_untrusted_types(data=content)
    assert set(untrusted) == {f"{type(model).__module__}.{type(model).__name__}", "tadaboost.tree.Tree"}
    assert set(untrusted) <= PUBLIC
    assert_same(model, skops.io.loads(content, trusted=untrusted))


def test_the_classes_that_skops_names_are_public():
    for name in PUBLIC:
        module, _, kind = name.rpartition(".")
        assert getattr(tadaboost, kind).__module__ == module
        assert kind in tadaboost.__all__


def test_an_unfitted_model_names_itself_only():
    content = skops.io.dumps(TAdaBoostClassifier(class_weight={0: 1.0}, checkpoint="c"))
    assert skops.io.get_untrusted_types(data=content) == ["tadaboost.classifier.TAdaBoostClassifier"]


def test_a_model_whose_arrays_are_memory_maps_predicts_goes_on_and_is_saved(tmp_path, model):
    joblib.dump(model, tmp_path / "m.joblib")
    mapped = joblib.load(tmp_path / "m.joblib", mmap_mode="r")
    trees = getattr(mapped, "trees_", None) or mapped.tree_
    first = trees if isinstance(trees, tadaboost.Tree) else trees[0]
    first = first if isinstance(first, tadaboost.Tree) else first[0]
    assert isinstance(first.value, np.memmap)
    assert not first.value.flags.writeable
    assert_same(model, mapped)
    np.testing.assert_array_equal(mapped.feature_importances_, model.feature_importances_)
    tadaboost.save(mapped, tmp_path / "a.tada")
    tadaboost.save(model, tmp_path / "b.tada")
    assert (tmp_path / "a.tada").read_bytes() == (tmp_path / "b.tada").read_bytes()


def test_a_warm_start_goes_on_with_memory_maps(tmp_path):
    X, y = data(3)
    joblib.dump(TAdaBoostClassifier(n_estimators=3, warm_start=True).fit(X, y), tmp_path / "m.joblib")
    mapped = joblib.load(tmp_path / "m.joblib", mmap_mode="r").set_params(n_estimators=6).fit(X, y)
    assert_same(TAdaBoostClassifier(n_estimators=6).fit(X, y), mapped)


@pytest.mark.parametrize("view", ["big-endian", "read-only", "strided", "float32", "integers"])
def test_labels_weights_and_rows_may_be_held_in_any_way(view):
    rng = np.random.default_rng(0)
    X = rng.integers(-50, 50, size=(120, 3)).astype(float)
    y, weight = (X[:, 0] + rng.normal(0, 20, 120) > 0).astype(np.int64), rng.integers(0, 4, 120).astype(float)
    kept = {
        "big-endian": lambda v: v.astype(v.dtype.newbyteorder(">")),
        "read-only": lambda v: np.frombuffer(v.tobytes(), v.dtype).reshape(v.shape),
        "strided": lambda v: np.repeat(v, 3, axis=0)[::3][::-1][::-1],
        "float32": lambda v: v.astype(np.float32),
        "integers": lambda v: v.astype(np.int16),
    }[view]
    model = TAdaBoostClassifier(n_estimators=5).fit(X, y, weight)
    other = TAdaBoostClassifier(n_estimators=5).fit(kept(X), kept(y), kept(weight))
    np.testing.assert_array_equal(other.decision_function(kept(X)), model.decision_function(X))
    np.testing.assert_array_equal(other.classes_, model.classes_)
    assert other.classes_.dtype.isnative


# mlflow-skinny brings 35 packages and takes most of a minute to install: no extra has it, but .ci/nightly.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of its own dependencies
@pytest.mark.parametrize("form", ["skops", "cloudpickle"])
def test_mlflow_saves_and_loads(tmp_path, form):
    sklearn_flavour = pytest.importorskip("mlflow.sklearn")
    for number, model in enumerate(MODELS):
        trust = {"skops_trusted_types": sorted(PUBLIC)} if form == "skops" else {}
        path = str(tmp_path / str(number))
        sklearn_flavour.save_model(model, path, serialization_format=form, pip_requirements=[], **trust)
        assert_same(model, sklearn_flavour.load_model(path))
