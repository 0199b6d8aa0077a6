# SPDX-License-Identifier: Apache-2.0
"""Models in the form of other libraries, run by those libraries."""

import json
import sys

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import skl2onnx
import treelite
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tadaboost
from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier
from tadaboost.export import matrix, to_onnx, to_shap, to_treelite

from .reports import RULES, every_kind, explain, make, mixed_data, twin

UNCLIPPED = [rules for name, rules in RULES.items() if name != "clipped"]


def many_levels(n_classes=2, n=600):
    """A frame with numbers, a column of 15 levels whose neighbours differ, a short one, and gaps."""
    rng = np.random.default_rng(0)
    level, short = rng.integers(0, 15, n), rng.integers(0, 4, n)
    table = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n).astype(np.float32)})
    signal = np.sin(2.3 * level) + 0.5 * (short == 2) + table["x"] * table["z"] + 0.3 * rng.normal(size=n)
    table["level"] = pd.Series([f"l{i}" for i in level]).mask(rng.random(n) < 0.1)
    table["short"] = [f"s{i}" for i in short]
    table["x"] = table["x"].mask(rng.random(n) < 0.1)
    return table, np.digitize(signal, np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1]))


def run(model, X):
    """Labels, probabilities and scores that onnxruntime makes of a matrix."""
    return onnxruntime.InferenceSession(to_onnx(model).SerializeToString()).run(None, {"X": X})


# ONNX


@every_kind
@pytest.mark.parametrize("growth", [{}, {"max_leaf_nodes": 40, "min_samples_leaf": 1, "cat_smoothing": 0.0}])
def test_onnx_gives_the_labels_the_probabilities_and_the_bits_of_the_scores(rules, n_classes, growth):
    X, y = many_levels(n_classes)
    model = make(rules, **growth).fit(X[:400], y[:400])
    label, probabilities, score = run(model, matrix(model, X))
    np.testing.assert_array_equal(score, model.decision_function(X))
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-14)


@pytest.mark.parametrize("t", [-10.0, -1.0, 1 - 1e-12, 1.9])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_onnx_has_the_link_of_every_temperature(t, n_classes):
    X, y = many_levels(n_classes)
    model = make(t=t).fit(X, y)
    _, probabilities, score = run(model, matrix(model, X))
    np.testing.assert_array_equal(score, model.decision_function(X))
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-14 if t >= -1 else 1e-9)


def test_onnx_keeps_small_probabilities():
    X, y = np.arange(40.0)[:, None], np.arange(40) >= 20
    for labels, t in ((y, 1.0), (y, 1.5), (y + (X[:, 0] > 30), 1.0)):
        model = make(t=t, n_estimators=60, learning_rate=1.0, leaf_ridge=1e-9).fit(X, labels)
        _, probabilities, _ = run(model, X)
        assert model.predict_proba(X).min() < 1e-20
        np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=1e-10, atol=0)


@pytest.mark.parametrize(
    "labels", [["no", "yes"], [False, True], [3, 7], [-1.0, 2.0], np.array([2, 9], np.uint8)]
)
def test_onnx_labels_are_those_of_fit(labels):
    X, y = np.array([[0.0], [1.0]] * 10), np.asarray(labels)[[0, 1] * 10]
    model = make().fit(X, y)
    label, _, _ = run(model, X)
    assert label.tolist() == model.predict(X).tolist() == y.tolist()


def test_onnx_knows_ties_one_class_roots_alone_and_no_rows():
    X = np.arange(12.0)[:, None]
    for y in (np.arange(12) % 2, np.zeros(12), np.arange(12) % 3):  # nothing to learn in pairs
        for model in (make(min_samples_leaf=12), make(min_samples_leaf=1), TemperedTreeClassifier()):
            label, probabilities, score = run(model.fit(X, y), X)
            np.testing.assert_array_equal(label, model.predict(X))
            np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-15)
            np.testing.assert_array_equal(score, model.decision_function(X))
            assert [len(output) for output in run(model, X[:0])] == [0, 0, 0]


def test_onnx_takes_a_code_of_no_level_for_missing():
    X, y = many_levels()
    model = make(n_estimators=20).fit(X, y)
    known = matrix(model, X)
    unknown, absent = known.copy(), known.copy()
    unknown[:, 2:], absent[:, 2:] = [[99.0, -1.0]], np.nan
    np.testing.assert_array_equal(run(model, unknown)[2], run(model, absent)[2])


