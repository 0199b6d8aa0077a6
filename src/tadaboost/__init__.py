# SPDX-License-Identifier: Apache-2.0
"""Boosting with tempered exponential measures: t-AdaBoost as a scikit-learn classifier."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tadaboost.classifier import TAdaBoostClassifier
    from tadaboost.paper import paper_settings
    from tadaboost.persist import ModelFileError, load, save
    from tadaboost.single import TemperedTreeClassifier
    from tadaboost.tree import Tree

__version__ = "0.1.0"
__all__ = [
    "ModelFileError",
    "TAdaBoostClassifier",
    "TemperedTreeClassifier",
    "Tree",
    "load",
    "paper_settings",
    "save",
]

# Imported when first used: `import tadaboost` stays cheap, and scikit-learn is not loaded for a formula.
_HOME = {
    "ModelFileError": "persist",
    "TAdaBoostClassifier": "classifier",
    "TemperedTreeClassifier": "single",
    "Tree": "tree",
    "load": "persist",
    "paper_settings": "paper",
    "save": "persist",
}


_MODULES = ("boosting", "calculus", "export", "losses", "measures")


def __getattr__(name: str) -> Any:
    """Import a public name from its module when it is first asked for: `import tadaboost` alone is fast."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, those not imported yet included."""
    return sorted({*globals(), *__all__, *_MODULES})
