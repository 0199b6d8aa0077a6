# SPDX-License-Identifier: Apache-2.0
"""Reads the 50-digit test vectors that lie beside the repository, where they do."""

import json
from pathlib import Path

import pytest

VECTORS = Path(__file__).parents[2] / "shared" / "oracle" / "vectors"


def read(name):
    """One file of vectors; without the folder the tests that ask are skipped."""
    path = VECTORS / f"{name}.json"
    if not path.exists():
        pytest.skip("the test vectors are not beside the repository", allow_module_level=True)
    return json.loads(path.read_text())


def scalar_tables():
    return {table["fn"]: table["rows"] for table in read("scalars")["tables"]}


def number(text):
    """A JSON number, or a decimal string, "inf", "-inf", "nan"."""
    return float(text)
