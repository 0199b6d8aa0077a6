# SPDX-License-Identifier: Apache-2.0
"""t-AdaBoost with exact trees in plain Python: the oracle that the compiled core must equal.

A row's state is lw = log e, where e = exp_t(-S) and S is its clipped margin: Algorithm 1 with every m and Z
cancelled. Trees weigh rows by integers proportional to e (`fixed_point`), so that no sum depends on
order; all else is float64. Numbers in brackets are equations of the paper.
"""

import itertools
import math
from bisect import bisect_left
from math import copysign, exp, expm1, fsum, inf, log, log1p, tanh
from types import SimpleNamespace

from numpy.random import Philox

DEFAULTS = {
    "w": None, "categorical": (), "n_estimators": 10, "learning_rate": 0.1, "leaf_values": "exact",
    "leveraging": "unit", "max_leaf_nodes": 8, "max_depth": None, "min_samples_leaf": 5, "min_leaf_mass": 0.0,
    "leaf_ridge": 3.0, "growth": "best", "allow_pure_leaves": True, "subsample": 1.0, "colsample": 1.0,
    "seed": 0, "direction": None, "groups": None, "cat_smoothing": 20.0,
}  # fmt: skip
PRIORITY = {"best": lambda leaf: leaf["split"]["merit"], "heaviest": lambda leaf: leaf["pos"] + leaf["neg"]}
CAP = 500.0  # largest |alpha h| at t >= 1, where a pure leaf and a perfect step have no bound


def power_mean(a, b, q):
    lo, hi = sorted((a, b))
    if q == 0:
        return math.sqrt(lo) * math.sqrt(hi)
    if lo == 0:
        return 0.0 if q < 0 else hi * 2 ** (-1 / q)
    return (hi if q > 0 else lo) * exp(log1p(expm1(abs(q) * log(lo / hi)) / 2) / q)


def move(lw, x, t):
    """Log of exp_t(log_t(e) - x) for e = exp(lw): the weight after the margin has grown by x, (8)."""
    s = 1 - t
    if lw == -inf:  # off; back on when the margin falls
        moved = log(-s * x) / s if x < 0 else lw
    elif s == 0:
        moved = lw - x
    else:
        rise = -s * x * exp(-s * lw)
        moved = lw + log1p(rise) / s if rise > -1 else copysign(inf, -s)
    return min(moved, 600 / max(1, 1 + s))  # what stands for infinity: its powers and sums are finite


def solve(rows, t, ridge=0.0):
    """The x with sum w c e(x) = ridge x, the margin of row (w, lw, c) moved by c x: mu of (6), leaf E'."""
    signs = {c > 0 for _, _, c in rows if c != 0}
    if len(signs) == 1 and ridge == 0:  # the zero nearest 0: every row with c != 0 just off
        end = max(exp((1 - t) * lw) / ((1 - t) * abs(c)) for _, lw, c in rows if c != 0) if t < 1 else inf
        return end if True in signs else -end

    def slope(x):  # decreasing
        return fsum(w * c * exp(move(lw, c * x, t)) for w, lw, c in rows) - ridge * x

    hi = 1 / max(abs(c) for _, _, c in rows)
    lo = -hi
    while slope(hi) > 0:
        lo, hi = hi, 2 * hi
    while slope(lo) < 0:
        lo, hi = 2 * lo, lo
    while lo < (middle := lo / 2 + hi / 2) < hi:
        if (at_middle := slope(middle)) == 0:
            return middle
        lo, hi = (middle, hi) if at_middle > 0 else (lo, middle)
    return hi


def leaf_value(rows, t, kind, ridge):
    """Value of a leaf with rows (w, lw, y)."""
    if kind == "exact":
        return solve(rows, t, ridge)
    pos, neg = (fsum(w * exp(lw) for w, lw, y in rows if y == label) for label in (1, -1))
    odds = log(pos / neg) if pos > 0 and neg > 0 else inf if pos > 0 else -inf
    if kind == "theorem_a":  # psi_t, (63) without its factor
        return odds / 2 if t == 1 else tanh((1 - t) / 2 * odds) / (1 - t)
    mean = power_mean(1.0, exp(-abs(odds)), 1 - t)  # canonical: -L_t'(p)
    return copysign(inf if mean == 0 else -expm1(-(2 - t) * abs(odds)) / mean ** (2 - t), odds)


