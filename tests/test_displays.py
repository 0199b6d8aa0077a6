# SPDX-License-Identifier: Apache-2.0
"""Plots: what is drawn is what the model and the formulas say."""

import sys

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tadaboost import TAdaBoostClassifier, paper_settings
from tadaboost.displays import (
    BoundDisplay,
    MarginDisplay,
    TemperatureDisplay,
    WeightsDisplay,
    plot_k_t,
    plot_losses,
)
from tadaboost.losses import k_t, tempered_exp_loss


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def data(n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


@pytest.fixture(scope="module")
def model():
    return TAdaBoostClassifier(**paper_settings(t=0.5), record_weights=True).fit(*data())


def curves(axes):
    """The lines of a plot by their label."""
    return {line.get_label(): line.get_xydata() for line in axes.get_lines()}


def render(display_or_axes):
    figure = getattr(display_or_axes, "figure_", None) or display_or_axes.figure
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())


def test_figure_1_shows_k_t():
    lines = curves(plot_k_t([-np.inf, 0.5]))
    assert list(lines) == [r"$t = -\infty$", "$t = 0.5$"]
    rho, value = lines["$t = 0.5$"].T
    assert rho[[0, -1]].tolist() == [-1, 1]
    np.testing.assert_array_equal(value, k_t(rho, 0.5))
    np.testing.assert_allclose(lines[r"$t = -\infty$"][:, 1], 1 - np.abs(rho), atol=1e-15)


def test_losses_lie_above_the_0_1_loss():
    lines = curves(plot_losses([0.0, 1.0, 1.2]))
    assert lines.pop("0/1 loss").tolist() == [[-2, 1], [0, 0], [2, 0]]
    for t, line in zip([0.0, 1.0, 1.2], lines.values(), strict=True):
        np.testing.assert_array_equal(line[:, 1], tempered_exp_loss(line[:, 0], t))
        assert (line[:, 1] >= (line[:, 0] <= 0)).all()


def test_bound_display_draws_the_rounds(model):
    display = BoundDisplay.from_estimator(model)
    lines = curves(display.ax_)
    for label, name in (
        ("bound (12)", "bound"),
        ("tempered loss", "loss"),
        ("training error", "train_error"),
    ):
        np.testing.assert_array_equal(lines[label][:, 1], model.rounds_[name])
        assert lines[label][:, 0].tolist() == list(range(1, model.n_iter_ + 1))
    assert display.ax_.get_yscale() == "log"
    assert len(np.unique(render(display))) > 2


@pytest.mark.parametrize(
    "settings", [{}, {"t": 1.2, "clip": True, "leveraging": "closed", "learning_rate": 1.0}]
)
def test_a_bound_that_says_nothing_is_not_drawn(settings):
    display = BoundDisplay.from_estimator(TAdaBoostClassifier(n_estimators=3, **settings).fit(*data()))
    assert set(curves(display.ax_)) == {"tempered loss", "training error"}


def test_displays_of_a_perfect_or_a_single_round_can_be_drawn():
    X = np.arange(40.0)[:, None]
    settings = {**paper_settings(t=0.0), "allow_pure_leaves": True, "record_weights": True}
    perfect = TAdaBoostClassifier(**settings).fit(X, (X[:, 0] > 20).astype(int))
    assert perfect.rounds_["loss"].tolist() == [0.0]
    render(BoundDisplay.from_estimator(perfect))
    render(WeightsDisplay.from_estimator(perfect))
    render(MarginDisplay.from_estimator(perfect, X, (X[:, 0] > 20).astype(int)))


def test_weights_display_draws_quantiles_or_a_share(model):
    display = WeightsDisplay.from_estimator(model)
    relative = model.weights_ * model.weights_.shape[1]
    np.testing.assert_allclose(display.quantiles[:, 2], np.median(relative, axis=1))
    np.testing.assert_allclose(curves(display.ax_)["median"][:, 1], np.median(relative, axis=1))
    assert display.quantiles[0].tolist() == pytest.approx([1] * 5)
    render(display)
    rows = [3, 5]
    share = WeightsDisplay.from_estimator(model, rows=rows)
    (line,) = curves(share.ax_).values()
    np.testing.assert_allclose(line[:, 1], model.weights_[:, rows].sum(axis=1))
    mask = np.isin(np.arange(120), rows)
    np.testing.assert_array_equal(WeightsDisplay.from_estimator(model, rows=mask).share, share.share)


def test_weights_off_and_rows_of_weight_zero_can_be_drawn():
    X, y = data()
    weight = np.arange(len(y)) % 3
    settings = {"t": 0.0, "leveraging": "exact", "learning_rate": 1.0, "leaf_ridge": 0.0, "n_estimators": 6}
    model = TAdaBoostClassifier(**settings, record_weights=True).fit(X, y, weight)
    assert model.rounds_["n_off"].max() > 0
    display = WeightsDisplay.from_estimator(model)
    assert np.isfinite(display.quantiles).all()
    assert display.quantiles[0].tolist() == pytest.approx([1] * 5)
    render(display)


def test_margin_display_draws_both_sides_of_13(model):
    X, y = data()
    display = MarginDisplay.from_estimator(model, X, y, theta=[-0.5, 0.0, 0.5])
    lines = curves(display.ax_)
    np.testing.assert_array_equal(lines["share of rows"][:, 1], model.margin_risk(X, y, [-0.5, 0.0, 0.5]))
    np.testing.assert_array_equal(lines["bound (13)"][:, 1], model.margin_bound([-0.5, 0.0, 0.5]))
    render(display)
    clipped = TAdaBoostClassifier(t=1.2, clip=True, n_estimators=3).fit(X, y)
    assert list(curves(MarginDisplay.from_estimator(clipped, X, y).ax_)) == ["share of rows"]


