# SPDX-License-Identifier: Apache-2.0
"""t-AdaBoost as in `paper_settings`, in numpy, that may try a drawn few of the splits, as the authors' does.

Numeric columns without missing values only. Weights are e, m-free; trees split the leaf of most weight, never
into a pure child. With `n_drawn=None` every split is tried: then it is the classifier, slowly.
"""

import math

import numpy as np

from tadaboost import losses


def fit_and_score(X, y, X_test, *, t, rng=None, n_drawn=None, n_trees=20, max_leaves=8, leaves="theorem_a"):
    """Score of the test rows after the last round; at most `n_drawn` splits are tried in a node."""
    s = 1.0 - t
    sign = np.where(y, 1.0, -1.0)
    columns = [np.unique(column) for column in X.T]
    thresholds = [(low[:-1] + low[1:]) / 2 for low in columns]
    every = np.array([(c, i) for c, one in enumerate(thresholds) for i in range(len(one))])
    order = np.argsort(X, axis=0, kind="stable")
    margin, score = np.zeros(len(y)), np.zeros(len(X_test))
    for _ in range(n_trees):
        e = np.exp(-margin) if s == 0 else np.power(np.maximum(1 - s * margin, 0.0), 1 / s)
        leaf, leaf_test = _grow(X, X_test, sign, e, order, thresholds, every, t, rng, n_drawn, max_leaves)
        pos, neg = (np.bincount(leaf, e * (sign == side)) for side in (1, -1))
        value = (losses.leaf_link if leaves == "theorem_a" else losses.canonical_leaf)(pos, neg, t)
        if len(pos) == 1:
            break
        u = sign * value[leaf]
        A = np.max(np.abs(u) / e**s)
        rho = np.mean(e * u) / (A * np.mean(e ** (2 - t)))
        alpha = math.atanh(rho) / A if s == 0 else math.tanh(s * math.atanh(rho)) / (s * A)
        margin += alpha * u
        if t < 1:
            margin = np.minimum(margin, 1 / s)
        score += alpha * value[leaf_test]
    return score


def _grow(X, X_test, sign, e, order, thresholds, every, t, rng, n_drawn, max_leaves):
    leaf, leaf_test = np.zeros(len(X), int), np.zeros(len(X_test), int)
    mass, closed = [e.sum()], set()
    while len(mass) < max_leaves and len(closed) < len(mass):
        node = max((i for i in range(len(mass)) if i not in closed), key=lambda i: mass[i])
        rows = leaf == node
        if n_drawn is None or len(every) <= n_drawn:
            split = _best_of_all(X, rows, sign, e, order, t)
        else:
            picked = every[rng.choice(len(every), n_drawn, replace=False)]
            split = _best_of_drawn(X, rows, sign, e, thresholds, picked, t)
        if split is None:
            closed.add(node)
            continue
        column, threshold = split
        new = len(mass)
        leaf[rows & (X[:, column] > threshold)] = new
        leaf_test[(leaf_test == node) & (X_test[:, column] > threshold)] = new
        mass[node] = e[leaf == node].sum()
        mass.append(e[leaf == new].sum())
    return leaf, leaf_test


def _risk(pos, neg, t):
    total = pos + neg
    with np.errstate(all="ignore"):
        return total * losses.bayes_risk(np.clip(pos / total, 0, 1), t)


def _least(risk, impure, pos, neg, t):
    """Index of the split that lowers the risk most among those with no pure child, or None."""
    risk = np.where(impure, risk, np.inf)
    best = int(np.argmin(risk))
    return best if risk[best] <= _risk(pos, neg, t) * (1 + 1e-12) else None


def _best_of_all(X, rows, sign, e, order, t):
    pos, neg = (e[rows & (sign == side)].sum() for side in (1, -1))
    best = (np.inf, None)
    for column in range(X.shape[1]):
        inside = order[:, column][rows[order[:, column]]]
        x = X[inside, column]
        ends = np.flatnonzero(x[1:] > x[:-1])
        if not len(ends):
            continue
        left = [np.cumsum(e[inside] * (sign[inside] == side))[ends] for side in (1, -1)]
        right = pos - left[0], neg - left[1]
        impure = (left[0] > 0) & (left[1] > 0) & (right[0] > 1e-12 * pos) & (right[1] > 1e-12 * neg)
        risk = _risk(left[0], left[1], t) + _risk(*right, t)
        i = _least(risk, impure, pos, neg, t) if impure.any() else None
        if i is not None and risk[i] < best[0]:
            best = (risk[i], (column, (x[ends[i]] + x[ends[i] + 1]) / 2))
    return best[1]


def _best_of_drawn(X, rows, sign, e, thresholds, picked, t):
    below = X[rows][:, picked[:, 0]] <= np.array([thresholds[c][i] for c, i in picked])
    pos, neg = (e[rows] * (sign[rows] == side) for side in (1, -1))
    left = pos @ below, neg @ below
    right = pos @ ~below, neg @ ~below
    impure = (np.minimum(*left) > 0) & (np.minimum(*right) > 0)
    if not impure.any():
        return None
    risk = _risk(left[0], left[1], t) + _risk(*right, t)
    i = _least(risk, impure, pos.sum(), neg.sum(), t)
    return None if i is None else (picked[i, 0], thresholds[picked[i, 0]][picked[i, 1]])
