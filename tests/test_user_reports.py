# SPDX-License-Identifier: Apache-2.0
"""What users of boosting classifiers report, one number a kind of fault: weights, tables, labels, files.

The other numbers are in test_user_reports_numerics.py. Each test adds members of its kind to the smallest
example: other temperatures, clipped scores, three classes, other tables, the model after a file.
"""

import html
import io
import json
import re
import warnings
import zipfile

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier, export, save
from tadaboost.displays import TreeDisplay
from tadaboost.group import main
from tadaboost.treeview import export_text

from .reports import (
    NAMES,
    RULES,
    bits,
    data,
    every_kind,
    every_kind_with,
    explain,
    make,
    run_script,
    trees_of,
    twin,
)

NAN = float("nan")

# Weights


@every_kind
def test_01_the_weights_of_every_round_are_there_when_asked_for(rules, n_classes):
    X, y = data(n_classes)
    times = np.arange(200) % 3
    model = make(rules, record_weights=True).fit(X, y, times)
    assert model.weights_.shape == (model.n_iter_ + 1, 200) + (3,) * (n_classes > 2)
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1.0, rtol=1e-12)
    assert not model.weights_[:, times == 0].any()
    assert not hasattr(make(rules).fit(X, y, times), "weights_")


@every_kind_with("more", [{}, {"class_weight": "balanced"}, {"max_bins": 9, "min_leaf_mass": 0.1}])
def test_02_a_whole_weight_is_a_repetition_under_every_limit(rules, n_classes, more):
    X, y = data(n_classes, n=400)
    table = pd.DataFrame(X, columns=list("abcd")).assign(
        level=np.random.default_rng(1).integers(0, 90, 400).astype(str)
    )
    times = np.random.default_rng(2).integers(0, 4, 400)
    more = {"n_estimators": 3, "cat_smoothing": 1.0, **more}  # little, so that splits ask for levels
    weighted = make(rules, **more).fit(table, y, times)
    rows = np.random.default_rng(3).permutation(np.repeat(np.arange(400), times))
    repeated = make(rules, **more).fit(table.iloc[rows], y[rows])
    for one, other in zip(trees_of(weighted), trees_of(repeated), strict=True):
        for name in ("feature", "threshold", "missing_left", "categories"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        np.testing.assert_allclose(one.mass, other.mass, rtol=1e-12)
    score = repeated.decision_function(table)
    np.testing.assert_allclose(weighted.decision_function(table), score, rtol=1e-9, atol=1e-9)


def test_03_a_negative_weight_is_refused_by_name():
    X, y = data()
    weight = np.ones(200)
    weight[7] = -1
    makers = [
        make(),
        make(class_weight="balanced"),
        make(estimator=LogisticRegression()),
        TemperedTreeClassifier(),
    ]
    for model in makers:
        with pytest.raises(ValueError, match=r"^sample_weight\[7\] is -1\.0; weights must be >= 0$"):
            model.fit(np.nan_to_num(X), y, weight)
    with pytest.raises(ValueError, match=r"^sample_weight_val\[7\] is -1\.0; weights must be >= 0$"):
        make().fit(X, y, X_val=X, y_val=y, sample_weight_val=weight)
    with pytest.raises(ValueError, match=r"^class_weight gives the factors \[1\.0, -0\.5\]"):
        make(class_weight={"bee": -0.5}).fit(X, y)


@every_kind
def test_04_class_weights_are_factors_on_the_weights(rules, n_classes):
    X, y = data(n_classes)
    weight = np.random.default_rng(1).integers(1, 4, 200)
    factor = dict(zip(NAMES, (1.0, 5.0, 0.5), strict=False))
    by_hand = make(rules).fit(X, y, weight * np.vectorize(factor.get)(y))
    named = {name: factor[name] for name in np.unique(y)}
    assert bits(make(rules, class_weight=named).fit(X, y, weight)) == bits(by_hand)
    share = {name: weight[y == name].sum() for name in np.unique(y)}
    balanced = weight * np.array([weight.sum() / n_classes / share[name] for name in y])
    model = make(rules, class_weight="balanced").fit(X, y, weight)
    np.testing.assert_allclose(
        model.decision_function(X), make(rules).fit(X, y, balanced).decision_function(X), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_04_probabilities_are_those_of_the_weighted_rows(t):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (10_000, 1))
    y = rng.random(10_000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    model = TAdaBoostClassifier(t, n_estimators=40, max_leaf_nodes=4, class_weight={True: 5.0}).fit(X, y)
    share, weight = model.predict_proba(X)[:, 1], np.where(y, 5.0, 1.0)
    for low in np.arange(0, 1, 0.2):
        rows = (share >= low) & (share < low + 0.2)
        assert np.average(y[rows], weights=weight[rows]) == pytest.approx(share[rows].mean(), abs=0.05)


# Missing values and categories


@every_kind
def test_05_a_training_row_lies_in_the_leaf_that_apply_gives(rules, n_classes, tmp_path):
    X, y = data(n_classes, missing=0.3)
    table = pd.DataFrame(X, columns=list("abcd")).assign(level=np.where(np.arange(200) % 3, y, None))
    fitted = make(rules, min_samples_leaf=1).fit(table, y)
    for model in (fitted, twin(fitted, tmp_path)):
        leaves = model.apply(table).reshape(200, -1)
        for tree, leaf in zip(trees_of(model), leaves.T, strict=True):
            if len(tree.feature) > 1 or tree.value[0] != 0:
                in_leaf = tree.feature == -1
                counts = np.bincount(leaf, minlength=len(tree.mass))
                np.testing.assert_array_equal(counts[in_leaf], tree.mass[in_leaf])


@every_kind
def test_06_without_missing_values_in_training_they_go_to_the_heavier_child(rules, n_classes, tmp_path):
    X, y = data(n_classes, missing=0.0)
    table = pd.DataFrame(X, columns=list("abcd")).assign(level=np.tile(["u", "v", "w", "x"], 50))
    fitted = make(rules).fit(table, y)
    nothing = pd.DataFrame({"a": [NAN], "b": [NAN], "c": [NAN], "d": [NAN], "level": [None]})
    for model in (fitted, twin(fitted, tmp_path)):
        for tree, leaf in zip(trees_of(model), model.apply(nothing).ravel(), strict=True):
            node = 0
            while tree.feature[node] >= 0:
                left, right = tree.left[node], tree.right[node]
                assert tree.missing_left[node] == (tree.mass[left] >= tree.mass[right])
                node = left if tree.missing_left[node] else right
            assert leaf == node
    first = export_text(fitted, label="bee").splitlines()[0]
    assert first.endswith("or missing") == bool(trees_of(fitted)[n_classes // 3].missing_left[0])


@every_kind_with("dtype", ["f8", "f4", object])
def test_07_missing_values_are_taken_and_the_tag_says_so(rules, n_classes, dtype):
    X, y = data(n_classes, missing=0.5)
    X[:, 2] = NAN
    model = make(rules).fit(X.astype(dtype), y)
    assert np.isfinite(model.predict_proba(X.astype(dtype))).all()
    assert get_tags(model).input_tags.allow_nan
    assert not get_tags(make(estimator=LogisticRegression())).input_tags.allow_nan


@every_kind
def test_08_categories_are_matched_by_label(rules, n_classes, tmp_path):
    cells = np.array(["a", "b", "c", "d"] * 50)
    y = NAMES[np.array([0, 1, 2, 0] if n_classes == 3 else [0, 1, 1, 0]).repeat(1)[np.arange(200) % 4]]
    fitted = make(rules).fit(pd.DataFrame({"k": pd.Categorical(cells)}), y)
    tables = [
        pd.DataFrame({"k": pd.Categorical(cells, categories=["d", "new", "b", "a", "c"])}),
        pd.DataFrame({"k": cells}),
        pl.DataFrame({"k": pl.Series(cells.tolist(), dtype=pl.Enum(["c", "a", "d", "b"]))}),
        pl.DataFrame({"k": pl.Series(cells.tolist(), dtype=pl.Categorical)}),
        pa.table({"k": pa.array(cells).dictionary_encode()}),
    ]
    for model in (fitted, twin(fitted, tmp_path)):
        assert (model.predict(tables[0]) == y).all()
        for table in tables[1:]:
            np.testing.assert_array_equal(model.decision_function(table), model.decision_function(tables[0]))
        for row in range(4):  # alone, so that its code is 0
            assert model.predict(pd.DataFrame({"k": pd.Categorical(cells[[row]])}))[0] == y[row]


def three_columns(cells):
    frame = pd.DataFrame({"k": cells})
    return [
        frame,
        pl.DataFrame({"k": cells}),
        pl.DataFrame({"k": cells}).to_arrow(),
        np.array(cells, object)[:, None],
    ]


@every_kind
def test_09_a_level_that_training_never_saw_is_missing(rules, n_classes, tmp_path):
    fitted_to, new, gap = (
        three_columns(cells) for cells in (["a", "b", "c"] * 60, ["new", ""], [None, None])
    )
    y = NAMES[np.arange(180) % n_classes]
    for train, unseen, missing in zip(fitted_to, new, gap, strict=True):
        fitted = make(rules, categorical_features=[0]).fit(train, y)
        for model in (fitted, twin(fitted, tmp_path)):
            scores = model.decision_function(unseen)
            np.testing.assert_array_equal(scores, model.decision_function(missing))
            assert np.isfinite(scores).all()


@every_kind
def test_10_a_thousand_levels_fit_and_the_rarest_share_a_bin(rules, n_classes, tmp_path):
    rng = np.random.default_rng(0)
    level = np.concatenate([np.arange(1000), (1000 * rng.random(4000) ** 3).astype(int)])
    y = NAMES[level % n_classes]
    table = pd.DataFrame({"k": [f"level {k:03}" for k in level]})
    fitted = make(rules, max_leaf_nodes=None, max_depth=6).fit(table, y)
    assert fitted.score(table, y) > 1 / n_classes + 0.1
    counts = np.bincount(level)
    rare = np.argsort(-counts, kind="stable")[254:]  # as many levels as bins, less one, have their own
    for model in (fitted, twin(fitted, tmp_path)):
        scores = model.decision_function(pd.DataFrame({"k": [f"level {k:03}" for k in rare]}))
        assert len(np.unique(scores, axis=0)) == 1


@every_kind_with("dtype", ["f8", "i8", "i2"])
def test_11_a_number_that_is_no_trained_category_is_unknown(rules, n_classes, dtype, tmp_path):
    X = (np.arange(120)[:, None] % 6).astype(dtype)
    fitted = make(rules, categorical_features=[0]).fit(X, NAMES[X[:, 0].astype(int) % n_classes])
    unknown = [[-1], [400], [NAN], [2.5], [1e300], [-(2**31) - 1], [2**63]]
    for model in (fitted, twin(fitted, tmp_path)):
        assert (model.predict(X) == NAMES[X[:, 0].astype(int) % n_classes]).all()
        assert len(np.unique(model.decision_function(unknown), axis=0)) == 1
        codes = np.array([[-1], [400]], dtype)
        np.testing.assert_array_equal(model.decision_function(codes), model.decision_function(unknown[:2]))


@every_kind
def test_12_a_missing_entry_in_a_column_of_categories_is_no_error(rules, n_classes):
    y = NAMES[np.arange(120) % n_classes]
    cells = [None if k % 4 == 3 else "abc"[k % 3] for k in range(120)]
    tables = [pd.DataFrame({"k": pd.Series(cells, dtype=kind)}) for kind in (object, "category", "string")]
    tables += [pd.DataFrame({"k": [NAN if c is None else c for c in cells]}), pl.DataFrame({"k": cells})]
    tables += [pl.DataFrame({"k": pl.Series(cells, dtype=pl.Categorical)}), pa.table({"k": cells})]
    models = [make(rules).fit(table, y) for table in tables]
    assert all(bits(model) == bits(models[0]) for model in models)
    scores = [model.decision_function(table) for model, table in zip(models, tables, strict=True)]
    assert all(np.array_equal(one, scores[0]) for one in scores)


@every_kind
def test_13_nullable_columns_are_those_of_the_plain_type(rules, n_classes):
    y = NAMES[np.arange(120) % n_classes]
    plain = pd.DataFrame(
        {"n": np.arange(120.0) % 7, "flag": np.arange(120.0) % 5 > 2, "text": ["u", "v", "w"] * 40}
    )
    plain = plain.astype({"flag": float})
    plain.loc[::6, ["n", "flag"]] = NAN
    plain.loc[::9, "text"] = None
    flag = plain["flag"].map({0.0: False, 1.0: True})
    others = [
        pd.DataFrame(
            {
                "n": plain["n"].astype("Int64"),
                "flag": flag.astype("boolean"),
                "text": plain["text"].astype(kind),
            }
        )
        for kind in ("string", "string[pyarrow]", pd.ArrowDtype(pa.string()))
    ]
    others.append(others[0].convert_dtypes(dtype_backend="pyarrow"))
    model = make(rules).fit(plain, y)
    for table in others:
        assert bits(make(rules).fit(table, y)) == bits(model)
        np.testing.assert_array_equal(model.decision_function(table), model.decision_function(plain))


# Names, labels and input checks


@pytest.mark.parametrize(
    "library", [pd.DataFrame, lambda columns: pl.DataFrame(dict(columns))], ids=["pandas", "polars"]
)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "apply"])
def test_14_columns_in_another_order_are_refused(library, method):
    X, y = data()
    model = make().fit(library(pd.DataFrame(X, columns=list("ABCD"))), y)
    with pytest.raises(ValueError, match=r"Feature names must be in the same order as they were in fit"):
        getattr(model, method)(library(pd.DataFrame(X[:, ::-1], columns=list("DCBA"))))


def test_14_the_command_line_puts_columns_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = data()
    table = pd.DataFrame(X, columns=list("ABCD")).assign(y=y)
    table.to_csv("train.csv", index=False)
    table[list("yDCBA")].to_csv("other.csv", index=False)
    run = CliRunner().invoke
    run(main, ["fit", "train.csv", "--target", "y", "--folds", "0"], catch_exceptions=False)
    straight, other = (
        run(main, ["predict", "train.tada", file, "--proba"]).stdout for file in ("train.csv", "other.csv")
    )
    assert straight == other
    assert len(straight.splitlines()) == 201


@every_kind
def test_15_fewer_or_more_columns_are_refused_with_both_numbers(rules, n_classes, tmp_path):
    X, y = data(n_classes)
    fitted = make(rules).fit(X, y)
    for model in (fitted, twin(fitted, tmp_path)):
        for n in (3, 5):
            with pytest.raises(
                ValueError, match=rf"^X has {n} features, but TAdaBoostClassifier is expecting 4 features"
            ):
                model.predict(np.ones((2, n)))
        with pytest.raises(ValueError, match="X has 3 features, but TAdaBoostClassifier is expecting 4"):
            next(model.staged_predict(X[:, :3]))


def test_16_arrays_have_no_names_and_cause_no_warning(tmp_path):  # every warning is an error here
    X, y = data()
    for table in (X, X.tolist(), np.asfortranarray(X), pd.DataFrame(X).to_numpy()):
        fitted = make().fit(table, y)
        for model in (fitted, twin(fitted, tmp_path)):
            assert not hasattr(model, "feature_names_in_")
            model.predict(table)
            model.apply(table)
    assert not hasattr(make().fit(pd.DataFrame(X), y), "feature_names_in_")  # whose columns are integers


@pytest.mark.parametrize("name", ['[км],"x"<b>', "a: {b}, 'c' \\", "$x$ & \U0001f333", "line\nend", " "])
def test_17_any_name_of_a_column_is_taken_as_it_is(name, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({name: np.arange(60.0), "other": ["u", "v"] * 30})
    y = np.where(np.arange(60) > 30, "yes", "no")
    fitted = make(categorical_features=["other"]).fit(table, y)
    model = twin(fitted, tmp_path)
    assert model.feature_names_in_.tolist() == [name, "other"]
    np.testing.assert_array_equal(model.predict(table), fitted.predict(table))
    assert (name if name.isprintable() else repr(name)) in export_text(model)
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", r"Glyph \d+ .* missing from font"
        )  # that of the plot, not our business
        TreeDisplay.from_estimator(model).figure_.canvas.draw()
    pyplot.close("all")
    if name.strip() == name:  # the command line takes spaces around a name for none of it
        table.assign(y=y).to_csv("d.csv", index=False)
        run = CliRunner().invoke
        run(main, ["fit", "d.csv", "--target", "y", "--folds", "0"], catch_exceptions=False)
        assert name in json.loads(run(main, ["inspect", "d.tada", "--json"]).stdout)["importances"]
        page = (tmp_path / "d.html").read_text("utf-8")
        assert html.escape(name, quote=False) in page.replace("&#34;", '"').replace("&#39;", "'")
        assert len(run(main, ["predict", "d.tada", "d.csv"]).stdout.splitlines()) == 61


@pytest.mark.parametrize(
    ("cell", "error", "match"),
    [
        ([1], TypeError, r"^column 'k' holds a list in row 3; "),
        ({"a": 1}, TypeError, r"^column 'k' holds a dict in row 3; "),
        (b"a", TypeError, r"^column 'k' holds a bytes in row 3; "),
        (1 + 2j, TypeError, r"^column 'k' holds a complex in row 3; "),
        (7, ValueError, r"^column 'k' mixes text and numbers \('a' in row 0, 7 in row 3\)"),
    ],
)  # fmt: skip
def test_18_a_bad_cell_is_named_by_column_and_row(cell, error, match):
    cells = ["a", "b", None, cell] * 10
    with pytest.raises(error, match=match):
        make().fit(pd.DataFrame({"k": pd.Series(cells, dtype=object)}), [0, 1] * 20)
    model = make().fit(pd.DataFrame({"k": ["a", "b"] * 20}), [0, 1] * 20)
    if error is TypeError:
        with pytest.raises(error, match=match):
            model.predict(pd.DataFrame({"k": pd.Series(cells, dtype=object)}))
        with pytest.raises(error, match=match.replace("'k'", "0")):
            make().fit(np.array([*cells, None], object)[:-1, None], [0, 1] * 20)
    with pytest.raises(ValueError, match=r"^column 1 holds infinity in row 2; "):
        make().fit([[0.0, 1.0], [0.0, NAN], [0.0, float("-inf")]], [0, 1, 0])


@pytest.mark.parametrize(
    "labels",
    [["no", "yes", "so"], [-1, 1, 5], [1, 2, 3], [False, True], [0.0, 2.0, 7.0], [2**62, 3, 5]],
    ids=str,
)
@pytest.mark.parametrize("dtype", [None, object])
def test_19_labels_come_back_as_they_went_in(labels, dtype, tmp_path):
    labels = np.array(labels, dtype)
    for n_classes in {2, len(labels)}:
        X, y = data(n_classes, missing=0.0)
        given = labels[np.searchsorted(NAMES, y)]
        fitted = make().fit(X, given)
        for model in (fitted, twin(fitted, tmp_path)):
            predicted = model.predict(X)
            assert (predicted == given).mean() > 0.6
            assert {type(label) for label in predicted.tolist()} == {type(label) for label in given.tolist()}
            assert set(predicted.tolist()) <= set(labels.tolist())


@every_kind_with("dtype", ["u1", "i8", "i2", "?", "f2", "f4", ">f8", ">i4", object, "longdouble"])
def test_20_any_type_of_number_predicts_as_float64(rules, n_classes, dtype):
    whole = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 9, (90, 3))
    y = NAMES[whole.sum(axis=1) % n_classes]
    model = make(rules).fit(whole.astype(float), y)
    assert bits(make(rules).fit(whole.astype(dtype), y)) == bits(model)
    np.testing.assert_array_equal(
        model.decision_function(whole.astype(dtype)), model.decision_function(whole.astype(float))
    )


# Persistence and export


def test_21_a_fresh_process_gives_the_same_labels_probabilities_and_names(tmp_path):
    script, expected = "import json, numpy, pandas, tadaboost\n", []
    for i, (rules, n_classes) in enumerate([(r, k) for r in RULES.values() for k in (2, 3)]):
        X, y = data(n_classes)
        table = pd.DataFrame(X, columns=["å", "b", "c", "d"])
        model = make(rules).fit(table, y)
        save(model, tmp_path / f"{i}.tada")
        np.save(tmp_path / f"{i}.npy", X)
        script += f"""
model = tadaboost.load({str(tmp_path / f"{i}.tada")!r})
X = pandas.DataFrame(numpy.load({str(tmp_path / f"{i}.npy")!r}), columns=model.feature_names_in_)
said = [model.predict(X).tolist(), model.predict_proba(X).tolist(), model.classes_.tolist(), list(X.columns)]
print(json.dumps(said))
"""
        said = [model.predict(table), model.predict_proba(table), model.classes_, model.feature_names_in_]
        expected.append([part.tolist() for part in said])
    assert [json.loads(line) for line in run_script(script).splitlines()] == expected


@every_kind
def test_22_a_file_holds_fixed_widths_little_endian_and_no_objects(rules, n_classes, tmp_path):
    X, y = data(n_classes)
    save(make(rules, record_weights=True).fit(X.astype(">f8"), y), tmp_path / "m.tada")
    with zipfile.ZipFile(tmp_path / "m.tada") as archive:
        for name in archive.namelist():
            if name != "model.json":
                array = np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
                fields = [array.dtype[f] for f in array.dtype.names] if array.dtype.names else [array.dtype]
                assert all(f.str in ("<f8", "<i8", "<i4", "|b1") for f in fields), (name, array.dtype)
        json.loads(archive.read("model.json"))


@every_kind
def test_23_skops_distrusts_nothing_but_our_classes(rules, n_classes):
    skops = pytest.importorskip("skops.io")
    X, y = data(n_classes)
    table = pd.DataFrame(X, columns=list("abcd")).assign(k=y)
    ours = {
        "tadaboost.classifier.TAdaBoostClassifier",
        "tadaboost.single.TemperedTreeClassifier",
        "tadaboost.tree.Tree",
    }
    tree = {
        name: value
        for name, value in make(rules).get_params().items()
        if name in TemperedTreeClassifier().get_params()
    }
    for model in (make(rules, record_weights=True, class_weight="balanced"), TemperedTreeClassifier(**tree)):
        stored = skops.dumps(model.fit(table, y))
        assert set(skops.get_untrusted_types(data=stored)) <= ours
        loaded = skops.loads(stored, trusted=sorted(ours))
        np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))