def test_onnx_says_what_its_columns_levels_and_temperature_are():
    X, y = many_levels()
    about = {prop.key: prop.value for prop in to_onnx(make(RULES["clipped"]).fit(X, y)).metadata_props}
    assert json.loads(about["columns"]) == ["x", "z", "level", "short"]
    assert json.loads(about["levels"])["short"] == ["s0", "s1", "s2", "s3"]
    assert (about["temperature"], about["clipped_at"]) == ("0.0", "1.0")


def test_onnx_keeps_names_and_levels_of_any_characters():
    name, level = 'a "b"\n\u00e9\ud800', "\x00'\ud801" + 500 * "\u65e5"
    X = pd.DataFrame([[level], ["v"]] * 10, columns=pd.Index([name], dtype=object), dtype=object)
    about = {prop.key: prop.value for prop in to_onnx(make().fit(X, [0, 1] * 10)).metadata_props}
    assert json.loads(about["columns"]) == [name]
    assert json.loads(about["levels"])[name] == [level, "v"]


def test_onnx_refuses_labels_that_it_has_no_type_for():
    model = make().fit([[0.0], [1.0]] * 10, np.array([2**63, 2**64 - 1] * 10, np.uint64))
    with pytest.raises(TypeError, match="labels of type uint64 cannot be written to ONNX"):
        to_onnx(model)


def test_a_pipeline_is_the_graph_of_its_other_steps_and_of_the_model():
    X, y = np.random.default_rng(0).normal(size=(200, 4)), np.arange(200) % 2
    pipeline = make_pipeline(StandardScaler(), make()).fit(X, y)
    first = skl2onnx.to_onnx(pipeline[:-1], X[:1], target_opset={"": 21, "ai.onnx.ml": 5})
    last = to_onnx(pipeline[-1])
    first.ir_version = last.ir_version
    both = onnx.compose.merge_models(first, last, io_map=[(first.graph.output[0].name, "X")])
    session = onnxruntime.InferenceSession(both.SerializeToString())
    label, _, score = session.run(None, {first.graph.input[0].name: X})
    np.testing.assert_array_equal(label, pipeline.predict(X))
    np.testing.assert_allclose(score, pipeline.decision_function(X), rtol=1e-12)


# SHAP


@pytest.mark.parametrize("rules", UNCLIPPED)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("background", "within"), [(None, 1e-12), (slice(0, 50), 1e-6)])
def test_shap_values_and_the_base_value_sum_to_the_score(rules, n_classes, background, within):
    X, y = many_levels(n_classes)
    model = make(rules, cat_smoothing=0.0, max_leaf_nodes=20).fit(X[:400], y[:400])
    rows = matrix(model, X)
    if background:
        rows = np.nan_to_num(rows)  # with a background, SHAP itself takes no missing values
    base, values = explain(model, rows, None if background is None else rows[background])
    np.testing.assert_allclose(base + values.sum(axis=1), run(model, rows)[2], rtol=0, atol=within)


def test_the_base_value_is_the_mean_score_of_the_training_rows():
    X, y = many_levels()
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    model = make(cat_smoothing=0.0).fit(X, y, weight)
    assert sum(tree.is_categorical.any() for tree in model.trees_) > 3
    base, _ = explain(model, matrix(model, X[:1]))
    np.testing.assert_allclose(base, np.average(model.decision_function(X), weights=weight), rtol=1e-12)


def test_the_only_column_of_a_tree_has_all_of_its_shap_value():
    X, y = many_levels()
    model = make(n_estimators=1, max_leaf_nodes=6, cat_smoothing=0.0).fit(X[["level"]], y)
    assert model.trees_[0].is_categorical.sum() > 1  # one below the other
    base, values = explain(model, matrix(model, X[["level"]]))
    np.testing.assert_allclose(values[:, 0], model.decision_function(X[["level"]]) - base, rtol=0, atol=1e-14)


