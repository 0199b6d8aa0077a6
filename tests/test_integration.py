# SPDX-License-Identifier: Apache-2.0
"""Inside scikit-learn: routing, callbacks, interrupts, meta-estimators, searches, explanations, copies."""

import gc
import signal

import joblib
import matplotlib
import numpy as np
import pandas as pd
import pytest
import sklearn

matplotlib.use("Agg")
from matplotlib import pyplot
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.inspection import PartialDependenceDisplay, partial_dependence, permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.metadata_routing import get_routing_for_object

from tadaboost import TemperedTreeClassifier, generic, rounds
from tadaboost.base import n_threads_of

from .reports import AtEnd, bits, data, ends_round, make, twin

KINDS = pytest.mark.parametrize("n_classes", [2, 3])


# Metadata


@KINDS
def test_requested_weights_reach_the_fit_and_the_score_of_every_fold(n_classes):
    X, y = data(n_classes)
    weight = np.random.default_rng(1).integers(0, 4, 200)
    with sklearn.config_context(enable_metadata_routing=True):
        model = make().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        params = {"sample_weight": weight}
        found = cross_validate(model, X, y, cv=3, params=params, return_estimator=True, return_indices=True)
        for fold, fitted in enumerate(found["estimator"]):
            train, test = (found["indices"][part][fold] for part in ("train", "test"))
            assert bits(fitted) == bits(make().fit(X[train], y[train], weight[train]))
            assert found["test_score"][fold] == fitted.score(X[test], y[test], weight[test])
        with pytest.raises(ValueError, match=r"\[sample_weight\] are passed but are not explicitly set"):
            cross_validate(make(), X, y, cv=3, params=params)


def test_every_argument_of_fit_can_be_requested():
    requests = get_routing_for_object(make()).fit.requests
    assert set(requests) == {"sample_weight", "X_val", "y_val", "sample_weight_val"}
    with sklearn.config_context(enable_metadata_routing=True):
        routed = get_routing_for_object(make().set_fit_request(X_val=True, y_val="labels"))
    assert (routed.fit.requests["X_val"], routed.fit.requests["y_val"]) == (True, "labels")
    assert set(get_routing_for_object(TemperedTreeClassifier()).fit.requests) == {"sample_weight"}


@KINDS
def test_a_pipeline_transforms_frames_of_validation_rows(n_classes):
    (X, y), (X_val, y_val) = (data(n_classes, seed=seed, missing=0.0) for seed in (0, 1))
    X, X_val = (pd.DataFrame(table, columns=list("abcd")) for table in (X, X_val))
    with sklearn.config_context(enable_metadata_routing=True, transform_output="pandas"):
        model = make(early_stopping=True).set_fit_request(X_val=True, y_val=True)
        pipe = make_pipeline(StandardScaler(), model, transform_input=["X_val"])
        pipe.fit(X, y, X_val=X_val, y_val=y_val)
        scale = StandardScaler().fit(X).transform
        by_hand = make(early_stopping=True).fit(scale(X), y, X_val=scale(X_val), y_val=y_val)
    assert bits(pipe[-1]) == bits(by_hand)
    assert pipe[-1].feature_names_in_.tolist() == list("abcd")


# Callbacks and interrupts


@KINDS
def test_callbacks_show_progress_score_and_stop(n_classes, capfd):
    X, y = data(n_classes)

    def stop_at_four(context, fitted):
        assert fitted.n_iter_ == len(fitted.trees_)
        assert len(fitted.predict(X)) == len(X)
        return ends_round(context, 4)

    model = make().set_callbacks(AtEnd(stop_at_four)).fit(X, y)
    assert (model.n_iter_, model.stop_reason_) == (4, "callback")
    assert bits(model) == bits(make(n_estimators=4).fit(X, y))
    monitor = ScoringMonitor(scoring="accuracy")
    make(n_estimators=3).set_callbacks(monitor).fit(X, y)
    assert len(monitor.get_logs().data) >= 3
    assert capfd.readouterr() == ("", "")
    make(n_estimators=3).set_callbacks(ProgressBar()).fit(X, y)
    assert "TAdaBoostClassifier" in "".join(capfd.readouterr())