def fixed_point(w, e):
    """Integers proportional to w e; the scale is a power of two, so that only small weights are rounded."""
    whole = all(v == int(v) for v in w)
    v = e if whole else [a * b for a, b in zip(w, e, strict=True)]
    mean = fsum(a * b for a, b in zip(w, e, strict=True)) / (fsum(w) if whole else len(w))
    scale = math.ldexp(1.0, math.frexp(min(2.0**30 / max(v), 2.0**20 / mean))[1] - 1)
    return [(int(a) if whole else 1) * round(scale * b) for a, b in zip(w, v, strict=True)]


def add(*parts):
    return tuple(map(sum, zip(*parts, strict=True)))


def candidates(bins, missing, edges):
    """(masses on the left, split) in the order that breaks ties. Masses: positive, negative, multiplicity,
    the positive mass and its share as splits see them (`smoothed`)."""
    zero, has_missing = (0, 0, 0, 0, 0), missing[2] > 0
    if edges is not None:
        left = zero
        for k, edge in enumerate(edges):  # right of the last edge, the largest value, is nothing but missing
            if k not in bins and k < len(edges) - 1:
                continue  # the same rows as the threshold before
            left, split = add(left, bins.get(k, zero)), {"threshold": edge, "categories": None}
            if k < len(edges) - 1:
                yield add(left, missing), split | {"missing_left": True}
            if has_missing:
                yield left, split | {"missing_left": False}
        return
    levels = sorted(bins)
    if len(levels) <= 8:
        masks = range(2 ** len(levels[1:]))
        rights = [[c for i, c in enumerate(levels[1:]) if mask >> i & 1] for mask in masks]
    else:
        order = sorted(levels, key=lambda c: (bins[c][4], c))
        rights = [[]] + [order[k:] for k in range(1, len(order))]
    for right in rights:
        for missing_left in [True] * bool(right) + [False] * has_missing:
            kept, side = sorted(set(levels) - set(right)), missing_left
            if right and levels[0] in right:  # the side of the lowest level is called left
                kept, side = sorted(right), not missing_left
            split = {"threshold": None, "categories": sorted(set(levels) - set(kept)), "missing_left": side}
            yield add(zero, *(bins[c] for c in kept), *[missing] * side), split


def is_missing(x):
    return x is None or x != x


def goes_left(node, row):
    x = row[node["feature"]]
    if is_missing(x):
        return node["missing_left"]
    return x <= node["threshold"] if node["categories"] is None else x not in node["categories"]


def bounded_risk(a, b, t, bounds):
    """2 M_{t-1}(a, b), (20); beyond the bounds the partial losses (19) of predicting the bound instead."""
    low, high = bounds
    if a + b == 0 or low <= a / (a + b) <= high:
        return 2 * power_mean(a, b, t - 1)
    u = low if a / (a + b) < low else high
    if u in (0, 1):
        return inf
    mean = power_mean(u, 1 - u, t - 1)
    return a * (mean / u) ** (2 - t) + b * (mean / (1 - u)) ** (2 - t)


def share(a, b, bounds):
    return max(bounds[0], min(bounds[1], a / (a + b)))


def mixed(h):
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD % 2**64
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 % 2**64
    return h ^ h >> 33


def columns_of(node, n_columns, draw, rules):
    """Columns that a node may ask about: of the groups that its path keeps to, and of these the drawn."""
    columns = range(n_columns) if rules.groups is None else sorted(set().union(*node["groups"]))
    if draw is None or rules.colsample == 1:
        return columns
    base = mixed((draw * 2**32 + rules.seed + 0x9E3779B97F4A7C15) % 2**64)
    number = {c: mixed((base + node["id"] * 2**32 + c) % 2**64) for c in columns}
    n = max(1, round(rules.colsample * len(columns)))
    return sorted(sorted(columns, key=number.get)[:n])


def rows_drawn(n, draw, rules):
    if draw is None or rules.subsample == 1:
        return [True] * n
    return [u < rules.subsample * 2**64 for u in Philox(key=[rules.seed, draw + 1]).random_raw(n).tolist()]


