# SPDX-License-Identifier: Apache-2.0
"""Files that are whole or not there: written under another name, `.NAME.PID.part`, then renamed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from tadaboost.reader import DataError


def write_aside(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under another name and rename it when it is whole, so that no half of it is ever seen.

    Parameters
    ----------
    path : Path
        A file that exists is replaced; a device or pipe is written to directly.
    write : callable
        Is given the path to write to.

    Raises
    ------
    DataError
        If the file cannot be written.
    """
    direct = path.exists() and not path.is_file()
    if not direct:  # the link /dev/stdout leads to no path where it is a pipe
        path = path.resolve()  # a link stays a link
    aside = path if direct else path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(aside)
        if not direct:
            os.replace(aside, path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        if not direct:
            with contextlib.suppress(OSError):
                aside.unlink()


def remove_leftovers(folder: Path) -> None:
    """Remove the unfinished files that a killed run of ours left in a folder."""
    for path in folder.glob(".*.part"):
        path.unlink(missing_ok=True)
