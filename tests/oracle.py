# SPDX-License-Identifier: Apache-2.0
"""Reads the 50-digit test vectors that lie beside the repository, where they do."""

import json
from pathlib import Path

import numpy as np
import pytest

VECTORS = Path(__file__).parents[2] / "shared" / "oracle" / "vectors"


def read(name):
    """Return one file of vectors; where the folder is absent, the test that asks is skipped."""
    path = VECTORS / f"{name}.json"
    if not path.exists():
        pytest.skip("the test vectors are not beside the repository")
    return json.loads(path.read_text())


def scalar_tables():
    """Rows [argument.., expected, rtol, atol] of each function."""
    return {table["fn"]: table["rows"] for table in read("scalars")["tables"]}


def columns(rows):
    """Turn rows of numbers and texts ("0.25", "-inf", "nan") into one float array a column."""
    return np.array([[float(x) for x in row] for row in rows]).T


def numbers(values):
    """Turn a list of numbers and texts into a float array."""
    return np.array([float(x) for x in values])


def assert_within(got, want, rtol, atol):
    """|got - want| <= rtol |want| + atol, infinite and NaN values exactly."""
    with np.errstate(invalid="ignore"):
        good = (got == want) | (np.abs(got - want) <= rtol * np.abs(want) + atol)
    good |= np.isnan(got) & np.isnan(want)
    for i in np.flatnonzero(~good)[:1]:
        pytest.fail(f"value {i}: got {np.ravel(got)[i]!r}, want {np.ravel(want)[i]!r}")