def test_a_clipped_model_has_no_tree_shap_values():
    X, y = mixed_data()
    with pytest.raises(ValueError, match=r"a clipped score is no sum.*shap\.PermutationExplainer"):
        to_shap(make(RULES["clipped"]).fit(X, y))
    assert len(to_shap(make(t=1.0, clip=True).fit(X, y))["trees"]) == 6  # clips nowhere


def test_a_tree_whose_levels_need_too_many_thresholds_is_refused(monkeypatch):
    monkeypatch.setattr("tadaboost.shaptrees._MOST_NODES", 50)
    X, y = many_levels()
    with pytest.raises(ValueError, match="more than 50 thresholds of codes; give shap"):
        to_shap(make(cat_smoothing=0.0, max_leaf_nodes=20).fit(X, y))


# Treelite


@every_kind
def test_treelite_gives_the_margins_of_every_tree(rules, n_classes):
    X, y = many_levels(n_classes)
    model = make(rules, cat_smoothing=0.0).fit(X[:400], y[:400])
    exported, rows = to_treelite(model), matrix(model, X)
    margins = treelite.gtil.predict_per_tree(exported, rows)[:, :, 0]
    score = np.zeros((len(X), 1 if n_classes == 2 else n_classes))
    clip = 1 / abs(1 - model.t) if model.clip else np.inf
    for j in range(margins.shape[1]):
        k = j % score.shape[1]
        score[:, k] = np.clip(score[:, k] + margins[:, j], -clip, clip)
    np.testing.assert_array_equal(score.reshape(model.decision_function(X).shape), model.decision_function(X))
    if not model.clip:
        sums = treelite.gtil.predict(exported, rows, pred_margin=True)
        np.testing.assert_allclose(sums.reshape(score.shape), score, rtol=0, atol=1e-12)


# All of them


def test_codes_are_places_among_the_levels_and_nan_is_missing_or_unknown():
    X, y = many_levels()
    model = make().fit(X, y)
    rows = pd.DataFrame({"x": [1.5, None], "z": [0.0, 1.0], "level": ["l1", "new"], "short": ["s3", None]})
    expected = [[1.5, 0.0, sorted(set(X["level"].dropna())).index("l1"), 3.0], [np.nan, 1.0, np.nan, np.nan]]
    np.testing.assert_array_equal(matrix(model, rows), expected)
    with pytest.raises(ValueError, match="feature names"):
        matrix(model, rows[["z", "x", "level", "short"]])


@pytest.mark.parametrize("export", [to_onnx, to_shap, to_treelite])
def test_what_cannot_be_exported_says_so(export):
    X, y = [[0.0], [1.0]] * 10, [0, 1] * 10
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        export(TAdaBoostClassifier())
    with pytest.raises(TypeError, match="model is a LogisticRegression; it must be a fitted"):
        export(LogisticRegression().fit(X, y))
    with pytest.raises(TypeError, match="a model of estimator=LogisticRegression has no trees of ours"):
        export(make(estimator=LogisticRegression()).fit(X, y))


@pytest.mark.parametrize("export", [to_onnx, to_shap])
def test_a_tree_that_is_too_deep_for_recursion_is_refused(export):
    X, y = np.arange(1100.0)[:, None], np.arange(1100) % 2  # each split parts one row from the rest
    deep = TemperedTreeClassifier(max_leaf_nodes=None, min_samples_leaf=1, max_bins=2000)
    with pytest.raises(
        ValueError, match=r"tree 0 is 1099 splits deep; .* may crash beyond 1000: fit with max_"
    ):
        export(deep.fit(X, y))
    assert export(deep.set_params(max_depth=1000).fit(X, y))


@pytest.mark.parametrize(("library", "export"), [("onnx", to_onnx), ("treelite", to_treelite)])
def test_a_missing_library_is_named_with_its_extra(library, export, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    model = make().fit([[0.0], [1.0]] * 10, [0, 1] * 10)
    with pytest.raises(ImportError, match=rf"{library} is not installed: pip install 'tadaboost\[export\]'"):
        export(model)


def test_a_model_from_a_file_exports_the_same(tmp_path):
    X, y = many_levels(3)
    model = make().fit(X, y)
    assert to_onnx(twin(model, tmp_path)) == to_onnx(model)


def test_the_module_is_an_attribute_of_the_package():
    assert tadaboost.export.to_onnx is to_onnx
    assert "export" in dir(tadaboost)
