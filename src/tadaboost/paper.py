# SPDX-License-Identifier: Apache-2.0
"""The parameters of the paper's experiments."""

from __future__ import annotations

from typing import Any


def paper_settings(t: float, clip: bool = False) -> dict[str, Any]:
    """Parameters of the paper's experiments (section 5), for `TAdaBoostClassifier`.

    Parameters
    ----------
    t : float
        Temperature, below 2.
    clip : bool, default=False
        Whether the model is the clipped one (9).

    Returns
    -------
    dict
        20 trees of 15 nodes, the heaviest leaf split first and never into pure ones, leaf values (63), steps
        (11), and none of the regularisers that the paper does not have.

    Examples
    --------
    >>> from tadaboost import TAdaBoostClassifier
    >>> model = TAdaBoostClassifier(**paper_settings(t=0.6))
    >>> model.n_estimators, model.growth
    (20, 'heaviest')
    """
    return {
        "t": t,
        "clip": clip,
        "n_estimators": 20,
        "max_leaf_nodes": 8,
        "leaf_values": "theorem_a",
        "leveraging": "closed",
        "learning_rate": 1.0,
        "growth": "heaviest",
        "allow_pure_leaves": False,
        "max_bins": 65535,
        "min_samples_leaf": 0,
        "min_leaf_mass": 0.0,
        "leaf_ridge": 0.0,
        "cat_smoothing": 0.0,
    }
