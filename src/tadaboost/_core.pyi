# SPDX-License-Identifier: Apache-2.0
# Types of the compiled core. Arrays are C-contiguous unless said otherwise, and never converted.

from typing import Any

import numpy as np
from numpy.typing import NDArray

debug: bool

def fit_bins(
    X: NDArray[np.floating[Any]],
    is_categorical: NDArray[np.bool_],
    n_levels: NDArray[np.int32],
    max_bins: int,
    multiplicity: NDArray[np.float64] | None,
    n_threads: int,
) -> tuple[
    NDArray[np.int32], NDArray[np.float64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]
]: ...
def encode(
    X: NDArray[np.floating[Any]],
    n_bins: NDArray[np.int32],
    edges: NDArray[np.float64],
    edge_start: NDArray[np.int64],
    is_categorical: NDArray[np.bool_],
    level_bin: NDArray[np.int32],
    level_start: NDArray[np.int64],
    out: NDArray[np.uint8] | NDArray[np.uint16],
    n_threads: int,
) -> None: ...

class Forest:
    n_columns: int
    n_trees: int
    def __init__(
        self,
        n_columns: int,
        tree_start: NDArray[np.int64],
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        value: NDArray[np.float64],
        missing_left: NDArray[np.bool_],
        is_categorical: NDArray[np.bool_],
        categories: NDArray[np.int32],
        category_start: NDArray[np.int64],
    ) -> None: ...
    def decision(
        self, X: NDArray[np.floating[Any]], alpha: NDArray[np.float64], clip: float, n_threads: int
    ) -> NDArray[np.float64]: ...
    def score(self, row: NDArray[np.float64], alpha: NDArray[np.float64], clip: float) -> float: ...
    def staged(
        self, X: NDArray[np.floating[Any]], alpha: NDArray[np.float64], clip: float, n_threads: int
    ) -> NDArray[np.float64]: ...
    def apply(self, X: NDArray[np.floating[Any]], n_threads: int) -> NDArray[np.int32]: ...

# Grown trees, an entry a node: feature, last code that goes left, left, right, missing_left, codes that go
# right with their offsets, multiplicity, gain.
GrownArrays = tuple[
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.uint8],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.uint64],
    NDArray[np.float64],
]

class GrownTree:
    def __len__(self) -> int: ...
    def arrays(self) -> GrownArrays: ...
    # The tree with other multiplicities in its leaves.
    def recounted(self, leaves: NDArray[np.int32], count: NDArray[np.uint64]) -> GrownTree: ...
    def root(self) -> GrownTree: ...

# The arrays of trees, one after the other; children are numbered within their tree.
def lay_out(trees: list[GrownTree]) -> GrownArrays: ...