def smoothed(masses, node, smoothing):
    """Masses; the positive one with its share taken towards the node's as by `smoothing` more rows; that
    share, to 2^-30."""
    pos, neg, n = masses
    share = pos / (pos + neg) if pos + neg > 0 else 0.0
    if smoothing == 0 or n == 0 or min(node[:2]) == 0:
        return pos, neg, n, pos, share
    node_share, trust = node[0] / (node[0] + node[1]), n / (n + smoothing)
    expected = (pos + neg) * node_share
    seen = min(pos + neg, math.floor(expected + trust * (pos - expected) + 0.5))
    return pos, neg, n, seen, math.floor((node_share + trust * (share - node_share)) * 2**30 + 0.5)


def best_split(node, data, t, rules, columns):
    """The admissible split of least tempered risk over its children, or None.

    Among the splits of a categorical column, and against those of others, it is the share of the risk that
    counts which they take away from the smoothed levels.
    """
    total = (node["pos"], node["neg"], node["drawn"])
    bounds = node["bounds"]
    risk, found = bounded_risk(*total[:2], t, bounds), []
    least_mass = rules.min_leaf_mass * sum(data.q)

    def admits(child):
        pos, neg, n = child
        heavy = n > 0 and n >= rules.min_samples_leaf and pos + neg >= least_mass
        return heavy and (max if rules.allow_pure_leaves else min)(pos, neg) > 0

    for column in columns:
        edges, sign = data.edges[column], rules.direction[column] if rules.direction else 0
        bins, missing = {}, [(0, 0, 0)]
        for i in (i for i in node["rows"] if data.drawn[i]):
            x = data.X[i][column]
            if is_missing(x):
                missing.append(data.mass[i])
            else:
                bins.setdefault(x if edges is None else bisect_left(edges, x), []).append(data.mass[i])
        smoothing = rules.cat_smoothing if edges is None else 0
        bins = {k: smoothed(add(*masses), total, smoothing) for k, masses in bins.items()}
        missing = smoothed(add(*missing), total, smoothing)
        seen = sum(masses[3] for masses in (missing, *bins.values()))
        seen_risk = bounded_risk(seen, sum(total[:2]) - seen, t, bounds)
        if seen_risk == 0:
            continue  # nothing to lower
        factor = risk / seen_risk
        for left, split in candidates(bins, missing, edges):
            left, seen_left = left[:3], left[3]
            right = tuple(a - b for a, b in zip(total, left, strict=True))
            if admits(left) and admits(right):
                if missing[2] == 0:
                    split["missing_left"] = left[2] >= right[2]
                rise = share(*right[:2], bounds) - share(*left[:2], bounds)
                if rise * sign < 0:
                    continue
                loss = sum(bounded_risk(*side[:2], t, bounds) for side in (left, right))
                sides = ((seen_left, sum(left[:2])), (seen - seen_left, sum(right[:2])))
                seen_loss = factor * sum(bounded_risk(a, m - a, t, bounds) for a, m in sides)
                merit = {"merit": risk - seen_loss, "gain": risk - loss}
                found.append((seen_loss, {"feature": column, **merit, **split}))
    least = min((loss for loss, _ in found), default=inf)
    split = next((split for loss, split in found if loss <= least * (1 + 1e-12)), None)
    if rules.growth == "best":
        return split if split and split["merit"] > 1e-12 * risk else None
    # The paper's policy takes splits without gain, but leaves a leaf of one class alone.
    return split if split and split["merit"] >= -1e-12 * risk and min(total[:2]) > 0 else None


