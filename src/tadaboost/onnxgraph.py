# SPDX-License-Identifier: Apache-2.0
"""A model as an ONNX graph: one `TreeEnsemble` with a target a tree, scores summed tree by tree, the link.

All in double: thresholds and leaves are the model's own, and the sums are made in its order, so that the
scores are the same bits. The formulas are written in ONNX's own text form.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tadaboost
from tadaboost import multiclass
from tadaboost.parts import Parts, members

__all__ = ["build"]

_IR, _OPSET, _ML_OPSET = 10, 21, 5  # what onnxruntime 1.20 reads: the first with `TreeEnsemble` in double
_LEQ, _MEMBER = 0, 6  # modes of a node

# log(1 + x), from -1 on: log(u) x / (u - 1), u = 1 + x rounded, loses nothing near 0. Infinity beyond 1e300.
_LOG1P = """
<domain: "tadaboost", opset_import: ["" : 21]>
log1p (x) => (y)
{
  one = Constant <value = double {1.0}> ()
  zero = Constant <value = double {0.0}> ()
  huge = Constant <value = double {1e300}> ()
  u = Add (one, x)
  u_less_1 = Sub (u, one)
  log_u = Log (u)
  ratio = Div (x, u_less_1)
  corrected = Mul (log_u, ratio)
  is_tiny = Equal (u_less_1, zero)
  exact = Where (is_tiny, x, corrected)
  is_huge = Less (huge, x)
  y = Where (is_huge, x, exact)
}
"""
_LOGISTIC = """
<domain: "tadaboost", opset_import: ["" : 21]>
logistic (log_odds) => (p)
{
  zero = Constant <value = double {0.0}> ()
  one = Constant <value = double {1.0}> ()
  size = Abs (log_odds)
  minus_size = Neg (size)
  small = Exp (minus_size)
  is_negative = Less (log_odds, zero)
  numerator = Where (is_negative, small, one)
  denominator = Add (one, small)
  p = Div (numerator, denominator)
}
"""
# What `losses.inverse_link` is the logistic function of: log((1 + s H) / (1 - s H)) / s, s = |1 - t|.
_LINK_ODDS = """
<domain: "tadaboost", opset_import: ["" : 21, "tadaboost" : 1]>
link_odds (h) => (log_odds)
{
  s = Constant <value = double {ABS_S}> ()
  one = Constant <value = double {1.0}> ()
  size = Abs (h)
  beyond = Mul (s, size)
  x = Min (beyond, one)
  two_x = Add (x, x)
  one_less_x = Sub (one, x)
  y = Div (two_x, one_less_x)
  log1p_y = tadaboost.log1p (y)
  odds = Div (log1p_y, s)
  minus_odds = Neg (odds)
  zero = Constant <value = double {0.0}> ()
  is_negative = Less (h, zero)
  log_odds = Where (is_negative, minus_odds, odds)
}
"""
_LINK_ODDS_AT_1 = """
<domain: "tadaboost", opset_import: ["" : 21]>
link_odds (h) => (log_odds) { log_odds = Add (h, h) }
"""
# multiclass._log_odds
_CLASS_ODDS = """
<domain: "tadaboost", opset_import: ["" : 21, "tadaboost" : 1]>
class_odds (behind, leader) => (log_odds)
{
  s = Constant <value = double {ABS_S}> ()
  minus_half_s = Constant <value = double {MINUS_HALF_S}> ()
  zero = Constant <value = double {0.0}> ()
  one = Constant <value = double {1.0}> ()
  is_leader = Equal (behind, zero)
  s_leader = Mul (s, leader)
  minus_s_leader = Neg (s_leader)
  exp_z = Exp (s_leader)
  exp_y = Exp (minus_s_leader)
  two_over_z = Add (one, exp_z)
  two_over_y = Add (one, exp_y)
  half_gap = Mul (minus_half_s, behind)
  of_z = Mul (half_gap, two_over_z)
  beyond_y = Mul (half_gap, two_over_y)
  of_y = Min (beyond_y, one)
  minus_of_y = Neg (of_y)
  log_y = tadaboost.log1p (minus_of_y)
  log_z = tadaboost.log1p (of_z)
  difference = Sub (log_y, log_z)
  quotient = Div (difference, s)
  odds = Add (leader, quotient)
  log_odds = Where (is_leader, leader, odds)
}
"""
_CLASS_ODDS_AT_1 = """
<domain: "tadaboost", opset_import: ["" : 21]>
class_odds (behind, leader) => (log_odds)
{
  twice = Add (behind, behind)
  log_odds = Add (leader, twice)
}
"""

_ADD = "after = Add (before, gain)"
_ADD_AND_CLIP = """
      sum = Add (before, gain)
      after = Clip (sum, lowest, highest)
