# SPDX-License-Identifier: Apache-2.0
"""What tests of whole fits share: the kinds of model that answers have to hold for, data, bits."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from tadaboost import TAdaBoostClassifier, export, load, save

from .pairs import pairs

RULES = {
    "plain": {},
    "clipped": {
        "t": 0.0, "clip": True, "leveraging": "closed", "leaf_values": "theorem_a", "learning_rate": 1.0
    },
    "AdaBoost": {"t": 1.0, "learning_rate": 0.5},
    "hot": {"t": 1.3, "leveraging": "exact"},
}  # fmt: skip
NAMES = np.array(["ant", "bee", "cow"])


def every_kind(test):
    """Run a test for each of `RULES`, for two classes and for three."""
    kinds = pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
    return pytest.mark.parametrize("n_classes", [2, 3])(kinds(test))


def every_kind_with(name, values):
    """Run a test so that each of `values` meets each of `RULES`, and both meet two classes and three."""
    cases = [
        pytest.param(RULES[rules], n_classes, value, id=f"{rules}-{n_classes}-{value}")
        for rules, n_classes, value in pairs(list(RULES), [2, 3], values)
    ]
    return pytest.mark.parametrize(("rules", "n_classes", name), cases)


def make(rules=(), **more):
    """A model of few rounds."""
    return TAdaBoostClassifier(**{"n_estimators": 6, **dict(rules), **more})


def data(n_classes=2, n=200, seed=0, missing=0.1):
    """Four columns of numbers with gaps, and labels that are text and depend on two of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n), np.linspace(0.2, 1.4, n_classes)[:-1])
    X[rng.random((n, 4)) < missing] = np.nan
    return X, NAMES[y]


def mixed_data(n_classes=2, n=200):
    """A frame of numbers and a text column with gaps, and labels 0, 1, ... that depend on two of them."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    table["d"] = rng.choice(["u", "v", "w", "x"], n)
    table = table.mask(rng.random(table.shape) < 0.05)
    signal = np.nan_to_num(table["a"].to_numpy()) + (table["d"] == "u") + 0.7 * rng.normal(size=n)
    return table, np.digitize(signal, np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1]))


def trees_of(model):
    """All trees, round by round, in each class by class."""
    return [
        tree for of_round in model.trees_ for tree in ([of_round] if hasattr(of_round, "value") else of_round)
    ]


def bits(model):
    """Everything that a fit found, as bytes."""
    trees = [array.tobytes() for tree in trees_of(model) for array in tree]
    return trees, model.estimator_weights_.tobytes(), model.rounds_.tobytes(), model.classes_.tolist()


def twin(model, folder):
    """The model after it was saved and loaded."""
    save(model, folder / "model.tada")
    return load(folder / "model.tada")


def explain(model, X, background=None):
    """SHAP's base value and values of a matrix, shape (rows, columns) or (rows, columns, classes)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # importing shap uses what matplotlib is about to drop
        import shap
    explainer = shap.TreeExplainer(export.to_shap(model), background)
    return explainer.expected_value, explainer.shap_values(X, check_additivity=False)


class AtEnd:
    """A callback that calls `act(context, fitted)` at the end of each task of a fit; True stops the fit."""

    def __init__(self, act):
        self.act = act

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        return self.act(context, fitted_estimator)

    def teardown(self, estimator, context):
        pass


def ends_round(context, n):
    """Whether a task of a fit is its n-th round."""
    return context.task_name == "round" and context.task_id + 1 == n


def run_script(script, timeout=300, **environment):
    """Run Python code in a process of its own; what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        **environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
