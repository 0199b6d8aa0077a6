# SPDX-License-Identifier: Apache-2.0
"""What a fit goes on with: the rounds of an earlier one, as an `Earlier` or in a file, and a seed."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


class Earlier(NamedTuple):
    """The rounds of an earlier fit, which a warm start goes on with."""

    weak: list[Any]
    rounds: NDArray[np.void]
    reason: str
    kind: tuple[Any, ...]  # what must not change


def earlier_rounds(model: Any) -> Earlier | None:
    """Give the rounds that a warm start goes on with, None where there are none.

    Raises
    ------
    ValueError
        If they are more than `n_estimators`.
    """
    if not (model.warm_start and hasattr(model, "trees_")):
        return None
    if model.n_estimators < model.n_iter_:
        raise ValueError(
            f"n_estimators={model.n_estimators} is less than the {model.n_iter_} rounds that are "
            "there; warm_start only adds rounds"
        )
    weak = getattr(model, "estimators_", model.trees_)
    return Earlier(weak, model.rounds_, model.stop_reason_, kind(model, bool(model.trees_)))


def open_checkpoint(model: Any) -> Any:
    """Give the `Checkpoint` of a fit that begins, None where it has none."""
    if model.checkpoint is None:
        return None
    from tadaboost.checkpoint import Checkpoint  # its files hold models of the class that imports us

    return Checkpoint(model)


def choose_seed(model: Any, known: int | None) -> int:
    """Give the seed of a fit that begins; `known`, that of a checkpoint, where there is none to choose."""
    if isinstance(model.random_state, Integral):
        return int(model.random_state)
    if model.random_state is None and known is not None:
        return known
    draws = model.estimator is not None or model.early_stopping or min(model.subsample, model.colsample) < 1
    return int(check_random_state(model.random_state).randint(2**31 - 1)) if draws else 0


def kind(model: Any, of_trees: bool) -> tuple[Any, ...]:
    """Give what rounds of one model have in common."""
    return model.classes_.tolist(), model.n_features_in_, model._temperature, model._clip_at, of_trees


def resume(run: Any, model: Any, earlier: Earlier) -> None:
    """Make the first rounds of a run those of an earlier fit.

    Raises
    ------
    ValueError
        If that fit was of another kind.
    """
    if earlier.kind != kind(model, model.estimator is None):
        raise ValueError(
            "warm_start goes on with an earlier fit, whose classes, number of columns, t, clip and kind "
            "of weak learner must be those of this one"
        )
    run.resume(earlier.weak, earlier.rounds, earlier.reason)
