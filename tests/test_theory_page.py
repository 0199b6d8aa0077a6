# SPDX-License-Identifier: Apache-2.0
"""What docs/theory.md and the head of test_properties.py point at exists."""

import importlib
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "theory.md"
TESTS = {
    path.stem.removeprefix("test_"): re.findall(r"^def test_(\w+)", path.read_text(), re.MULTILINE)
    for path in HERE.glob("test_*.py")
}


def test_every_test_named_in_the_theory_page_exists():
    named = set(re.findall(r"`([a-z0-9_]{18,})`", PAGE.read_text()))
    assert len(named) > 40
    assert named <= {name for names in TESTS.values() for name in names}


def test_every_function_named_in_the_theory_page_exists():
    table = PAGE.read_text().split("## What")[0]
    named = re.findall(r"`(calculus|measures|losses|boosting|rounds)\.([A-Za-z_]+)`", table)
    assert len(named) > 20
    for module, name in named:
        assert (
            hasattr(importlib.import_module(f"tadaboost.{module}"), name.rstrip("_")) or name == "tempered_"
        )


def property_lines():
    head = (HERE / "test_properties.py").read_text().split('"""')[1].replace("\n    ", " ")
    return re.findall(r"^([PN]\d+) +(.*)$", head, re.MULTILINE)


@pytest.mark.parametrize("letter", ["P", "N"])
def test_every_property_of_the_theory_has_a_line(letter):
    count = {"P": 20, "N": 10}[letter]
    assert [name for name, _ in property_lines() if name[0] == letter] == [
        f"{letter}{i}" for i in range(1, count + 1)
    ]


def test_every_test_named_for_a_property_exists():
    every = [name for names in TESTS.values() for name in names]
    named = [word for _, line in property_lines() for word in re.findall(r"[a-z0-9]+_[a-z0-9_]+", line)]
    named = [word for word in named if word not in ("exp_t", "log_t", "tanh_t", "k_t", "q_1")]
    assert len(named) > 40
    assert [word for word in named if not any(word in name for name in every)] == []
