# SPDX-License-Identifier: Apache-2.0
"""A file of every release is read as it was written; `tests/models/write.py` adds those of a new one."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tadaboost
from tadaboost import ModelFileError, forest, load, persist, rounds, save

MODELS = sorted(Path(__file__).with_name("models").glob("*.tada"))


@pytest.fixture(params=MODELS, ids=lambda path: path.stem)
def path(request):
    return request.param


def expected(path):
    told = json.loads(path.with_suffix(".json").read_text("utf-8"))
    X = pd.DataFrame(**told.pop("X"))
    X["colour"] = X["colour"].astype(object)
    return X.astype({"size": float, "level": float}), told


def test_there_are_files_of_this_release():
    for name in ("binary", "three", "tree"):
        assert Path(__file__).with_name("models") / f"{tadaboost.__version__}-{name}.tada" in MODELS, (
            "a release adds files: run tests/models/write.py"
        )


def test_a_model_of_an_earlier_release_predicts_what_it_did(path):
    X, told = expected(path)
    model = load(path)
    assert model.decision_function(X).tolist() == told["decision_function"]
    assert model.predict(X).tolist() == told["predict"]
    np.testing.assert_allclose(model.predict_proba(X), told["predict_proba"], rtol=1e-13, atol=0)
    assert np.isfinite(model.feature_importances_).all()


def test_between_them_the_files_hold_categories_missing_cells_and_unseen_levels():
    for path in MODELS:
        X, _ = expected(path)
        assert X.isna().any()[["size", "colour", "level"]].all()
        assert "never seen" in set(X["colour"])
        with zipfile.ZipFile(path) as archive, archive.open("is_categorical.npy") as member:
            assert np.load(member).any()


def test_a_model_of_an_earlier_release_is_saved_again(path, tmp_path):
    X, told = expected(path)
    save(load(path), tmp_path / "m.tada")
    assert load(tmp_path / "m.tada").decision_function(X).tolist() == told["decision_function"]


def test_a_parameter_from_the_future_says_upgrade(tmp_path):
    with zipfile.ZipFile(MODELS[0]) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    about = json.loads(members["model.json"])
    about["parameters"]["warp"] = 9
    for version, told in (
        ("99.1", r"written by tadaboost 99\.1, whose parameter 'warp' is not known here; upgrade tadaboost$"),
        (tadaboost.__version__, r"damaged model file \(the parameter 'warp' cannot be right\)$"),
    ):
        members["model.json"] = json.dumps(about | {"version": version}).encode()
        with zipfile.ZipFile(tmp_path / "m.tada", "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        with pytest.raises(ModelFileError, match=told):
            load(tmp_path / "m.tada")


# Byte order. Where the native one is big-endian, the dtypes we ask for are; the files are not.


def arrays(path):
    """The arrays of a file, read as a machine of the other byte order reads them."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    dtypes = forest.DTYPES | {"rounds": rounds.ROUND, "estimator_weights": np.dtype(np.float64)}
    for name in dtypes.keys() & {member.removesuffix(".npy") for member in members}:
        data = members[f"{name}.npy"]
        axes = (None,) * np.load(io.BytesIO(data)).ndim
        read = [persist._array(members, name, dtypes[name].newbyteorder(order), axes) for order in "<>"]
        yield name, data, read


def test_a_machine_of_the_other_byte_order_reads_the_same_numbers(path):
    seen = 0
    for name, _, (little, big) in arrays(path):
        seen += 1
        assert big.dtype == little.dtype.newbyteorder(">"), name
        np.testing.assert_array_equal(big.tolist(), little.tolist())
    assert seen >= len(forest.DTYPES)


def test_a_machine_of_the_other_byte_order_writes_the_same_bytes(path):
    for _, data, both in arrays(path):
        for array in both:
            assert persist._npy(array) == data
