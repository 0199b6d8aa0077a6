# SPDX-License-Identifier: Apache-2.0
"""Change one operator or number of the code at a time and run the tests: what none of them notices survives.

Run it in a copy of the repository, whose files it edits and puts back. Exits with 1 when more than a tenth
of the mutations survive; a survivor is a missing test or a change that cannot matter (it only costs time).
"""

import argparse
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# Spaces around an operator are part of the pattern: the formatters put them, and "->" or "**" never match.
SWAPS = {
    " + ": " - ",
    " - ": " + ",
    " * ": " / ",
    " < ": " <= ",
    " <= ": " < ",
    " > ": " >= ",
    " >= ": " > ",
    " == ": " != ",
    " += ": " -= ",
    " and ": " or ",
    " && ": " || ",
    "0": "1",
    "1": "0",
    "0.0": "1.0",
    "1.0": "0.0",
}
OPERATORS = "|".join(re.escape(s) for s in SWAPS if s.startswith(" "))
PATTERN = re.compile(OPERATORS + r"|(?<![\w.])[01](?:\.0)?(?![\w.])")
PROSE = re.compile(r'"""(?:.|\n)*?"""|//[^\n]*|#[^\n]*|"[^"\n]*"|template <[^\n]*')


class Mutation(NamedTuple):
    """A place in a file and what stands there instead."""

    path: Path
    start: int
    old: str
    new: str

    def __str__(self) -> str:
        line = self.path.read_text()[: self.start].count("\n") + 1
        return f"{self.path}:{line}: {self.old.strip()!r} -> {self.new.strip()!r}"


def mutations(path: Path) -> list[Mutation]:
    """All of them in a file, outside comments, strings and docstrings."""
    text = path.read_text()
    text = PROSE.sub(lambda match: re.sub(r"[^\n]", "~", match[0]), text)
    found = []
    for match in PATTERN.finditer(text):
        old = match[0]
        found.append(Mutation(path, match.start(), old, SWAPS[old]))
    return found


def noticed(mutation: Mutation, seconds: int) -> bool:
    """Whether the build or a test fails, or hangs, with the mutation in place."""
    text = mutation.path.read_text()
    changed = text[: mutation.start] + mutation.new + text[mutation.start + len(mutation.old) :]
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "."]
    tests = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "-m", "not slow", "tests"]
    try:
        mutation.path.write_text(changed)
        for command in (install, tests):
            if subprocess.run(command, capture_output=True, timeout=seconds, check=False).returncode != 0:
                return True
    except subprocess.TimeoutExpired:
        return True
    finally:
        mutation.path.write_text(text)
    return False


def main() -> int:
    """Try a random sample; print the survivors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="how many mutations to try")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--timeout", type=int, default=600, help="seconds after which a run counts as hanging"
    )
    options = parser.parse_args()
    files = [*Path("cpp").glob("*.?pp"), *Path("src/tadaboost").glob("*.py")]
    every = [mutation for path in sorted(files) for mutation in mutations(path)]
    chosen = random.Random(options.seed).sample(every, min(options.count, len(every)))
    survivors = []
    for number, mutation in enumerate(chosen, 1):
        caught = noticed(mutation, options.timeout)
        print(f"{number}/{len(chosen)} {'noticed ' if caught else 'SURVIVED'} {mutation}", flush=True)
        if not caught:
            survivors.append(mutation)
    print(f"{len(survivors)} of {len(chosen)} survived, of {len(every)} possible")
    return int(len(survivors) > len(chosen) / 10)


if __name__ == "__main__":
    sys.exit(main())