@every_kind_with("near", [20180130.0, 3e10, 1e-300, 2.0**53])
def test_24_a_threshold_survives_a_file_to_the_bit(rules, n_classes, near, tmp_path):
    rng = np.random.default_rng(0)
    step = np.spacing(near)
    X = near + step * rng.integers(0, 50, (300, 2))
    y = NAMES[(np.rint((X[:, 0] - near) / step).astype(int) // 7) % n_classes]
    model = make(rules).fit(X, y)
    loaded = twin(model, tmp_path)
    assert bits(loaded) == bits(model)
    np.testing.assert_array_equal(loaded.apply(X), model.apply(X))
    thresholds = {repr(float(x)) for tree in trees_of(model) for x in tree.threshold[tree.feature >= 0]}
    text = "".join(export_text(model, j, label=k) for j in range(model.n_iter_) for k in model.classes_)
    assert thresholds == set(re.findall(r"<= (\S+)", text))


@every_kind
def test_25_rows_a_hair_to_each_side_of_a_threshold_part(rules, n_classes):
    X, y = data(n_classes, missing=0.0)
    X = X / 3 + 20180130
    model = make(rules).fit(X, y)
    pairs = []
    for j, tree in enumerate(trees_of(model)):
        for node in np.flatnonzero(tree.feature >= 0):
            rows = X[:1].repeat(2, axis=0)
            rows[:, tree.feature[node]] = tree.threshold[node], np.nextafter(tree.threshold[node], np.inf)
            pairs.append(rows)
            left, right = model.apply(rows).reshape(2, -1)[:, j]
            assert left != right or node > 0
    rows = np.concatenate(pairs)
    session = onnxruntime.InferenceSession(export.to_onnx(model).SerializeToString())
    label, _, score = session.run(None, {"X": rows})
    assert label.tolist() == model.predict(rows).tolist()
    np.testing.assert_array_equal(score, model.decision_function(rows))  # the largest difference is 0


@every_kind
def test_26_the_values_of_the_leaves_add_up_to_the_score(rules, n_classes):
    X, y = data(n_classes)
    model = make(rules).fit(X, y)
    leaves, alpha = model.apply(X).reshape(200, -1), model.estimator_weights_.ravel()
    score = np.zeros((200, 1 if n_classes == 2 else 3))
    clip = 1 / abs(1 - model.t) if model.clip else np.inf
    for j, tree in enumerate(trees_of(model)):
        k = j % score.shape[1]
        score[:, k] = np.clip(score[:, k] + alpha[j] * tree.value[leaves[:, j]], -clip, clip)
    np.testing.assert_allclose(
        score.reshape(model.decision_function(X).shape), model.decision_function(X), atol=1e-12
    )
    if model.clip:
        with pytest.raises(ValueError, match="a clipped score is no sum"):
            export.to_shap(model)
        return
    base, values = explain(model, X)
    np.testing.assert_allclose(base + values.sum(axis=1), model.decision_function(X), atol=1e-6)