@pytest.fixture
def interrupts():
    """Python's own handler, which a process that was started in the background does not have."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
@KINDS
@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=1)], ids=["trees", "stumps"])
def test_an_interrupt_goes_through_and_leaves_no_half_model_and_no_leak(n_classes, estimator):
    X, y = data(n_classes, missing=0.0)
    model = make(estimator=estimator, early_stopping=True, n_jobs=2, random_state=0).fit(X, y)

    def interrupt(context, fitted):
        if ends_round(context, 3):
            signal.raise_signal(signal.SIGINT)

    def runs():
        gc.collect()
        return sum(isinstance(one, rounds.Run | generic.GenericRun) for one in gc.get_objects())

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            model.set_callbacks(AtEnd(interrupt)).fit(X, y)
        with pytest.raises(NotFittedError, match="not fitted yet"):
            model.predict(X)
    assert not {"trees_", "estimators_", "rounds_"} & set(vars(model))
    assert runs() == 0
    again, anew = model.set_callbacks().fit(X, y), clone(model).fit(X, y)
    assert again.rounds_.tobytes() == anew.rounds_.tobytes()


@KINDS
@pytest.mark.parametrize("early_stopping", [False, True])
def test_an_interrupt_may_end_the_fit_with_the_rounds_so_far(n_classes, early_stopping, tmp_path):
    X, y = data(n_classes)

    class KeepOnInterrupt(AtEnd):  # as the notes of TAdaBoostClassifier have it
        def setup(self, estimator, context):
            self.pressed = False
            self.before = signal.signal(signal.SIGINT, lambda *_: setattr(self, "pressed", True))

        def teardown(self, estimator, context):
            signal.signal(signal.SIGINT, self.before)

    def press_at_three(context, fitted):
        if ends_round(context, 3):
            signal.raise_signal(signal.SIGINT)
        return keep.pressed

    keep = KeepOnInterrupt(press_at_three)
    model = make(early_stopping=early_stopping, random_state=0).set_callbacks(keep).fit(X, y)
    assert signal.getsignal(signal.SIGINT) is keep.before
    assert model.stop_reason_ == "callback"
    three = make(early_stopping=early_stopping, random_state=0, n_estimators=3).fit(X, y)
    assert bits(model) == bits(three)
    assert len(model.predict(X)) == 200
    loaded = twin(model.set_callbacks(), tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


# Meta-estimators


@KINDS
def test_meta_estimators_take_it_and_its_labels(n_classes):
    X, y = data(n_classes)
    model = make(n_jobs=1)
    voting = VotingClassifier([("a", model), ("b", TemperedTreeClassifier())], voting="soft")
    metas = [CalibratedClassifierCV(model, cv=2), voting, OneVsRestClassifier(model)]
    metas.append(StackingClassifier([("a", model), ("b", make({"t": 1.0}))], final_estimator=make(), cv=2))
    metas.append(make_pipeline(StandardScaler(), model))
    for meta in metas:
        proba = meta.fit(X, y).predict_proba(X)
        assert proba.shape == (200, n_classes)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert set(meta.predict(X)) <= set(y)
        assert meta.score(X, y) > 1 / n_classes + 0.15
    one, other = (part.fit(X, y).predict_proba(X) for part in (model, TemperedTreeClassifier()))
    np.testing.assert_allclose(voting.predict_proba(X), (one + other) / 2)


@KINDS
def test_a_grid_search_chooses_over_its_parameters(n_classes):
    X, y = data(n_classes)
    grid = {"t": [0.5, 1.0], "max_leaf_nodes": [2, 8], "leaf_values": ["exact", "theorem_a"]}
    search = GridSearchCV(make(), grid, cv=2, scoring="neg_log_loss").fit(X, y)
    assert bits(search.best_estimator_) == bits(make(search.best_params_).fit(X, y))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@KINDS
def test_labels_of_text_can_be_cross_validated_with_any_scorer(n_classes):
    X, y = data(n_classes)
    for scoring in ("accuracy", "neg_log_loss", "roc_auc_ovr", "f1_macro", "balanced_accuracy"):
        assert np.isfinite(cross_val_score(make(), X, y, cv=3, scoring=scoring)).all()
    assert set(cross_val_predict(make(), pd.DataFrame(X), pd.Series(y), cv=2)) == set(y)


@KINDS
def test_permutation_importance_finds_the_columns_that_matter(n_classes):
    X, y = data(n_classes, n=300)
    model = make(n_estimators=20).fit(X, y)
    found = permutation_importance(model, X, y, n_repeats=3, random_state=0).importances_mean
    assert set(np.argsort(found)[-2:]) == {0, 1} == set(np.argsort(model.feature_importances_)[-2:])


@KINDS
def test_partial_dependence_is_the_mean_over_the_rows(n_classes):
    X, y = data(n_classes, missing=0.0)
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.where(X[:, 2] > 0, "up", "down"))
    model = make().fit(table, y)
    at = {"a": np.array([-1.0, 0.5])}
    how = {"method": "brute", "response_method": "predict_proba"}
    found = partial_dependence(model, table, ["a"], custom_values=at, **how)
    for value, mean in zip((-1.0, 0.5), found["average"][-1], strict=True):
        assert mean == pytest.approx(model.predict_proba(table.assign(a=value))[:, -1].mean(), rel=1e-12)
    target = None if n_classes == 2 else "cow"
    features, how = ["a", "kind", ("a", "b")], {"categorical_features": ["kind"], "grid_resolution": 5}
    display = PartialDependenceDisplay.from_estimator(model, table, features, target=target, **how)
    assert display.axes_.size == 3
    pyplot.close("all")


# Copies and memory


def test_a_clone_has_the_parameters_and_nothing_else():
    X, y = data()
    model = make({"t": 0.3, "class_weight": {"ant": 2.0}}, categorical_features=[3]).fit(X, y)
    copy = clone(model)
    assert repr(copy) == repr(model)
    assert not [name for name in vars(copy) if name.endswith("_")]
    assert bits(copy.fit(X, y)) == bits(model)


@KINDS
def test_memory_maps_and_read_only_arrays_are_taken(n_classes, tmp_path):
    X, y = data(n_classes)
    model = make().fit(X, y)
    for name, array in {"X": X, "y": y, "strided": np.repeat(X, 2, axis=1)}.items():
        joblib.dump(array, tmp_path / name)
    mapped = {name: joblib.load(tmp_path / name, mmap_mode="r") for name in ("X", "y", "strided")}
    assert isinstance(mapped["X"], np.memmap)
    for table in (mapped["X"], mapped["strided"][:, ::2]):
        assert bits(make().fit(table, mapped["y"])) == bits(model)
        np.testing.assert_array_equal(model.predict_proba(table), model.predict_proba(X))
    if n_classes == 3:
        parallel = joblib.Parallel(n_jobs=2, max_nbytes=1)  # whose workers get memory maps
        fits = parallel(joblib.delayed(clone(model).fit)(X, y) for _ in range(2))
        assert all(bits(fit) == bits(model) for fit in fits)
        assert parallel(joblib.delayed(n_threads_of)(None) for _ in range(2)) == [1, 1]
    joblib.dump(model, tmp_path / "model")
    frozen = joblib.load(tmp_path / "model", mmap_mode="r")  # the arrays of its trees are memory maps
    np.testing.assert_array_equal(frozen.predict_proba(X), model.predict_proba(X))
    frozen.set_params(warm_start=True, n_estimators=8).fit(X, y)
    assert bits(frozen) == bits(make(n_estimators=8).fit(X, y))
