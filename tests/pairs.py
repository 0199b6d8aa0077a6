# SPDX-License-Identifier: Apache-2.0
"""Settings that meet in pairs, where all of them together would take minutes; and seeds."""

import itertools
import os


def pairs(*axes):
    """Tuples with a value of each axis, such that any two values of different axes are in one of them.

    A fault that needs three values at once may slip through; `.ci/nightly` sets EXAMPLES and has all tuples.
    """
    every = list(itertools.product(*(range(len(axis)) for axis in axes)))
    chosen = every if "EXAMPLES" in os.environ else []
    to_meet = {pair for places in every for pair in _met(places)}
    while not chosen or (to_meet and chosen is not every):
        best = max(every, key=lambda places: len(to_meet & _met(places)))  # of equals the first: no chance
        chosen.append(best)
        to_meet -= _met(best)
    return [tuple(axis[i] for axis, i in zip(axes, places, strict=True)) for places in chosen]


def seeds(n):
    """Seeds of random cases: `n` of them, five times as many in `.ci/nightly`."""
    return range(5 * n if "EXAMPLES" in os.environ else n)


def _met(places):
    return set(itertools.combinations(enumerate(places), 2))
