# SPDX-License-Identifier: Apache-2.0
"""What the documents show, done: the examples of the README, and a docstring for each public object."""

import ast
import builtins
import inspect
import re
from pathlib import Path

import pytest

import tadaboost
from tadaboost import boosting, calculus, displays, export, losses, measures, treeview

NAMES = {
    calculus: "star log_t exp_t tempered_product tempered_quotient tempered_sum tempered_difference"
    " power_mean tanh_t",
    measures: "codensity normalize natural cumulant relative_entropy project Projection clipped_sum",
    losses: "bayes_risk partial_loss conditional_risk canonical_link margin leaf_link inverse_link"
    " tempered_exp_loss k_t mu_closed",
    boosting: "boost Trajectory",
    displays: " ".join(displays.__all__),
    export: " ".join(export.__all__),
    treeview: "export_text",
    tadaboost: " ".join(tadaboost.__all__),
}
OBJECTS = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module, names in NAMES.items()
    for name in names.split()
}
METHODS = {
    f"{owner.__name__}.{name}": method
    for owner in (tadaboost.TAdaBoostClassifier, tadaboost.TemperedTreeClassifier)
    for name, method in inspect.getmembers(owner, inspect.isfunction)
    if not name.startswith("_") and method.__module__.startswith("tadaboost")
}


def test_the_example_of_the_readme_needs_nothing_but_what_the_readme_installs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def load(name, *rest, **named):
        if name.partition(".")[0] in ("pandas", "polars", "pyarrow", "matplotlib"):
            raise ImportError(name)
        return imported(name, *rest, **named)

    imported = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", load)
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    exec(example, {})
    assert (tmp_path / "model.tada").is_file()


@pytest.mark.parametrize("name", OBJECTS | METHODS)
def test_a_public_object_has_a_doctest(name):
    assert ">>> " in inspect.getdoc((OBJECTS | METHODS)[name])


@pytest.mark.parametrize("name", OBJECTS | METHODS)
def test_the_docstring_of_a_function_names_its_parameters_and_what_it_returns(name):
    function = (OBJECTS | METHODS)[name]
    if inspect.isclass(function):
        function = function.__init__ if "__init__" in vars(function) else None
    if function is None:  # a tuple of named fields, or an exception
        return
    text = inspect.getdoc((OBJECTS | METHODS)[name])
    parameters = [p for p in inspect.signature(function).parameters if p != "self"]
    section = text.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    heads = " ".join(line for line in text.splitlines() if not line.startswith(" ")) if section else ""
    assert [p for p in parameters if not re.search(rf"\b{p}\b", heads)] == []
    returns = inspect.signature(function).return_annotation
    assert returns in ("None", None) or re.search(r"^(Returns|Yields)\n---", text, re.MULTILINE)


def undocumented(node, inside=""):
    """Names of the functions and classes below a node that say nothing; ruff does not look into functions."""
    for child in ast.iter_child_nodes(node):
        name = inside
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            name = f"{inside}.{child.name}"
            private = child.name.startswith("_") and not child.name.endswith("__")
            if not (private or child.name == "__init__" or ast.get_docstring(child)):
                yield name
        yield from undocumented(child, name)


@pytest.mark.parametrize(
    "path", sorted(Path(tadaboost.__file__).parent.glob("*.py")), ids=lambda path: path.stem
)
def test_all_that_has_no_underscore_says_what_it_does(path):
    assert list(undocumented(ast.parse(path.read_text()))) == []


def test_a_function_within_a_function_that_says_nothing_is_found():
    code = (
        "def f():\n    '''Text.'''\n    def g(): pass\n    def _h(): pass\nclass _A:\n    def m(self): pass"
    )
    assert list(undocumented(ast.parse(code))) == [".f.g", "._A.m"]
