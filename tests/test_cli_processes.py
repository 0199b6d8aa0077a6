# SPDX-License-Identifier: Apache-2.0
"""The command as a process: exit codes, pipes, full disks, closed streams, signals."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tadaboost import cli, commands
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


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs names of open files")
def test_a_pipe_without_a_name_of_its_own_is_written_to(folder):
    read, write = os.pipe()  # as in `--output >(gzip)` of a shell
    try:
        write_aside(Path(f"/dev/fd/{write}"), lambda path: path.write_text("all of it"))
        assert os.read(read, 99) == b"all of it"
    finally:
        os.close(read)
        os.close(write)


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


def ended(monkeypatch, *arguments):
    """Call the entry of the command here, since a process of its own takes seconds; what it exits with."""
    monkeypatch.setattr(sys, "argv", ["tadaboost", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return end.value.code


def test_faults_exit_with_1_and_wrong_usage_with_2(fitted, monkeypatch, capsys):
    assert ended(monkeypatch, "predict", fitted, "nowhere.csv") == 1
    assert capsys.readouterr() == ("", "Error: nowhere.csv: no such file\n")
    assert ended(monkeypatch, "predict") == 2
    assert ended(monkeypatch, "inspect", fitted) == 0


# Imports take seconds, so the processes are forks of one that has done them.
FORKS = """
import os, sys
import tadaboost.study_commands
from tadaboost.cli import main

def fine():
    pass

def full():
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)

def left():
    read, write = os.pipe()
    os.close(read)
    os.dup2(write, 1)

def closed():  # how Python starts then
    os.close(1)
    os.close(2)
    sys.stdout = sys.stderr = None

fit = "fit", "data.csv", "--target", "y", "--folds", "0", "--set", "n_estimators=2", "--model", "new.tada"
predict = "predict", "data.tada", "data.csv"
inspect = "inspect", "data.tada"
for prepare, *arguments in [(fine, *fit), (full, *predict), (left, *predict), (closed, *inspect)]:
    if not os.fork():
        os.dup2(os.open(f"{prepare.__name__}.err", os.O_WRONLY | os.O_CREAT), 2)
        prepare()
        sys.argv[1:] = arguments
        main()
    print(prepare.__name__, os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="forks, and needs /dev/full")
def test_processes_end_in_order_however_their_streams_are(fitted, folder):
    """Where the disk is full, the reader leaves early, or standard output and error are closed."""
    done = subprocess.run([sys.executable, "-uc", FORKS], stdout=subprocess.PIPE, text=True, check=True)
    *_, full, left, closed = done.stdout.splitlines()
    assert "fine 0" in done.stdout.splitlines()
    assert (full, left, closed) == ("full 1", "left 1", "closed 0")
    said = {path.stem: path.read_text() for path in folder.glob("*.err")}
    error = "Error: standard output: No space left on device\n"
    assert said == {"fine": "", "full": error, "left": "", "closed": ""}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", ["--version", "--help", "fit --help"])
def test_a_full_disk_is_one_line_for_what_click_prints_too(monkeypatch, capsys, arguments):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        code = ended(monkeypatch, *arguments.split())
    assert code == "Error: standard output: No space left on device"  # Python prints it, and exits with 1
    assert capsys.readouterr().err == ""


def test_a_closed_standard_input_is_one_line(fitted, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    assert ended(monkeypatch, "predict", fitted, "-") == 1
    assert capsys.readouterr() == ("", "Error: standard input: is closed\n")


EXTRAS = ("click", "polars", "jinja2", "rich")
WITHOUT = f"""
import os, sys
from tadaboost.cli import main
sys.argv[1:] = ["--help"]
for missing in {EXTRAS}:
    if not os.fork():
        sys.modules[missing] = None
        main()
    print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.skipif(os.name != "posix", reason="forks")
def test_a_missing_extra_is_one_line_that_says_what_to_install():
    result = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["1"] * len(EXTRAS)
    assert result.stderr.splitlines() == [
        f'tadaboost: the command line needs {missing}; run: pip install "tadaboost[cli]"'
        for missing in EXTRAS
    ]


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_an_interrupt_exits_with_130_and_says_nothing(folder, monkeypatch, capsys):
    monkeypatch.setattr(commands, "read_table", lambda path: signal.raise_signal(signal.SIGINT))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background has none
    try:
        assert ended(monkeypatch, "fit", "data.csv", "--target", "y") == 130
    finally:
        signal.signal(signal.SIGINT, handler)
    assert "".join(capsys.readouterr()).strip() == ""