# Sums are pairs of limbs, high and low: (high + low / 2^32) / 2^exponent.
class Shard:
    n_rows: int
    n_merged: int  # of them, rows that another stands for
    n_bundles: int  # bytes of a row that histograms read
    n_positive: int
    def __init__(
        self,
        codes: NDArray[np.uint8] | NDArray[np.uint16],
        n_codes: NDArray[np.int64],
        is_categorical: NDArray[np.bool_],
        positive: NDArray[np.bool_],
        multiplicity: NDArray[np.float64] | None,
        count: NDArray[np.uint64] | None,
        whole: bool,
        t: float,
        n_threads: int,
        merges: bool = False,  # equal rows may become one inside; then no tree can be drawn
    ) -> None: ...
    def order(self) -> NDArray[np.uint32]: ...
    def log_weights(self) -> NDArray[np.float64]: ...
    def scores(self) -> NDArray[np.float64]: ...
    # drawn: rows that the histograms are of, an entry a row given to the shard; None: all.
    def begin_tree(self, exponent: int, drawn: NDArray[np.bool_] | None = None) -> None: ...
    # (2 classes, codes of all columns, 2): fixed-point weight and count.
    def histogram(self, node: int) -> NDArray[np.uint64]: ...
    def split(self, node: int, left: int, right: int, column: int, goes_left: NDArray[np.uint8]) -> None: ...
    # (leaves, 2, 2) each: count and count of the weights that are off; least and most log weight.
    def leaf_extremes(self, leaves: NDArray[np.int32]) -> tuple[NDArray[np.uint64], NDArray[np.float64]]: ...
    # Of leaves whose extremes were asked for just before. exponent: (leaves, 2); result: (leaves, 2, limbs).
    def leaf_sums(self, leaves: NDArray[np.int32], exponent: NDArray[np.int32]) -> NDArray[np.int64]: ...
    # (leaves, 2, weight and slope, limbs)
    def trial(
        self,
        leaves: NDArray[np.int32],
        value: NDArray[np.float64],
        exponent: NDArray[np.int32],
        slope_exponent: NDArray[np.int32],
        slope_cap: NDArray[np.float64],
    ) -> NDArray[np.int64]: ...
    # Limbs of the sums of e^(2-t) and of e, count of weights off and of margins <= 0, rows off and at cap;
    # least and most e^(2-t), most e, most of what fixed-point weights are made from.
    def step(
        self,
        leaves: NDArray[np.int32],
        value: NDArray[np.float64],
        alpha: float,
        clip: float,
        exponent: int,
        loss_exponent: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...

class Grower:
    def __init__(
        self,
        n_codes: NDArray[np.int64],
        is_categorical: NDArray[np.bool_],
        t: float,
        max_leaves: int,
        max_depth: int,
        heaviest: bool,
        min_leaf_mass: float,
        min_count: int,
        pure_allowed: bool,
        smoothing: float = 0.0,  # of levels, in counts
    ) -> None: ...
    # 1, -1: the share of positives may not fall, or rise, from left to right; 0: free.
    def set_direction(self, direction: NDArray[np.int8]) -> None: ...
    # Columns that may meet on a path: group g is columns[start[g]:start[g + 1]].
    def set_groups(self, start: NDArray[np.int64], columns: NDArray[np.uint32]) -> None: ...
    # Share of a node's columns that is drawn, by key, node and column.
    def set_draw(self, share: float, key: int) -> None: ...
    def begin(self, root: NDArray[np.uint64]) -> None: ...
    # node, left, right, column, goes_left by code, node whose histogram is awaited or -1; None at the end.
    def next(self) -> tuple[int, int, int, int, NDArray[np.uint8], int] | None: ...
    def supply(self, built: NDArray[np.uint64]) -> None: ...
    def leaves(self) -> NDArray[np.int32]: ...
    def tree(self) -> GrownTree: ...

# The driver's arithmetic with one shard here. table (leaves, 2, 5): sum of multiplicity times e;
# multiplicity; of it, weights that are off; least and most log weight.
def leaf_table(
    shard: Shard, leaves: NDArray[np.int32], unit: float, most_multiplicity: float
) -> NDArray[np.float64]: ...
def edge_sums(
    table: NDArray[np.float64], value: NDArray[np.float64], t: float
) -> tuple[float, float, float, float, float]: ...
def solve_leaves(
    shard: Shard,
    leaves: NDArray[np.int32],
    table: NDArray[np.float64],
    ridge: float,
    cap: float,
    most_multiplicity: float,
) -> NDArray[np.float64]: ...
def solve_step(
    shard: Shard,
    leaves: NDArray[np.int32],
    value: NDArray[np.float64],
    table: NDArray[np.float64],
    start: float,
    cap: float,
    most_multiplicity: float,
) -> float: ...
def step(
    shard: Shard,
    leaves: NDArray[np.int32],
    value: NDArray[np.float64],
    table: NDArray[np.float64],
    alpha: float,
    clip: float,
    most_multiplicity: float,
) -> tuple[float, float, float, float, float, float, int, int, int, int]: ...
def grow(grower: Grower, shard: Shard) -> NDArray[np.int32]: ...
def stepped(l: float, c: float, s: float) -> float: ...
def exact_exponent(bound: float) -> int: ...
def exact_exponents(bound: NDArray[np.float64]) -> NDArray[np.int32]: ...