def grow(data, logs, t, rules, draw=None):
    """One tree as a list of nodes; the k-th split makes nodes 2k + 1 (left) and 2k + 2 (right)."""

    drawn = rows_drawn(data.n_given, draw, rules)
    data.drawn = [drawn[i] for i in data.place]
    q = fixed_point(data.w, [exp(lw) for lw in logs])
    data.q, w = ([a * b for a, b in zip(v, data.drawn, strict=True)] for v in (q, data.w))
    data.mass = [(a, 0, b) if y > 0 else (0, a, b) for a, y, b in zip(data.q, data.y, w, strict=True)]

    def leaf(rows, depth, bounds, groups):
        pos, neg, n = add((0, 0, 0), *(data.mass[i] for i in rows))
        new = {"feature": -1, "id": len(nodes), "rows": rows, "depth": depth, "bounds": bounds}
        new |= {"pos": pos, "neg": neg, "drawn": n, "mass": sum(data.w[i] for i in rows), "gain": 0.0}
        new["groups"] = groups
        deep = rules.max_depth is not None and depth >= rules.max_depth
        columns = columns_of(new, len(data.edges), draw, rules)
        return new | {"split": None if deep else best_split(new, data, t, rules, columns)}

    nodes = []
    nodes.append(leaf(range(len(data.X)), 0, (0.0, 1.0), rules.groups))
    while rules.max_leaf_nodes is None or len(nodes) // 2 + 1 < rules.max_leaf_nodes:
        choice = [(PRIORITY[rules.growth](k), k) for k in nodes if k["feature"] < 0 and k["split"]]
        if not choice:
            break
        top = max(priority for priority, _ in choice)
        parent = next(k for priority, k in choice if priority >= top * (1 - 1e-12))
        parent.update(parent["split"], left=len(nodes), right=len(nodes) + 1)
        parent["gain"] = max(0.0, parent["gain"]) / sum(data.q)
        sides = [
            [i for i in parent["rows"] if goes_left(parent, data.X[i]) == side] for side in (True, False)
        ]
        groups = rules.groups and [group for group in parent["groups"] if parent["feature"] in group]
        for rows, bounds in zip(sides, children_bounds(parent, sides, data, rules), strict=True):
            nodes.append(leaf(rows, parent["depth"] + 1, bounds, groups))
    return nodes


def children_bounds(parent, sides, data, rules):
    """Midway between what the children predict is the bound of everything below them."""
    low, high = parent["bounds"]
    sign = rules.direction[parent["feature"]] if rules.direction else 0
    if sign == 0:
        return parent["bounds"], parent["bounds"]
    masses = [add((0, 0, 0), *(data.mass[i] for i in rows))[:2] for rows in sides]
    middle = sum(share(*mass, parent["bounds"]) for mass in masses) / 2
    return ((low, middle), (middle, high))[::sign]


def in_order(nodes, direction, weight, node=0, low=-inf, high=inf):
    """Take leaf values to bounds: midway between what the children of a node predict, from the root down."""

    def value_of(node):
        """Weight and weighted mean of the leaves below."""
        if node["feature"] < 0:
            return weight[node["id"]], node["value"]
        (v, a), (w, b) = (value_of(nodes[node[side]]) for side in ("left", "right"))
        return v + w, (v * a + w * b) / (v + w) if v + w > 0 else 0.0

    node = nodes[node]
    if node["feature"] < 0:
        node["value"] = max(low, min(high, node["value"]))
        return
    sign = direction[node["feature"]]
    values = [max(low, min(high, value_of(nodes[node[side]])[1])) for side in ("left", "right")]
    bounds = ((low, sum(values) / 2), (sum(values) / 2, high))[::sign] if sign else ((low, high), (low, high))
    for side, of_side in zip(("left", "right"), bounds, strict=True):
        in_order(nodes, direction, weight, node[side], *of_side)


def leaf_outputs(nodes, state, t, kind, ridge, cap, direction=None):
    """Set the value of every leaf; the output h of each row."""
    h, weight = [0.0] * len(state[0]), {}
    for leaf in (node for node in nodes if node["feature"] < 0):
        rows = [tuple(part[i] for part in state) for i in leaf["rows"]]
        leaf["value"] = max(-cap, min(cap, leaf_value(rows, t, kind, ridge)))
        weight[leaf["id"]] = fsum(w * exp(lw) for w, lw, _ in rows) + ridge * (kind == "exact")
    if direction:
        in_order(nodes, direction, weight)
    for leaf in (node for node in nodes if node["feature"] < 0):
        for i in leaf["rows"]:
            h[i] = leaf["value"]
    return h


def edge_and_step(w, logs, u, t, rule):
    """(rho, alpha, A): the edge (10), and the step 1, (6) or (11), in the form without m and Z."""
    s = 1 - t
    bound = max(abs(a) * exp(-s * lw) for a, lw in zip(u, logs, strict=True) if lw > -inf)  # A
    if bound == 0:
        return 0.0, float(rule == "unit"), bound
    off = max((abs(a) for a, lw in zip(u, logs, strict=True) if lw == -inf), default=0.0)
    e = [exp(lw) if lw > -inf else (off / bound) ** (1 / s) for lw in logs]  # off rows count with q-dagger
    rho = fsum(a * b * c for a, b, c in zip(w, e, u, strict=True)) / bound
    rho /= fsum(a * b ** (2 - t) for a, b in zip(w, e, strict=True))
    rho = copysign(1.0, rho) if abs(rho) > 1 - 4e-16 else rho
    if rule == "closed":
        reach = math.atanh(rho) if abs(rho) < 1 else copysign(inf, rho)
        return rho, reach / bound if t == 1 else tanh(s * reach) / (s * bound), bound
    return rho, 1.0 if rule == "unit" else solve(list(zip(w, logs, u, strict=True)), t), bound


