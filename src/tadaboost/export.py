# SPDX-License-Identifier: Apache-2.0
"""A fitted model in the form of other libraries: ONNX, SHAP's trees, Treelite.

All of them take a matrix of float64, in which a categorical column holds codes of levels and NaN is missing:
`matrix` makes it of a table.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tadaboost import onnxgraph, shaptrees
from tadaboost.base import TemperedClassifier
from tadaboost.parts import Parts, members, parts_of, refuse_deep

__all__ = ["matrix", "to_onnx", "to_shap", "to_treelite"]


def matrix(model: TemperedClassifier, X: Any) -> NDArray[np.float64]:
    """Make of a table the matrix that exported models take.

    Parameters
    ----------
    model : fitted TAdaBoostClassifier or TemperedTreeClassifier
    X : array-like or data frame of shape (rows, n_features_in_)
        As in `predict`.

    Returns
    -------
    ndarray of float64, shape (rows, n_features_in_)
        A level of a categorical column is its code, from 0; NaN is missing, or a level never seen.

    Raises
    ------
    ValueError
        If columns differ from those of `fit`, or hold infinite values.

    Examples
    --------
    >>> from tadaboost import TAdaBoostClassifier
    >>> X, y = [[0.0, "a"], [1.0, "b"], [2.0, "b"], [3.0, "c"]] * 5, [0, 0, 1, 1] * 5
    >>> model = TAdaBoostClassifier().fit(X, y)
    >>> matrix(model, [[2.5, "b"], [1.0, None]])
    array([[2.5, 1. ],
           [1. , nan]])
    """
    parts_of(model)
    return np.array(model._matrix(X), np.float64, order="C", ndmin=2)


def to_onnx(model: TemperedClassifier) -> Any:
    """Write a fitted model as an ONNX graph.

    Input "X", double, shape (rows, columns), see `matrix`; outputs "label", "probabilities" (rows, classes)
    and "score" (rows), or (rows, classes) for more than two classes. Thresholds, leaves and sums are those of
    the model, in double and in its order: scores are the same bits. Probabilities are equal to 1e-14 from
    t = -1 on; below, the last digit of a score may decide more. Running it takes rows x trees x 8 bytes.
    Names of columns, their levels and the temperature are in the metadata.

    Parameters
    ----------
    model : fitted TAdaBoostClassifier or TemperedTreeClassifier

    Returns
    -------
    onnx.ModelProto
        Of IR version 10, opset 21 and ai.onnx.ml 5; onnxruntime runs it from 1.20 on.

    Raises
    ------
    TypeError
        If the model has weak learners of another kind (`estimator`), or labels that ONNX has no type for.
    ValueError
        If a tree is more than 1000 splits deep.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ImportError
        If onnx is not installed.

    Notes
    -----
    A pipeline is the graph of its other steps, from skl2onnx, and this one behind it::

        first = skl2onnx.to_onnx(pipeline[:-1], X[:1], target_opset={"": 21, "ai.onnx.ml": 5})
        last = to_onnx(pipeline[-1])
        both = onnx.compose.merge_models(first, last, io_map=[(first.graph.output[0].name, "X")])

    with X of float64, and `ir_version` of the one set to that of the other where they differ.
    The steps must be made of arithmetic in double, as scalers are: imputers and encoders of skl2onnx are not,
    and the model takes gaps and categories as they are.

    Examples
    --------
    >>> from tadaboost import TAdaBoostClassifier
    >>> model = TAdaBoostClassifier(n_estimators=3).fit([[0.0], [1.0]] * 10, ["no", "yes"] * 10)
    >>> [output.name for output in to_onnx(model).graph.output]
    ['label', 'probabilities', 'score']
    """
    parts = parts_of(model)
    refuse_deep(parts)
    with _needs("onnx", "export"):
        return onnxgraph.build(parts)


def to_shap(model: TemperedClassifier) -> dict[str, Any]:
    """Give the trees of a fitted model as ``shap.TreeExplainer`` takes them.

    Explains the score: base value and SHAP values of a row sum to its `decision_function`. Rows as in
    `matrix`. A categorical split becomes thresholds of codes.

    Parameters
    ----------
    model : fitted TAdaBoostClassifier or TemperedTreeClassifier
        Not clipped.

    Returns
    -------
    dict
        For ``shap.TreeExplainer(to_shap(model))``, or with background rows (`matrix`) as its second argument,
        with which SHAP counts to seven digits or so.

    Raises
    ------
    ValueError
        If scores are clipped after every tree, so that they are no sums; or if the thresholds of a tree
        with categorical splits are too many, or a tree is more than 1000 splits deep.
    TypeError
        If the model has weak learners of another kind (`estimator`).
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> from tadaboost import TAdaBoostClassifier
    >>> model = TAdaBoostClassifier(n_estimators=3).fit([[0.0], [1.0]] * 10, ["no", "yes"] * 10)
    >>> [len(tree["features"]) for tree in to_shap(model)["trees"]]
    [3, 3, 3]
    """
    parts = parts_of(model)
    refuse_deep(parts)
    return shaptrees.build(parts)


def to_treelite(model: TemperedClassifier) -> Any:
    """Write a fitted model as a Treelite model.

    Its sums are scores: ``treelite.gtil.predict(..., pred_margin=True)`` is `decision_function` but for the
    order of additions. Of a clipped model only what each tree adds is exported
    (``treelite.gtil.predict_per_tree``); add tree by tree, and clip at 1/|1 - t| after each. Rows
    as in `matrix`; codes of no level go left.

    Parameters
    ----------
    model : fitted TAdaBoostClassifier or TemperedTreeClassifier

    Returns
    -------
    treelite.Model
        In double.

    Raises
    ------
    TypeError
        If the model has weak learners of another kind (`estimator`).
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ImportError
        If treelite is not installed.

    Examples
    --------
    >>> from tadaboost import TAdaBoostClassifier
    >>> model = TAdaBoostClassifier(n_estimators=3).fit([[0.0], [1.0]] * 10, ["no", "yes"] * 10)
    >>> to_treelite(model).num_tree
    3
    """
    parts = parts_of(model)
    with _needs("treelite", "export"):
        from treelite.model_builder import Metadata, ModelBuilder, PostProcessorFunc, TreeAnnotation
    n, n_trees = parts.n_scores, len(parts.trees)
    builder = ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=Metadata(len(parts.levels), "kBinaryClf" if n == 1 else "kMultiClf", False, 1, [n], (1, 1)),
        tree_annotation=TreeAnnotation(n_trees, [0] * n_trees, [j % n for j in range(n_trees)]),
        postprocessor=PostProcessorFunc("identity" if n == 1 else "identity_multiclass"),
        base_scores=[0.0] * n,
    )
    for j in range(n_trees):
        _add_tree(builder, parts, j)
    return builder.commit()


def _add_tree(builder: Any, parts: Parts, j: int) -> None:
    tree, added = parts.trees[j], parts.added(j)
    builder.start_tree()
    for node in range(len(tree.feature)):
        builder.start_node(node)
        column = int(tree.feature[node])
        levels = parts.levels[column] if tree.is_categorical[node] else None
        ways = {
            "default_left": bool(tree.missing_left[node]),
            "left_child_key": int(tree.left[node]),
            "right_child_key": int(tree.right[node]),
        }
        if column < 0:
            builder.leaf(float(added[node]))
        elif levels is None:
            builder.numerical_test(column, float(tree.threshold[node]), opname="<=", **ways)
        else:
            chosen, go_right = members(tree, node, len(levels))
            builder.categorical_test(
                column, category_list=chosen.tolist(), category_list_right_child=go_right, **ways
            )
        builder.end_node()
    builder.end_tree()


@contextmanager
def _needs(library: str, extra: str) -> Iterator[None]:
    """Say what to install where `library` is missing."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{library} is not installed: pip install 'tadaboost[{extra}]'") from error
