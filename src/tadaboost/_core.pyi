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
    def staged(
        self, X: NDArray[np.floating[Any]], alpha: NDArray[np.float64], clip: float, n_threads: int
    ) -> NDArray[np.float64]: ...
    def apply(self, X: NDArray[np.floating[Any]], n_threads: int) -> NDArray[np.int32]: ...

# The rest of the core: used by one module each, which says what it passes.
def __getattr__(name: str) -> Any: ...