def test_displays_draw_where_they_are_told_and_take_any_weak_learner():
    X, y = data()
    stump = DecisionTreeClassifier(max_depth=1)
    settings = {"leveraging": "closed", "learning_rate": 1.0, "n_estimators": 5, "record_weights": True}
    model = TAdaBoostClassifier(estimator=stump, **settings).fit(X, y)
    figure, axes = pyplot.subplots(1, 7)
    for display, ax, other_ax in zip(
        [BoundDisplay.from_estimator(model, ax=axes[0]), WeightsDisplay.from_estimator(model, ax=axes[1]),
         MarginDisplay.from_estimator(model, X, y, ax=axes[2])], axes[:3], axes[3:6],
        strict=True,
    ):  # fmt: skip
        assert display.ax_ is ax
        assert display.figure_ is figure
        other = display.plot(other_ax)
        assert other is display
        assert other.ax_ is other_ax
    assert plot_k_t(ax=axes[6]) is axes[6]
    assert pyplot.get_fignums() == [figure.number]


def test_the_loss_of_validation_rows_is_drawn_where_there_are_any():
    X, y = data()
    model = TAdaBoostClassifier(n_estimators=5).fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    display = BoundDisplay.from_estimator(model)
    drawn = curves(display.ax_)["loss, validation rows"]
    np.testing.assert_array_equal(drawn[:, 1], model.rounds_["val_loss"])
    rounds = {name: model.rounds_[name] for name in ("train_error", "loss", "bound")}
    assert "loss, validation rows" not in curves(BoundDisplay(**rounds).plot().ax_)


def test_margins_of_predictions_are_those_of_the_model(model):
    X, y = data()
    weight = np.arange(len(y)) % 3
    labels, score = np.array(["no", "yes"])[y], model.decision_function(X)
    display = MarginDisplay.from_predictions(
        labels, score, t=model.t, sample_weight=weight, theta=[-0.5, 0.5]
    )
    np.testing.assert_array_equal(display.risk, model.margin_risk(X, y, [-0.5, 0.5], weight))
    assert list(curves(display.ax_)) == ["share of rows"]
    other = MarginDisplay.from_predictions(labels, -score, t=model.t, pos_label="no")
    np.testing.assert_array_equal(other.risk, MarginDisplay.from_estimator(model, X, y).risk)
    with pytest.raises(ValueError, match=r"^margins are those of two classes, and y_true has 3$"):
        MarginDisplay.from_predictions([0, 1, 2], [0.0, 0.0, 0.0], t=0.5)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[2, 1\]"):
        MarginDisplay.from_predictions([0, 1], [0.0], t=0.5)


def test_temperature_display_cross_validates_each_t():
    X, y = data()
    model = TAdaBoostClassifier(n_estimators=4)
    display = TemperatureDisplay.from_estimator(model, X, y, ts=[1.0, 0.5, 0.0], cv=3, scoring="neg_log_loss")
    expected = [cross_val_score(clone(model).set_params(t=t), X, y, cv=3, scoring="neg_log_loss")
                for t in (1.0, 0.5, 0.0)]  # fmt: skip
    np.testing.assert_array_equal(display.scores, expected)
    line, *_ = display.ax_.containers[0]
    np.testing.assert_allclose(line.get_xydata(), np.c_[[0.0, 0.5, 1.0], np.mean(expected[::-1], axis=1)])
    assert display.ax_.get_ylabel() == "neg log loss"
    render(display)
    pipeline = make_pipeline(StandardScaler(), model)
    one = TemperatureDisplay.from_estimator(
        pipeline, X, y, ts=[0.5], cv=2, param_name="tadaboostclassifier__t"
    )
    render(one)
    with pytest.raises(ValueError, match=r"^The 't' parameter of \w+ must be a float in the range"):
        TemperatureDisplay.from_estimator(model, X, y, ts=[0.5, 2.0], cv=2)


def test_bars_of_temperatures_are_free_of_what_all_share_in_a_fold():
    scores = np.array([[0.1, 0.5, 0.9], [0.2, 0.6, 1.0]])
    bars = TemperatureDisplay(ts=[0.0, 1.0], scores=scores).plot().ax_.containers[0][2][0].get_segments()
    np.testing.assert_allclose([bar[1, 1] - bar[0, 1] for bar in bars], 0.0, atol=1e-15)
    scores[1, 2] = 0.4  # differences -.1, -.1, .5: their standard error is .2
    bars = TemperatureDisplay(ts=[0.0, 1.0], scores=scores).plot().ax_.containers[0][2][0].get_segments()
    np.testing.assert_allclose([bar[1, 1] - bar[0, 1] for bar in bars], 2 * 0.2 / np.sqrt(2))


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(NotFittedError, match="not fitted"):
        BoundDisplay.from_estimator(TAdaBoostClassifier())
    model = TAdaBoostClassifier(n_estimators=2).fit(*data())
    with pytest.raises(ValueError, match=r"^the model has no weights_; fit it with record_weights=True$"):
        WeightsDisplay.from_estimator(model)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)  # import fails
    with pytest.raises(ImportError, match=r"^plots need matplotlib: pip install 'tadaboost\[plot\]'$"):
        plot_k_t()
