# SPDX-License-Identifier: Apache-2.0
"""What importing costs: nothing that the work at hand does not need."""

import json
import subprocess
import sys

import pytest

import tadaboost

FRAMES = {"pandas", "polars", "pyarrow"}
EXTRAS = FRAMES | {"matplotlib", "dask", "onnx", "click", "rich", "jinja2"}
OTHER_ESTIMATORS = {"sklearn.ensemble", "sklearn.pipeline", "sklearn.linear_model", "sklearn.dummy"}

FIT = """
import numpy as np, os, tadaboost
X = np.array([[0.0, 1.0], [1.0, np.nan]] * 10)
model = tadaboost.TAdaBoostClassifier(n_estimators=2).fit(X, ["a", "b"] * 10)
tadaboost.save(model, "model.tada")
tadaboost.load("model.tada").predict_proba(X)
tadaboost.TemperedTreeClassifier().fit(X.astype(object), [0, 1] * 10).predict(X)
"""
FRAME = """
import tadaboost, {library}
X = {library}.{frame}({{"a": [1.0, 2.0] * 10, "c": ["x", "y"] * 10}})
tadaboost.TAdaBoostClassifier(n_estimators=2).fit(X, [0, 1] * 10).predict(X)
"""
WORK = {
    "FIT": FIT,
    "pandas": FRAME.format(library="pandas", frame="DataFrame"),
    "polars": FRAME.format(library="polars", frame="DataFrame"),
    "pyarrow": FRAME.format(library="pyarrow", frame="table"),
    "displays": "import tadaboost.displays",
}
# scikit-learn takes seconds to import, so pieces of work are forks of one process. It itself loads pandas
# where it is installed; what counts is what we add to that.
FORKS = f"""
import json, os, sys
def say(name, before=()):
    print(json.dumps([name, [m for m in sys.modules if m.split(".")[0] not in before]]), flush=True)
import tadaboost
say("import")
tadaboost.TAdaBoostClassifier
say("classifier")
import sklearn.callback, sklearn.utils.estimator_checks
before = {{m.split(".")[0] for m in sys.modules}} - {{"tadaboost"}}
for name, work in {WORK!r}.items():
    if not os.fork():
        exec(work, {{}})
        say(name, before)
        os._exit(0)
    assert os.wait()[1] == 0
"""


def run(script, folder):
    return subprocess.check_output([sys.executable, "-c", script], text=True, cwd=folder)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Modules that were loaded by each piece of work in a process of its own."""
    return dict(map(json.loads, run(FORKS, tmp_path_factory.mktemp("forks")).splitlines()))


def packages(names):
    return {name.split(".")[0] for name in names}


def test_import_loads_neither_extras_nor_scikit_learn(loaded):
    assert not packages(loaded["import"]) & (EXTRAS | {"sklearn", "numpy"})


def test_the_classifier_loads_no_other_estimators_of_scikit_learn(loaded):
    assert "sklearn" in loaded["classifier"]
    assert not OTHER_ESTIMATORS & set(loaded["classifier"])


def test_fitting_saving_and_predicting_arrays_loads_no_extra(loaded):
    assert "tadaboost.persist" in loaded["FIT"]
    assert not packages(loaded["FIT"]) & EXTRAS


def test_fitting_saving_and_predicting_arrays_needs_no_extra(tmp_path):
    block = f"import sys\nfor name in {EXTRAS!r}:\n    sys.modules[name] = None  # import fails\n"
    assert run(f"{block}{FIT}print('done')", tmp_path) == "done\n"


@pytest.mark.parametrize("library", sorted(FRAMES))
def test_a_frame_of_one_library_does_not_load_the_others(library, loaded):
    assert not packages(loaded[library]) & FRAMES - {library}


def test_matplotlib_is_loaded_only_when_something_is_drawn(loaded):
    assert "tadaboost.displays" in loaded["displays"]
    assert "matplotlib" not in packages(loaded["displays"])


def test_the_version_is_said_before_scikit_learn_is_loaded(tmp_path):
    script = """
import sys
from tadaboost.group import main
main(["--version"], standalone_mode=False)
print(*{"numpy", "polars", "sklearn"} & set(sys.modules))
"""
    assert run(script, tmp_path) == f"tadaboost, version {tadaboost.__version__}\n\n"


def test_public_names_are_there_and_listed():
    for name in tadaboost.__all__:
        assert getattr(tadaboost, name).__name__ == name
        assert name in dir(tadaboost)
    with pytest.raises(AttributeError, match="module 'tadaboost' has no attribute 'nope'"):
        _ = tadaboost.nope
