# SPDX-License-Identifier: Apache-2.0
"""The entry of the command `tadaboost`: exit codes, and what to install when the extra is missing.

The commands need click, rich, polars and jinja2; this module must work without them.
"""

from __future__ import annotations

import io
import os
import sys
from typing import NoReturn

_EXTRA = ("click", "rich", "polars", "jinja2", "markupsafe")


def main() -> None:
    """Run the command line and exit: 0 done, 1 data or model at fault, 2 wrong usage, 130 interrupted."""
    try:
        import click

        from tadaboost.group import main as commands
    except ModuleNotFoundError as error:
        _lacks(error)
    if sys.stdout is None:  # closed by the caller, as is stderr below: what is written is not wanted
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # until the process ends
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no fault
    try:
        result = commands.main(prog_name="tadaboost", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(130)
    except ModuleNotFoundError as error:
        _lacks(error)
    except OSError as error:  # of output alone; the commands say the rest themselves
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the flush at exit would complain
        if not isinstance(error, BrokenPipeError):  # else the reader of our output has had enough
            sys.exit(f"Error: standard output: {error.strerror}")
        sys.exit(1)
    sys.exit(result if isinstance(result, int) else 0)


def _lacks(error: ModuleNotFoundError) -> NoReturn:
    """Exit with the line that says what to install, or raise the error if it is not about the extra."""
    missing = (error.name or "").partition(".")[0]
    if missing not in _EXTRA:
        raise error
    sys.exit(f'tadaboost: the command line needs {missing}; run: pip install "tadaboost[cli]"')