def column_edges(values):
    """Upper ends of a column's bins: midpoints of successive distinct values, then the largest value."""
    known = sorted({x for x in values if not is_missing(x)})
    middles = ((a, a / 2 + b / 2) for a, b in itertools.pairwise(known))
    return [m if m < b else a for (a, m), b in zip(middles, known[1:], strict=True)] + known[-1:]


def table(X, y, w, categorical):
    """The rows that count, w > 0, and the bins of each column."""
    w, n_given = [1.0] * len(y) if w is None else w, len(y)
    rows = zip(X, y, w, itertools.count(), strict=False)
    X, y, w, place = zip(*[row for row in rows if row[2] > 0], strict=True)
    columns = enumerate(zip(*X, strict=True))
    edges = [None if c in categorical else column_edges(values) for c, values in columns]
    return SimpleNamespace(X=X, y=y, w=w, edges=edges, place=place, n_given=n_given)


def boost(X, y, t, **options):
    """Algorithm 1. A round is a dict: nodes, alpha, rho, loss = prod Z^(2-t), stop (why it was the last)."""
    rules = SimpleNamespace(**DEFAULTS | options)
    data = table(X, y, rules.w, rules.categorical)
    y, w = data.y, data.w
    cap, unit = CAP if t >= 1 else inf, rules.leveraging == "unit"
    whole_step = not unit and rules.learning_rate == 1
    logs, rounds, stop = [0.0] * len(w), [], None
    while stop is None:
        # A draw that leads nowhere is followed by all rows and columns.
        for draw in (len(rounds), None) if min(rules.subsample, rules.colsample) < 1 else (None,):
            nodes = grow(data, logs, t, rules, draw)
            own = rules.leaf_values, rules.leaf_ridge, cap / rules.learning_rate, rules.direction
            h = leaf_outputs(nodes, (w, logs, y), t, *own)
            u = [a * b for a, b in zip(y, h, strict=True)]
            rho, alpha, bound = edge_and_step(w, logs, u, t, rules.leveraging)
            alpha *= rules.learning_rate
            if not unit and any(h):
                alpha = max(-cap / max(map(abs, h)), min(cap / max(map(abs, h)), alpha))
            edge, size = (
                fsum(a * exp(lw) * b for a, lw, b in zip(w, logs, v, strict=True)) for v in (u, map(abs, u))
            )
            back = rules.direction and (
                edge <= 1e-12 * size or alpha < 0
            )  # leaves moved into order may lose it
            again = draw is not None and bound < 2**-40  # rounding is left of a tree that was drawn before
            if len(nodes) == 1:
                stop = "no split"
            elif alpha == 0 or not any(h) or (abs(rho) < 1e-15 and not unit) or back or again:
                stop = "edge zero"
            else:
                stop = None
                break
        if stop and rounds:
            rounds[-1]["stop"] = stop
            break
        if stop:  # a root that predicts the prior
            nodes, alpha = nodes[:1], 1.0
            nodes[0].update(feature=-1, gain=0.0)
            h = leaf_outputs(nodes, (w, logs, y), t, "theorem_a", 0.0, cap)
        logs = [move(lw, alpha * a * b, t) for lw, a, b in zip(logs, y, h, strict=True)]
        loss = fsum(a * exp((2 - t) * lw) for a, lw in zip(w, logs, strict=True)) / fsum(w)
        if stop is None and (loss == 0 or (abs(rho) == 1 and t <= 1 and whole_step)):
            stop = "perfect"
        elif stop is None and abs(alpha) * bound < 2**-53:
            stop = "frozen step"
        elif stop is None and len(rounds) + 1 == rules.n_estimators:
            stop = "n_estimators"
        rounds.append({"nodes": nodes, "alpha": alpha, "rho": rho, "loss": loss, "logs": logs, "stop": stop})
    return rounds