"""
_ONE_SCORE = """
model (double[rows, COLUMNS] X)
    => (LABEL[rows] label, double[rows, CLASSES] probabilities, double[rows] score)
{
  start = ConstantOfShape <value = double[1] {0.0}> (n_rows)
  score = Scan <num_scan_inputs = 1, scan_input_axes = [1], body = tree
      (double[n] before, double[n] gain) => (double[n] after) { STEP }> (start, gains)
  PROBABILITIES
  best = ArgMax <axis = 1, keepdims = 0> (probabilities)
  label = Gather (classes, best)
}
"""
_CERTAIN = """
  shape = Concat <axis = 0> (n_rows, n_classes)
  probabilities = ConstantOfShape <value = double[1] {1.0}> (shape)
"""
_BOTH = """
  log_odds = tadaboost.link_odds (score)
  minus_log_odds = Neg (log_odds)
  negative = tadaboost.logistic (minus_log_odds)
  positive = tadaboost.logistic (log_odds)
  negative_column = Unsqueeze (negative, class_axis)
  positive_column = Unsqueeze (positive, class_axis)
  probabilities = Concat <axis = 1> (negative_column, positive_column)
"""
# multiclass._excess
_EXCESS = """
<domain: "tadaboost", opset_import: ["" : 21, "tadaboost" : 1]>
excess (others, leader) => (f)
{
  class_axis = Constant <value_ints = [1]> ()
  odds = tadaboost.class_odds (others, leader)
  p = tadaboost.logistic (odds)
  sum = ReduceSum <keepdims = 1> (p, class_axis)
  minus_leader = Neg (leader)
  left = tadaboost.logistic (minus_leader)
  f = Sub (sum, left)
}
"""
# multiclass.probabilities, and in it multiclass._leader, all rows until the last is done.
_SCORES = """
model (double[rows, COLUMNS] X)
    => (LABEL[rows] label, double[rows, CLASSES] probabilities, double[rows, CLASSES] score)
{
  shape = Concat <axis = 0> (n_rows, n_classes)
  start = ConstantOfShape <value = double[1] {0.0}> (shape)
  by_round = Reshape (gains, rounds_and_classes)
  score = Scan <num_scan_inputs = 1, scan_input_axes = [1], body = round
      (double[n, k] before, double[n, k] gain) => (double[n, k] after) { STEP }> (start, by_round)
  best_score = ReduceMax <keepdims = 1> (score, class_axis)
  behind = Sub (score, best_score)
  sorted, places = TopK <axis = 1> (behind, n_classes)
  others = Slice (sorted, index_one, n_classes, class_axis)
  second = Slice (sorted, index_one, index_two, class_axis)
  two_alone = Mul (second, minus_half)
  odds_of_two = tadaboost.link_odds (two_alone)
  high_0 = Clip (odds_of_two, low_end, high_end)
  column = Shape (high_0)
  low_end_of_all = Expand (low_end, column)
  none_last = Expand (nothing, column)
  f_low_0 = tadaboost.excess (others, low_end_of_all)
  f_high_0 = tadaboost.excess (others, high_0)
  size_0 = Abs (f_high_0)
  is_done = LessOrEqual (size_0, close)
  low_0 = Where (is_done, high_0, low_end_of_all)
  low, high, f_low, f_high, last = Loop <body = illinois
      (int64 i, bool go, double[n, 1] low_i, double[n, 1] high_i, double[n, 1] f_low_i, double[n, 1] f_high_i,
       double[n, 1] last_i)
      => (bool go_on, double[n, 1] low_next, double[n, 1] high_next, double[n, 1] f_low_next,
          double[n, 1] f_high_next, double[n, 1] last_next) {
    width_i = Sub (high_i, low_i)
    half = Mul (width_i, one_half)
    middle = Add (low_i, half)
    low_part = Mul (low_i, f_high_i)
    high_part = Mul (high_i, f_low_i)
    numerator = Sub (low_part, high_part)
    denominator = Sub (f_high_i, f_low_i)
    secant = Div (numerator, denominator)
    is_above = Less (low_i, secant)
    is_below = Less (secant, high_i)
    is_inside = And (is_above, is_below)
    turn = Mod (i, three)
    is_secants_turn = Less (turn, two)
    is_secant = And (is_inside, is_secants_turn)
    at = Where (is_secant, secant, middle)
    f = tadaboost.excess (others, at)
    up = Less (nothing, f)
    half_f_low = Mul (f_low_i, one_half)
    half_f_high = Mul (f_high_i, one_half)
    was_up = Less (nothing, last_i)
    was_down = Less (last_i, nothing)
    f_low_kept = Where (was_up, half_f_low, f_low_i)
    f_high_kept = Where (was_down, half_f_high, f_high_i)
    f_low_next = Where (up, f_low_kept, f)
    f_high_next = Where (up, f, f_high_kept)
    last_next = Where (up, one, minus_one)
    size = Abs (f)
    is_root = LessOrEqual (size, close)
    low_moved = Where (up, low_i, at)
    high_moved = Where (up, at, high_i)
    low_next = Where (is_root, at, low_moved)
    high_next = Where (is_root, at, high_moved)
    low_size = Abs (low_next)
    high_size = Abs (high_next)
    largest = Max (low_size, high_size)
    ulp = Mul (largest, epsilon)
    width = Sub (high_next, low_next)
    is_far = Less (ulp, width)
    far = Cast <to = 7> (is_far)
    n_far = ReduceSum <keepdims = 0> (far)
    go_on = Less (no_rows, n_far)
  }> (most_steps, , low_0, high_0, f_low_0, f_high_0, none_last)
  odds_low = tadaboost.class_odds (behind, low)
  odds_high = tadaboost.class_odds (behind, high)
  p_low = tadaboost.logistic (odds_low)
  p_high = tadaboost.logistic (odds_high)
  sum_low = ReduceSum <keepdims = 1> (p_low, class_axis)
  lacks = Sub (one, sum_low)
  step = Sub (p_high, p_low)
  rise = ReduceSum <keepdims = 1> (step, class_axis)
  is_flat = LessOrEqual (rise, nothing)
  quotient = Div (lacks, rise)
  within = Clip (quotient, nothing, one)
  share = Where (is_flat, nothing, within)
  added = Mul (share, step)
  p = Add (p_low, added)
  sum = ReduceSum <keepdims = 1> (p, class_axis)
  probabilities = Div (p, sum)
  best = ArgMax <axis = 1, keepdims = 0> (probabilities)
  label = Gather (classes, best)
}
"""


def build(parts: Parts) -> Any:
    """Make the ONNX model.

    Parameters
    ----------
    parts : Parts

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    TypeError
        If labels are no strings, booleans or numbers.
    """
    from onnx import checker, helper, numpy_helper, parser

    classes, label_type = _labels(parts.classes)
    text = _text(parts, label_type)
    graph = parser.parse_graph(text)
    graph.node.insert(0, helper.make_node("Shape", ["X"], ["n_rows"], start=0, end=1))
    graph.node.insert(0, _ensemble(parts))
    for name, value in (_constants(parts) | {"classes": classes}).items():
        if re.search(rf"\b{name}\b", text):
            graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    versions = {"": _OPSET, "ai.onnx.ml": _ML_OPSET, "tadaboost": 1}
    model = helper.make_model(
        graph,
        functions=[parser.parse_function(text) for text in _functions(parts)],
        opset_imports=[helper.make_opsetid(*pair) for pair in versions.items()],
        ir_version=_IR,
        producer_name="tadaboost",
        producer_version=tadaboost.__version__,
    )
    helper.set_model_props(model, _properties(parts))
    checker.check_model(model)
    return model


def _labels(classes: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """Give the labels as ONNX holds them, and the name of their type."""
    kind = classes.dtype.kind
    if kind in "OUT" and all(isinstance(label, str) for label in classes):
        return classes.astype(object), "string"
    if kind in "iu" and classes.max() <= np.iinfo(np.int64).max:
        return classes.astype(np.int64), "int64"
    if kind == "b":
        return classes, "bool"
    if kind == "f":
        return classes.astype(np.float64), "double"
    raise TypeError(f"labels of type {classes.dtype} cannot be written to ONNX; fit with strings or integers")


def _text(parts: Parts, label_type: str) -> str:
    """Write the graph but for its trees and constants."""
    n_classes = len(parts.classes)
    words = {
        "PROBABILITIES": _CERTAIN if n_classes == 1 else _BOTH,
        "STEP": _ADD_AND_CLIP if parts.is_clipped else _ADD,
        "COLUMNS": str(len(parts.levels)),
        "CLASSES": str(n_classes),
        "LABEL": label_type,
    }
    text = _ONE_SCORE if parts.n_scores == 1 else _SCORES
    for word, its_text in words.items():
        text = text.replace(word, its_text)
    return text


def _functions(parts: Parts) -> list[str]:
    """Write the functions that the graph calls, those called by others first."""
    s = abs(1 - parts.t)
    if len(parts.classes) == 1:
        return []
    texts = [_LOG1P if s else "", _LOGISTIC, _LINK_ODDS if s else _LINK_ODDS_AT_1]
    if parts.n_scores > 1:
        texts += [_CLASS_ODDS if s else _CLASS_ODDS_AT_1, _EXCESS]
    numbers = {"ABS_S": s, "MINUS_HALF_S": -0.5 * s}
    for name, number in numbers.items():
        texts = [text.replace(name, repr(number)) for text in texts]
    return [text for text in texts if text]


def _constants(parts: Parts) -> dict[str, Any]:
    """Give the constants by the names that the texts use."""
    n_classes = len(parts.classes)
    return {
        "lowest": -parts.clip_at,
        "highest": parts.clip_at,
        "n_classes": np.array([n_classes]),
        "rounds_and_classes": np.array([0, len(parts.trees) // parts.n_scores, parts.n_scores]),
        "class_axis": np.array([1]),
        "index_one": np.array([1]),
        "index_two": np.array([2]),
        "two": 2,
        "three": 3,
        "no_rows": 0,
        "most_steps": np.array(multiclass.MOST_STEPS),
        "nothing": 0.0,
        "one": 1.0,
        "minus_one": -1.0,
        "one_half": 0.5,
        "minus_half": -0.5,
        "close": multiclass.CLOSE,
        "epsilon": 2.0**-52,
        "low_end": -math.log(max(n_classes - 1, 1)),  # of the leader's log odds
        "high_end": multiclass.CERTAIN,
    }


def _ensemble(parts: Parts) -> Any:
    """Make the node whose output is what each tree adds to the score, shape (rows, trees).

    Inner nodes and leaves are numbered over all trees; a tree without a split asks a question whose two
    answers are its leaf.
    """
    from onnx import TensorProto, helper

    nodes: dict[str, list[Any]] = {name: [] for name in ("feature", "split", "mode", "missing", "member")}
    ways: dict[bool, list[tuple[int, int]]] = {True: [], False: []}  # where an answer leads, is it a leaf
    roots: list[int] = []
    targets: list[int] = []
    weights: list[float] = []
    for j, tree in enumerate(parts.trees):
        is_leaf = tree.feature < 0
        # Numbers of nodes and of leaves, in the order in which the loops below give them out.
        place = (
            np.where(is_leaf, len(weights) + np.cumsum(is_leaf), len(nodes["mode"]) + np.cumsum(~is_leaf)) - 1
        )
        roots.append(len(nodes["mode"]))
        weights += parts.added(j)[is_leaf].tolist()
        targets += [j] * int(is_leaf.sum())
        for node in [0] if is_leaf[0] else np.flatnonzero(~is_leaf).tolist():
            left, right = (node, node) if is_leaf[node] else (tree.left[node], tree.right[node])
            levels = parts.levels[tree.feature[node]] if tree.is_categorical[node] else None
            if levels is not None:
                chosen, go_right = members(tree, node, len(levels))
                nodes["member"] += [*chosen.tolist(), math.nan]
            else:
                go_right = False
            nodes["feature"].append(max(int(tree.feature[node]), 0))
            nodes["split"].append(float(tree.threshold[node]))
            nodes["mode"].append(_LEQ if levels is None else _MEMBER)
            nodes["missing"].append(int(bool(tree.missing_left[node]) != go_right))
            for answer in (True, False):
                child = right if answer == go_right else left
                ways[answer].append((int(place[child]), int(is_leaf[child])))

    def doubles(name: str, values: list[float]) -> Any:
        """Make a tensor of numbers."""
        return helper.make_tensor(name, TensorProto.DOUBLE, [len(values)], values)

    return helper.make_node(
        "TreeEnsemble",
        ["X"],
        ["gains"],
        domain="ai.onnx.ml",
        n_targets=len(parts.trees),
        tree_roots=roots,
        nodes_featureids=nodes["feature"],
        nodes_splits=doubles("splits", nodes["split"]),
        nodes_modes=helper.make_tensor("modes", TensorProto.UINT8, [len(nodes["mode"])], nodes["mode"]),
        nodes_missing_value_tracks_true=nodes["missing"],
        nodes_truenodeids=[place for place, _ in ways[True]],
        nodes_trueleafs=[is_leaf for _, is_leaf in ways[True]],
        nodes_falsenodeids=[place for place, _ in ways[False]],
        nodes_falseleafs=[is_leaf for _, is_leaf in ways[False]],
        membership_values=doubles("members", nodes["member"]) if nodes["member"] else None,
        leaf_targetids=targets,
        leaf_weights=doubles("weights", weights),
    )


def _properties(parts: Parts) -> dict[str, str]:
    """Say what a reader of the file cannot see in the graph."""
    levels = {
        name: list(levels)
        for name, levels in zip(parts.names, parts.levels, strict=True)
        if levels is not None
    }
    return {
        "columns": json.dumps(parts.names),
        "levels": json.dumps(levels, default=str),
        "temperature": repr(parts.t),
        "clipped_at": repr(parts.clip_at) if parts.is_clipped else "",
    }
