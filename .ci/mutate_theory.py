# SPDX-License-Identifier: Apache-2.0
"""Change one operator, number or function of the theory modules at a time; some test has to notice.

The tests are imported once. Each mutation is tried in a forked child, which puts the changed code into the
functions that are there already and runs the tests that call them, the likeliest first, until one fails: no
file is written. Long tests are left out: a mutant that only they notice counts as a survivor.
A survivor has to be listed, with the reason why it cannot matter, in docs/mutants.md; exits with 1 on one
that is not listed, and on a listed one that is noticed after all.

A whole run takes about half an hour. With --verdicts it appends what it finds to a file, and the mutants
that were noticed according to it are not tried again: to go on after an interruption, or after adding tests.
"""

import argparse
import ast
import copy
import json
import os
import random
import re
import signal
import sys
import time
import types
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
import pytest

ROOT = Path(__file__).parents[1]
TESTS = {
    "calculus": ["calculus", "losses", "measures", "boosting"],
    "losses": ["losses", "boosting"],
    "measures": ["measures", "boosting"],
    "boosting": ["boosting", "state", "corrective", "corrective_estimator"],
    "corrective": ["corrective", "corrective_estimator", "state", "boosting"],
}
LIST = ROOT / "docs" / "mutants.md"
LONGEST = 1.0  # CPU seconds of a test, while its calls are traced
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
    scope: str = ""  # the function it is in
    key: str = ""
    line: int = 0
    place: tuple[ast.AST, str, int | None] | None = None
    new: ast.AST | None = None

    def apply(self) -> None:
        """Put the new expression in its place."""
        if self.place is not None and self.new is not None:
            put(*self.place, self.new)


Verdict = Callable[[Mutant, bool, str], None]  # whether a test noticed, and which


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
            found.append(Mutant(module, tree, scope, key, node.lineno, (parent, field, i), new))
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


def put_into_place(mutant: Mutant) -> None:
    """Give the functions of the imported module the mutated code, wherever they were imported to."""
    module = sys.modules[f"tadaboost.{mutant.module}"]
    new = types.ModuleType(module.__name__)
    code = compile(ast.fix_missing_locations(mutant.tree), f"<{mutant.module}>", "exec")
    exec(code, vars(new))
    for name, value in vars(new).items():
        replace(vars(module)[name], value, module.__name__)
        if type(value) in (int, float):
            for user in list(sys.modules.values()):
                if getattr(user, "__name__", "").startswith(("tadaboost", "tests")) and name in vars(user):
                    setattr(user, name, value)


def replace(old: object, new: object, module: str) -> None:
    """Put the code of one function, or of the methods of one class, of the module into another."""
    if isinstance(old, property):
        old, new = old.fget, new.fget
    elif isinstance(old, classmethod | staticmethod):
        old, new = old.__func__, new.__func__
    if getattr(old, "__module__", None) != module:
        return
    if isinstance(old, types.FunctionType):
        old.__code__, old.__defaults__, old.__kwdefaults__ = (
            new.__code__,
            new.__defaults__,
            new.__kwdefaults__,
        )
    elif isinstance(old, type):
        for name, value in vars(new).items():
            replace(vars(old).get(name), value, module)


