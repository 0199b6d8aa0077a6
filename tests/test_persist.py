# SPDX-License-Identifier: Apache-2.0
"""`.tada` files: what comes back is what was saved, and a bad file is one line, never more."""

import io
import json
import os
import re
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from tadaboost import ModelFileError, TAdaBoostClassifier, TemperedTreeClassifier, load, save


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            'число [км],"x"<b>': rng.normal(3e10, 7, n),
            "date": rng.integers(20180101, 20181231, n).astype(float),
            "c": rng.choice(["é", "b", "\U0001f333", 'q"'], n),
            "k": pd.Categorical(rng.choice([1, 2, 30], n)),
        }
    )
    X.loc[::7, "date"] = np.nan
    X.loc[::9, "c"] = None
    y = np.where((X["c"] == "b") ^ (X.iloc[:, 0] > 3e10), "yes", "no")
    return X, y


def fitted(**settings):
    X, y = table()
    settings = {"cat_smoothing": 0.0} | settings  # so that so few rows give categorical splits
    return TAdaBoostClassifier(n_estimators=5, min_samples_leaf=2, **settings).fit(X, y)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(scope="module")
def members(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("file") / "model.tada"
    save(model, path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def edited(members, **changes):
    about = json.loads(members["model.json"])
    about.update(changes)
    return members | {"model.json": json.dumps(about).encode()}


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def array(members, name):
    return np.load(io.BytesIO(members[f"{name}.npy"]))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"t": 1.0, "record_weights": True},
        {"t": 0.3, "clip": True, "class_weight": {"no": 1, "yes": 2.5}},
        {"t": np.float64(1.2), "categorical_features": np.array([False, False, True, True]), "n_jobs": 1},
        {"categorical_features": ["c", "k"], "max_depth": np.int64(3), "class_weight": "balanced"},
    ],
)
def test_a_loaded_model_is_the_saved_one(tmp_path, settings):
    X, _ = table(seed=1)
    model = fitted(**settings)
    save(model, tmp_path / "m.tada")
    loaded = load(tmp_path / "m.tada")
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.apply(X), model.apply(X))
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
    assert loaded.feature_names_in_.tolist() == X.columns.tolist()
    assert set(vars(loaded)) == set(vars(model))
    assert loaded.rounds_.tobytes() == model.rounds_.tobytes()
    for name in ("classes_", "estimator_weights_", "weights_"):
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    for old, new in zip(model.trees_, loaded.trees_, strict=True):
        for a, b in zip(old, new, strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype
    for name, value in model.get_params().items():
        np.testing.assert_array_equal(loaded.get_params()[name], value)


def test_a_tree_comes_back(tmp_path):
    X, y = table()
    tree = TemperedTreeClassifier(t=0.9).fit(X, y)
    save(tree, tmp_path / "t.tada")
    np.testing.assert_array_equal(load(tmp_path / "t.tada").predict_proba(X), tree.predict_proba(X))


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["é\U0001f333", 'a"\\\n'], dtype=object),
        np.array([-1, 1]),
        np.array([1, 2], np.uint8),
        np.array([False, True]),
        np.array([-1.0, 2.0], np.float32),
        np.array([3, 2**62]),
        np.array(["only"]),
        np.array(["\ud800", "\x00z"]),
    ],
    ids=lambda labels: f"{labels.dtype}",
)
def test_labels_come_back_with_their_type(tmp_path, labels):
    X = np.arange(40.0)[:, None]
    y = labels[(np.arange(40) // 20) % len(labels)]
    model = TAdaBoostClassifier(n_estimators=2).fit(X, y)
    save(model, tmp_path / "m.tada")
    loaded = load(tmp_path / "m.tada")
    assert loaded.classes_.dtype == model.classes_.dtype == labels.dtype
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert set(loaded.predict(X).tolist()) <= set(labels.tolist())


@pytest.mark.parametrize("labels", [["no", "yes"], ["", "a"], [""]])
def test_labels_may_be_shorter_than_their_type(tmp_path, labels):
    y = np.array([*labels, "never seen"])[np.arange(40) % len(labels)]
    model = TAdaBoostClassifier(n_estimators=2).fit(np.arange(40.0)[:, None], y)
    save(model, tmp_path / "m.tada")
    assert load(tmp_path / "m.tada").classes_.tolist() == labels


def test_the_same_model_gives_the_same_bytes(tmp_path, model):
    save(model, tmp_path / "a.tada")
    save(fitted(), tmp_path / "b.tada")
    save(load(tmp_path / "a.tada"), tmp_path / "c.tada")
    content = (tmp_path / "a.tada").read_bytes()
    assert content == (tmp_path / "b.tada").read_bytes() == (tmp_path / "c.tada").read_bytes()


def test_stored_types_are_fixed_width_and_little_endian(members):
    for name, data in members.items():
        if name.endswith(".npy"):
            dtype = np.load(io.BytesIO(data), allow_pickle=False).dtype
            for kind in [dtype[field] for field in dtype.names] if dtype.names else [dtype]:
                assert kind.str[0] in "<|"
                assert kind.kind in "bif"


def test_what_the_command_line_knows_travels_along(tmp_path):
    model = fitted()
    model.table_ = {"target": "y", "columns": [{"name": "date", "kind": "date"}]}
    save(model, tmp_path / "m.tada")
    assert load(tmp_path / "m.tada").table_ == model.table_


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            lambda m: setattr(m, "classes_", np.array([1 + 0j, 2])),
            "^labels of dtype complex128 cannot be saved",
        ),
        (
            lambda m: m.set_params(random_state=np.random.RandomState(0)),
            "^parameter random_state is a RandomState",
        ),
        (
            lambda m: setattr(m, "__class__", type("Mine", (TAdaBoostClassifier,), {})),
            "^Mine cannot be saved; TAda",
        ),
    ],
)
def test_what_a_file_cannot_hold_is_named(tmp_path, change, match):
    model = fitted()
    change(model)
    with pytest.raises(TypeError, match=match):
        save(model, tmp_path / "m.tada")
    assert os.listdir(tmp_path) == []


