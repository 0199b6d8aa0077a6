# SPDX-License-Identifier: Apache-2.0
"""A fit of 90,000,000 x 28 codes, 2.5 * 10^9 of them: seconds, memory, and whether the trees are right.

The codes are made here, a byte each, since as floats they would take 10 GB before the fit. The label follows
the last column, whose codes all lie beyond 2^31, with noise: the first split must be the planted one, and the
wrong rows after it as many as numpy counts. About 11 GB of memory.
"""

import argparse
import resource
import sys
import time

import measure  # first: it limits the threads of what is loaded below

# isort: split
import numpy as np

from tadaboost import binning, rounds

CODES, HALF = 255, 127  # codes of values; the last one that the planted split sends left
PIECE = 1_000_000  # rows made at a time
DEFAULTS = rounds.Settings(
    t=0.5, n_estimators=2, learning_rate=0.1, leaf_values="exact", leveraging="unit", clip=False,
    max_leaf_nodes=8, max_depth=0, min_samples_leaf=5, min_leaf_mass=0.0, leaf_ridge=3.0, growth="best",
    allow_pure_leaves=True,
)  # fmt: skip


def table(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Random codes, (columns, rows), and labels: one in five is wrong."""
    rng = np.random.default_rng(0)
    codes, y = np.empty((columns, rows), np.uint8), np.empty(rows, bool)
    for first in range(0, rows, PIECE):
        n = min(PIECE, rows - first)
        codes[:, first : first + n] = rng.integers(0, CODES, (columns, n), np.uint8)
        y[first : first + n] = (codes[-1, first : first + n] > HALF) ^ (rng.random(n) < 0.2)
    return codes, y


def numeric_bins(columns: int) -> binning.Bins:
    """Bins of columns that hold their codes as values."""
    none = np.zeros(columns + 1, np.int64)
    return binning.Bins(
        np.full(columns, CODES, np.int32),
        np.tile(np.arange(CODES, dtype=np.float64), columns),
        np.arange(columns + 1, dtype=np.int64) * CODES,
        np.zeros(columns, bool),
        np.zeros(0, np.int32),
        none,
    )


def main() -> int:
    """Print a table of one row; exit with 1 when a tree is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=90_000_000)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--trees", type=int, default=2)
    parser.add_argument("--leaves", type=int, default=8)
    options = parser.parse_args()
    codes, y = table(options.rows, options.columns)
    settings = DEFAULTS._replace(n_estimators=options.trees, max_leaf_nodes=options.leaves)
    start = time.process_time()
    run = rounds.Run(codes, numeric_bins(options.columns), y, None, settings)
    made = time.process_time()
    while run.stop_reason is None:
        run.step()
    done = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6

    root = run.trees[0]
    right = root.feature[0] == options.columns - 1 and root.threshold[0] == HALF
    right = right and root.mass[1] == np.count_nonzero(codes[-1] <= HALF)
    error = run.rounds()["train_error"][0]
    wrong = np.count_nonzero((codes[-1] > HALF) != y)
    right = right and round(error * options.rows) == wrong
    print("| codes | rows x columns | trees x leaves | shard, CPU s | trees, CPU s | peak, GB | right |")
    print("|--:|--:|--:|--:|--:|--:|---|")
    cells = [
        f"{codes.size:,}",
        f"{options.rows:,} x {options.columns}",
        f"{options.trees} x {options.leaves}",
    ]
    cells += [f"{made - start:.1f}", f"{done - made:.1f}", f"{peak:.1f}", "yes" if right else "no"]
    print(f"| {' | '.join(cells)} |\n\n{measure.provenance(['tadaboost', 'numpy'])}")
    return not right


if __name__ == "__main__":
    sys.exit(main())
