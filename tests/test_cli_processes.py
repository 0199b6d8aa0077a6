# SPDX-License-Identifier: Apache-2.0
"""The command as a process: exit codes, pipes, full disks, closed streams, signals."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tadaboost.commands import write_aside

from .commandline import FAST, fitted, folder, made, rows, run, text_of


def test_a_failed_write_leaves_the_old_file_and_nothing_else(folder):
    (folder / "old").write_text("old")

    def fail(path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(ValueError, match=r"old: cannot be written: No space left on device$"):
        write_aside(folder / "old", fail)
    assert (folder / "old").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "old"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize(("option", "start"), [("--model", b"PK"), ("--report", b"<!")])
def test_a_pipe_is_written_to_and_not_replaced(run, option, start):
    """A device such as /dev/null, too: renamed over by root, it would be gone for the whole machine."""
    os.mkfifo("pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe").read_bytes()), daemon=True)
    reader.start()
    run("fit", "data.csv", "--target", "y", *FAST, option, "pipe")
    assert Path("pipe").is_fifo()
    reader.join(timeout=30)
    assert read[0].startswith(start)


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "tadaboost", *arguments],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_a_process_exits_with_0_1_and_2_and_shows_no_traceback(folder):
    done = command("fit", "data.csv", "--target", "y", *FAST)
    assert (done.returncode, done.stderr) == (0, "")
    fault = command("predict", "data.tada", "nowhere.csv")
    assert (fault.returncode, fault.stdout, fault.stderr) == (1, "", "Error: nowhere.csv: no such file\n")
    assert command("predict").returncode == 2


def test_a_reader_that_leaves_early_is_no_fault_to_shout_about(run, fitted, folder):
    table = rows()
    (folder / "long.csv").write_text(text_of([table[0], *table[1:] * 400]))
    process = subprocess.Popen(
        [sys.executable, "-m", "tadaboost", "predict", fitted, "long.csv", "--proba"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=60) in (0, 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(run, fitted):
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-m", "tadaboost", "predict", fitted, "data.csv"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert process.returncode == 1
    assert process.stderr.splitlines() == ["Error: standard output: No space left on device"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("fit", "--help")], ids=" ".join)
def test_a_full_disk_is_one_line_for_what_click_prints_too(arguments):
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-m", "tadaboost", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert process.returncode == 1
    assert process.stderr.splitlines() == ["Error: standard output: No space left on device"]


@pytest.mark.skipif(os.name != "posix", reason="closes descriptors in a shell")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("inspect data.tada >&-", 0, ""),
        ("inspect data.tada >&- 2>&-", 0, ""),
        ("predict data.tada - <&-", 1, "Error: standard input: is closed\n"),
    ],
)
def test_closed_streams_end_without_a_traceback(run, fitted, arguments, code, said):
    shell = f'"$0" -m tadaboost {arguments}'
    process = subprocess.run(["sh", "-c", shell, sys.executable], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (code, "", said)


@pytest.mark.parametrize("missing", ["click", "polars", "jinja2", "rich"])
def test_a_missing_extra_is_one_line_that_says_what_to_install(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; from tadaboost.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stdout == ""
    assert (
        result.stderr == f'tadaboost: the command line needs {missing}; run: pip install "tadaboost[cli]"\n'
    )


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_an_interrupt_exits_with_130_and_says_nothing():
    code = (
        "import os, signal; from tadaboost import cli, commands;"
        "commands.read_table = lambda path: os.kill(os.getpid(), signal.SIGINT);"
        "cli.main()"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, "fit", "data.csv", "--target", "y"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, process.stdout, process.stderr.strip()) == (130, "", "")