class Trial:
    """A pytest plugin that, instead of running the tests once, tries the mutants of one module on them."""

    def __init__(self, module: str, seconds: float, chosen: list[Mutant], verdict: Verdict) -> None:
        self.module = module
        self.seconds = seconds  # of CPU time, for one test
        self.chosen = chosen
        self.verdict = verdict
        self.failed = ""
        self.took: dict[str, float] = {}  # CPU time of a test
        self.called: dict[str, list[str]] = {}  # functions of the module that it calls

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = report.nodeid

    def run(self, items: list[Any], trace: bool) -> None:
        """Run the tests until one fails; SIGPROF ends the process when one takes too long."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            signal.setitimer(signal.ITIMER_PROF, 0.0 if trace else self.seconds)
            code: set[types.CodeType] = set()
            start = time.process_time()
            if trace:
                sys.settrace(lambda frame, *_, to=code: to.add(frame.f_code))  # None: calls, not lines
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            sys.settrace(None)
            self.took[item.nodeid] = time.process_time() - start
            mine = [x for x in code if x.co_filename == f"<{self.module}>"]
            self.called[item.nodeid] = [x.co_qualname.replace(".<locals>", "") for x in mine]
            if self.failed:
                return

    def forked(self, mutant: Mutant, items: list[Any]) -> tuple[str, dict[str, float], dict[str, list[str]]]:
        """Return the test that fails with the mutant in place, if one does, and what is known of each."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                silence = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silence, 1)
                os.dup2(silence, 2)
                try:
                    mutant.apply()
                    put_into_place(mutant)
                except Exception:
                    self.failed = "import"
                else:
                    self.run(items, trace=mutant.new is None)
                with os.fdopen(writer, "w") as pipe:
                    json.dump([self.failed, self.took, self.called], pipe)
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
        failed, took, called = json.loads(answer or '["time", {}, {}]')
        return failed, took, called

    def pytest_runtestloop(self, session: Any) -> bool:
        """Quick tests come first, of these the module's own; before all the last ones that noticed."""
        if session.testsfailed:
            sys.exit(f"tests of {self.module} cannot be imported")
        failed, took, called = self.forked(unchanged(self.module), session.items)
        if failed:
            sys.exit(f"without a mutation of {self.module}, this fails: {failed}")
        own = f"tests/test_{self.module}.py"
        items = sorted(
            (x for x in session.items if took[x.nodeid] < LONGEST),
            key=lambda x: (took[x.nodeid] > 0.2, own not in x.nodeid, took[x.nodeid]),
        )
        functions = set(chain.from_iterable(called.values()))
        for mutant in self.chosen:
            everywhere = mutant.scope not in functions  # the module itself, or a class
            failed, *_ = self.forked(
                mutant, [x for x in items if everywhere or mutant.scope in called[x.nodeid]]
            )
            self.verdict(mutant, bool(failed), failed)
            items.sort(key=lambda x: x.nodeid != failed)
        return True


def try_all(module: str, chosen: list[Mutant], seconds: float, verdict: Verdict) -> None:
    """Collect the tests of a module and try the mutants on them."""
    # The doctests last: they then belong to the package that the tests have imported, installed or not.
    names = [
        *(f"tests/test_{name}.py" for name in [*TESTS[module], "properties"]),
        f"src/tadaboost/{module}.py",
    ]
    files = [name for name in names if Path(name).exists()]
    profile = ["--hypothesis-profile=mutants"]  # over the one of conftest.py
    arguments = ["-qs", "--assert=plain", "-p", "no:cacheprovider", *profile, "-m", "not slow", *files]
    pytest.main(arguments, plugins=[Trial(module, seconds, chosen, verdict)])


def few_examples() -> None:
    """Set hypothesis to few examples, always the same: most mutants fall to the first."""
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


class Verdicts:
    """Prints what becomes of each mutant, compares it with the list, and counts."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known = listed()
        self.before: set[str] = set()
        if path is not None and path.exists():
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            self.before = {row["mutant"] for row in rows if row["noticed"]}
        self.tried = self.survived = self.wrong = 0

    def __call__(self, mutant: Mutant, caught: bool, by: str) -> None:
        """Take one down."""
        self.tried += 1
        self.survived += not caught
        self.wrong += caught == (mutant.key in self.known)
        verdict = f"noticed by {by}:" if caught else "listed" if mutant.key in self.known else "SURVIVED"
        print(f"{verdict} {mutant.module}.py:{mutant.line} {mutant.key}", flush=True)
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps({"mutant": mutant.key, "noticed": caught, "by": by}) + "\n")


def main() -> int:
    """Try all mutants, or a random sample; print what became of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="*", default=list(TESTS), help="of " + ", ".join(TESTS))
    parser.add_argument("--count", type=int, help="how many mutants to try, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=5, help="CPU time one test may take")
    parser.add_argument("--verdicts", type=Path, help="file of verdicts: go on with it")
    options = parser.parse_args()
    verdict = Verdicts(options.verdicts and options.verdicts.absolute())
    os.chdir(ROOT)
    few_examples()
    every = [mutant for module in options.modules for mutant in mutants(module)]
    unknown = {key for key in verdict.known if key.split(".")[0] in options.modules} - {x.key for x in every}
    for key in unknown:
        print(f"listed, but no such mutant: {key}")
    chosen = [mutant for mutant in every if mutant.key not in verdict.before]
    if options.count is not None and options.count < len(chosen):
        chosen = random.Random(options.seed).sample(chosen, options.count)
    start = time.monotonic()
    for module in options.modules:
        mine = [mutant for mutant in chosen if mutant.module == module]
        if mine:
            try_all(module, mine, options.seconds, verdict)
    seconds = time.monotonic() - start
    print(
        f"{verdict.survived} of {verdict.tried} survived, {verdict.wrong} against the list; {seconds:.0f} s"
    )
    return int(verdict.wrong > 0 or bool(unknown) or verdict.tried < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
