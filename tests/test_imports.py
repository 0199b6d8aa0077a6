# SPDX-License-Identifier: Apache-2.0
"""What importing costs: nothing that the work at hand does not need."""

import subprocess
import sys

import pytest

import tadaboost

FRAMES = {"pandas", "polars", "pyarrow"}
EXTRAS = FRAMES | {"matplotlib", "dask", "onnx", "click", "rich", "jinja2"}


def modules_after(code):
    """Top-level modules that a fresh interpreter has loaded after `code`."""
    script = f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    return set(subprocess.check_output([sys.executable, "-c", script], text=True).split())


def test_import_loads_neither_extras_nor_scikit_learn():
    assert not modules_after("import tadaboost") & (EXTRAS | {"sklearn", "numpy"})


# scikit-learn itself loads pandas where it is installed; what counts is what we add to that.
SCIKIT_LEARN = "import sklearn.callback, sklearn.utils.estimator_checks\n"


@pytest.fixture(scope="module")
def loaded_by_scikit_learn():
    return modules_after(SCIKIT_LEARN)


def test_fitting_saving_and_predicting_arrays_loads_no_extra(tmp_path, loaded_by_scikit_learn):
    path = str(tmp_path / "model.tada")
    work = f"""
import numpy as np, tadaboost
X = np.array([[0.0, 1.0], [1.0, np.nan]] * 10)
model = tadaboost.TAdaBoostClassifier(n_estimators=2).fit(X, ["a", "b"] * 10)
tadaboost.save(model, {path!r})
tadaboost.load({path!r}).predict_proba(X)
tadaboost.TemperedTreeClassifier().fit(X.astype(object), [0, 1] * 10).predict(X)
"""
    assert not modules_after(work) & EXTRAS - loaded_by_scikit_learn
    block = f"import sys\nfor name in {EXTRAS!r}:\n    sys.modules[name] = None  # import fails\n"
    assert "tadaboost" in modules_after(block + work)


def test_the_classifier_loads_no_other_estimators_of_scikit_learn():
    code = "from tadaboost import TAdaBoostClassifier\nimport sys\nprint(*sys.modules)"
    loaded = set(subprocess.check_output([sys.executable, "-c", code], text=True).split())
    assert not loaded & {"sklearn.ensemble", "sklearn.pipeline", "sklearn.linear_model", "sklearn.dummy"}


@pytest.mark.parametrize("frame", ["pandas.DataFrame", "polars.DataFrame", "pyarrow.table"])
def test_a_frame_of_one_library_does_not_load_the_others(frame, loaded_by_scikit_learn):
    library = frame.split(".")[0]
    work = f"""
import tadaboost, {library}
X = {frame}({{"a": [1.0, 2.0] * 10, "c": ["x", "y"] * 10}})
tadaboost.TAdaBoostClassifier(n_estimators=2).fit(X, [0, 1] * 10).predict(X)
"""
    assert not modules_after(work) & FRAMES - loaded_by_scikit_learn - {library}


def test_public_names_are_there_and_listed():
    for name in tadaboost.__all__:
        assert getattr(tadaboost, name).__name__ == name
        assert name in dir(tadaboost)
    with pytest.raises(AttributeError, match="module 'tadaboost' has no attribute 'nope'"):
        _ = tadaboost.nope