def test_only_our_fitted_models_are_saved(tmp_path):
    with pytest.raises(TypeError, match=r"^DecisionTreeClassifier cannot be saved"):
        save(DecisionTreeClassifier(), tmp_path / "m.tada")
    with pytest.raises(NotFittedError, match="not fitted yet"):
        save(TAdaBoostClassifier(), tmp_path / "m.tada")


def test_a_missing_folder_and_a_missing_file_keep_their_errors(tmp_path, model):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        save(model, tmp_path / "nowhere" / "m.tada")
    with pytest.raises(FileNotFoundError, match=r"none\.tada"):
        load(tmp_path / "none.tada")
    with pytest.raises(IsADirectoryError, match="directory"):
        load(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        save(model, tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize("content", [b"", b"P", b"a,b\n1,2\n", b"\x80\x04pickle", b"\x93NUMPY" + bytes(99)])
def test_a_foreign_file_is_one_line(tmp_path, content):
    path = tmp_path / "m.tada"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=rf"^{re.escape(str(path))}: not a tadaboost model$"):
        load(path)


def test_a_foreign_zip_is_one_line(tmp_path):
    path = write(tmp_path / "m.tada", {"word/document.xml": b"<x/>"})
    with pytest.raises(ModelFileError, match=r"m\.tada: not a tadaboost model$"):
        load(path)
    path = write(tmp_path / "m.tada", {"model.json": b'{"format": "one"}'})
    with pytest.raises(ModelFileError, match=r"m\.tada: not a tadaboost model$"):
        load(path)


def test_a_newer_format_says_upgrade(tmp_path, members):
    path = write(tmp_path / "m.tada", edited(members, format=99, version="7.1"))
    with pytest.raises(
        ModelFileError, match=r"m.tada: written by tadaboost 7\.1, format 99; upgrade tadaboost$"
    ):
        load(path)


def test_every_truncation_is_an_error(tmp_path, model):
    path = tmp_path / "m.tada"
    save(model, path)
    content = path.read_bytes()
    for size in range(0, len(content), max(1, len(content) // 97)):
        path.write_bytes(content[:size])
        with pytest.raises(ModelFileError, match=r"^[^\n]*m\.tada: [^\n]*$"):
            load(path)


def test_packed_members_are_refused(tmp_path, members):
    path = write(tmp_path / "m.tada", members | {"value.npy": bytes(10**6)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match="which is packed"):
        load(path)


def test_a_header_cannot_ask_for_memory(tmp_path, members):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    for name in ("value.npy", "tree_start.npy", "estimator_weights.npy"):
        data = header.getvalue().replace(b"<f8", b"<i8") if name == "tree_start.npy" else header.getvalue()
        with pytest.raises(ModelFileError, match="cannot be right"):
            load(write(tmp_path / "m.tada", members | {name: data}))
    start = np.array([0, 10**15])
    with pytest.raises(ModelFileError, match="cannot be right"):
        load(write(tmp_path / "m.tada", members | {"tree_start.npy": npy(start)}))


def change(name, index, value):
    def apply(members):
        changed = array(members, name)
        changed[index] = value
        return members | {f"{name}.npy": npy(changed)}

    return apply


BAD_ARRAYS = {
    "child outside": change("left", 0, 10**6),
    "child is its parent": change("left", 0, 0),
    "negative child": change("right", 0, -5),
    "unknown column": change("feature", 0, 4),
    "negative column": change("feature", 0, -2),
    "infinite value": change("value", -1, np.inf),
    "infinite score": lambda m: change("value", -1, 1e200)(change("estimator_weights", -1, 1e200)(m)),
    "threshold NaN": change("threshold", 0, np.nan),
    "mass NaN": change("mass", 0, np.nan),
    "gain infinite": change("gain", 0, np.inf),
    "alpha NaN": change("estimator_weights", 0, np.nan),
    "unknown level": change("categories", -1, 10**6),
    "negative level": change("categories", 0, -1),
    "offsets fall": change("category_start", 1, 10**6),
    "trees overlap": change("tree_start", 1, 10**6),
    "no nodes": lambda m: m | {"tree_start.npy": npy(np.array([0]))},
    "categorical turned": lambda m: m | {"is_categorical.npy": npy(~array(m, "is_categorical"))},
    "other dtype": lambda m: m | {"value.npy": npy(array(m, "value").astype(np.float32))},
    "other byte order": lambda m: m | {"value.npy": npy(array(m, "value").astype(">f8"))},
    "other shape": lambda m: m | {"value.npy": npy(array(m, "value")[:, None])},
    "objects": lambda m: m | {"value.npy": npy(np.array([{}], dtype=object))},
    "gone": lambda m: {name: data for name, data in m.items() if name != "right.npy"},
    "short rounds": lambda m: m | {"rounds.npy": npy(array(m, "rounds")[:-1])},
}


@pytest.mark.parametrize("damage", BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_a_wrong_array_is_refused(tmp_path, members, damage):
    with pytest.raises(ModelFileError, match=r"^[^\n]*m\.tada: damaged model file [^\n]*$"):
        load(write(tmp_path / "m.tada", damage(members)))


@pytest.mark.parametrize(
    "changes",
    [
        {"class": "Popen"},
        {"parameters": {"t": 5.0}},
        {"parameters": {"t": 0.5, "shell": True}},
        {"parameters": []},
        {"classes": {"dtype": "<U3", "values": ["b", "a"]}},
        {"classes": {"dtype": "<U3", "values": ["a", 1]}},
        {"classes": {"dtype": "O", "values": [1, 2]}},
        {"classes": {"dtype": "<i8", "values": [1, 2**80]}},
        {"classes": {"dtype": "|b1", "values": [0, 1]}},
        {"classes": {"dtype": "<U999999999", "values": ["no", "yes"]}},
        {"classes": {"dtype": "object", "values": []}},
        {"levels": [None]},
        {"levels": [None, None, ["a", "a"], [1]]},
        {"levels": [None, None, [["a"]], [1]]},
        {"levels": [None, None, None, None]},
        {"names": ["a", "b"]},
        {"names": ["a", "a", "b", "c"]},
        {"n_features": 10**9},
        {"n_features": True},
        {"temperature": "hot"},
        {"temperature": 2},
        {"clip_at": 0},
        {"stop_reason": None},
        {"table": 3},
        {"format": 0},
    ],
)
def test_a_wrong_description_is_refused(tmp_path, members, changes):
    with pytest.raises(ModelFileError, match=r"^[^\n]*m\.tada: damaged model file [^\n]*$"):
        load(write(tmp_path / "m.tada", edited(members, **changes)))


def test_a_file_whose_classes_became_one_predicts_it_with_certainty(tmp_path, members):
    loaded = load(write(tmp_path / "m.tada", edited(members, classes={"dtype": "<U2", "values": ["no"]})))
    X, _ = table()
    np.testing.assert_array_equal(loaded.predict_proba(X), np.ones((len(X), 1)))


@pytest.mark.parametrize(
    "text", [b"[" * 10**5, b'{"format": NaN}', b'{"format": 1}', b"\xff\xfe", b"9" * 10**5, b"{"]
)
def test_a_strange_description_is_refused(tmp_path, members, text):
    with pytest.raises(ModelFileError, match=r"^[^\n]*m\.tada: [^\n]*$"):
        load(write(tmp_path / "m.tada", members | {"model.json": text}))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"class": "TBlendClassifier"}, "the class cannot be right"),
        ({"parameters": {"growth": "spiral"}}, r"The 'growth' parameter .*"),
    ],
    ids=["class", "value"],
)
def test_what_another_version_knows_may_be_no_damage(tmp_path, members, change, reason):
    about = json.loads(members["model.json"])
    change = change | {"parameters": about["parameters"] | change.get("parameters", {}), "version": "99.1"}
    path = write(tmp_path / "m.tada", edited(members, **change))
    wanted = rf"damaged model file \({reason}\), or tadaboost 99\.1, which wrote it, is needed$"
    with pytest.raises(ModelFileError, match=wanted):
        load(path)


def test_a_path_below_a_file_is_named_as_it_was_given(tmp_path, model):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match=r"'[^']*/file/m\.tada'$"):
        save(model, tmp_path / "file" / "m.tada")
