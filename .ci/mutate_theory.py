# SPDX-License-Identifier: Apache-2.0
"""Change one operator, number or function of the theory modules at a time; some test has to notice.

Each mutation is tried in a forked child, which imports the changed syntax tree in place of the module and
runs the module's tests: no file is written, and what takes long to import is there before the fork. A
survivor has to be listed, with the reason why it cannot matter, in docs/mutants.md; exits with 1 on one
that is not listed, and on a listed one that is noticed after all.
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import os
import random
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TESTS = {
    "calculus": ["calculus", "losses", "measures", "boosting"],
    "losses": ["losses", "boosting"],
    "measures": ["measures", "boosting"],
    "boosting": ["boosting", "corrective"],
}
LIST = ROOT / "docs" / "mutants.md"
OPERATORS = {
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Div],
    ast.Div: [ast.Mult],
    ast.Pow: [ast.Mult],
    ast.BitAnd: [ast.BitOr],
    ast.BitOr: [ast.BitAnd],
    ast.And: [ast.Or],
    ast.Or: [ast.And],
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
}
NAMES = {
    "maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max", "any": "all", "all": "any",
    "expm1": "exp", "log1p": "log", "tanh": "arctanh", "arctanh": "tanh", "copysign": "hypot",
}  # fmt: skip


class Mutant(NamedTuple):
    """A module's tree and a change of it; `key` names the change whatever line it stands on."""

    module: str
    tree: ast.Module
    key: str = ""
    line: int = 0
    place: tuple[ast.AST, str, int | None] | None = None
    new: ast.AST | None = None

    def apply(self) -> None:
        """Put the new expression in its place."""
        if self.place is not None and self.new is not None:
            put(*self.place, self.new)


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand instead of an expression."""
    if isinstance(node, ast.BinOp | ast.BoolOp):
        for operator in OPERATORS.get(type(node.op), []):
            yield changed(node, op=operator())
    elif isinstance(node, ast.AugAssign):
        yield changed(node, op=OPERATORS[type(node.op)][0]())
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Compare):
        for i, old in enumerate(node.ops):
            for operator in OPERATORS.get(type(old), []):
                yield changed(node, ops=[*node.ops[:i], operator(), *node.ops[i + 1 :]])
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        if node.value + 1 != node.value:
            yield changed(node, value=node.value + 1)
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield changed(node, attr=NAMES[node.attr])
    elif isinstance(node, ast.IfExp):
        yield changed(node, body=node.orelse, orelse=node.body)


def changed(node: ast.AST, **fields: object) -> ast.AST:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def places(node: ast.AST, scope: str = "") -> Iterator[tuple[ast.AST, str, str, int | None, ast.AST]]:
    """Every expression that does something: (parent, function, field, index, node)."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for i, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr | ast.Raise):
                continue
            inside = f"{scope}.{child.name}" if isinstance(child, ast.FunctionDef | ast.ClassDef) else scope
            yield node, inside.lstrip("."), field, i, child
            yield from places(child, inside)


def mutants(module: str) -> list[Mutant]:
    """All of a module's, in the order of its text."""
    tree = parsed(module)
    found, seen = [], Counter()
    for parent, scope, field, i, node in places(tree):
        for new in changes(node):
            key = f"{module}.{scope or 'module'}: {ast.unparse(node)} -> {ast.unparse(new)}"
            key = re.sub(r"\s+", " ", key)
            seen[key] += 1
            if seen[key] > 1:
                key += f" #{seen[key]}"
            found.append(Mutant(module, tree, key, node.lineno, (parent, field, i), new))
    return found


def unchanged(module: str) -> Mutant:
    """The module as it is: its tests have to pass."""
    return Mutant(module, parsed(module))


def parsed(module: str) -> ast.Module:
    return ast.parse((ROOT / "src" / "tadaboost" / f"{module}.py").read_text())


def put(parent: ast.AST, field: str, i: int | None, node: ast.AST) -> None:
    if i is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[i] = node


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a mutated syntax tree where the module's file is looked for."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, fullname: str, path: object, target: object = None) -> object:
        if fullname != f"tadaboost.{self.mutant.module}":
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def exec_module(self, module: object) -> None:
        code = compile(ast.fix_missing_locations(self.mutant.tree), f"<{self.mutant.module}>", "exec")
        exec(code, vars(module))


def run_tests(module: str) -> int:
    """Pytest's exit code; few examples, because most mutants fall to the first."""
    import pytest

    files = [str(ROOT / "tests" / f"test_{name}.py") for name in [*TESTS[module], "properties"]]
    files = [name for name in files if Path(name).exists()]
    profile = ["--hypothesis-profile=mutants"]  # over the one of conftest.py
    return pytest.main(
        ["-qx", "--assert=plain", "-p", "no:cacheprovider", *profile, "-m", "not slow", *files]
    )


def noticed(mutant: Mutant, seconds: int) -> bool:
    """Whether a test fails with the mutant in place, or its tests use more CPU time than `seconds`."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            mutant.apply()
            sys.meta_path.insert(0, Changed(mutant))
            code = int(run_tests(mutant.module))
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return status != 0


def preload() -> None:
    """Import what does not depend on the mutated modules; set hypothesis to few, always equal examples."""
    import hypothesis
    import mpmath  # noqa: F401
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import sklearn.base
    import sklearn.callback
    import sklearn.tree  # noqa: F401

    hypothesis.settings.register_profile(
        "mutants",
        max_examples=15,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],  # no time spent on a smallest example
    )
    hypothesis.settings.load_profile("mutants")


def listed() -> set[str]:
    """Keys of the mutants that docs/mutants.md declares harmless."""
    return set(re.findall(r"^\* `(.*?)`(?::|$)", LIST.read_text(), re.MULTILINE)) if LIST.exists() else set()


def main() -> int:
    """Try all mutants, or a random sample; print the survivors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=list(TESTS), help="of " + ", ".join(TESTS))
    parser.add_argument("--count", type=int, help="how many mutants to try, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=120, help="CPU time of one mutant's tests")
    parser.add_argument("--known", action="store_true", help="skip the mutants that are listed")
    options = parser.parse_args()
    os.chdir(ROOT)
    preload()
    every = [mutant for module in options.modules for mutant in mutants(module)]
    known = listed()
    chosen = [mutant for mutant in every if not (options.known and mutant.key in known)]
    if options.count is not None and options.count < len(chosen):
        chosen = random.Random(options.seed).sample(chosen, options.count)
    for module in options.modules:
        if noticed(unchanged(module), options.seconds // 2):
            sys.exit(f"the tests of {module} fail, or take more than half of the time, without a mutation")
    wrong, survived, start = 0, 0, time.monotonic()
    for number, mutant in enumerate(chosen, 1):
        caught = noticed(mutant, options.seconds)
        survived += not caught
        verdict = "noticed" if caught else "listed" if mutant.key in known else "SURVIVED"
        if verdict == "SURVIVED" or (caught and mutant.key in known):
            wrong += 1
        print(f"{number}/{len(chosen)} {verdict} {mutant.module}.py:{mutant.line} {mutant.key}", flush=True)
    seconds = time.monotonic() - start
    print(f"{survived} of {len(chosen)} survived, {wrong} against the list; {seconds:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
