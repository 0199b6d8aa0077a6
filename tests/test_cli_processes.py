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


def test_a_process_exits_with_0_and_is_silent_on_standard_error(folder):
    arguments = ("fit", "data.csv", "--target", "y", "--folds", "0", "--set", "n_estimators=2")
    done = subprocess.run(
        [sys.executable, "-m", "tadaboost", *arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_faults_exit_with_1_and_wrong_usage_with_2(fitted, monkeypatch, capsys):
    assert ended(monkeypatch, "predict", fitted, "nowhere.csv") == 1
    assert capsys.readouterr() == ("", "Error: nowhere.csv: no such file\n")
    assert ended(monkeypatch, "predict") == 2
    assert ended(monkeypatch, "inspect", fitted) == 0


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


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@FULL
def test_a_full_disk_is_one_line(fitted):
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


@FULL
@pytest.mark.parametrize("arguments", ["--version", "--help", "fit --help"])
def test_a_full_disk_is_one_line_for_what_click_prints_too(monkeypatch, capsys, arguments):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        code = ended(monkeypatch, *arguments.split())
    assert code == "Error: standard output: No space left on device"  # Python prints it, and exits with 1
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(os.name != "posix", reason="closes descriptors in a shell")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("inspect data.tada >&- 2>&-", 0, ""),
        ("predict data.tada - <&-", 1, "Error: standard input: is closed\n"),
    ],
)
def test_closed_streams_end_without_a_traceback(run, fitted, arguments, code, said):
    shell = f'"$0" -m tadaboost {arguments}'
    process = subprocess.run(["sh", "-c", shell, sys.executable], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (code, "", said)


EXTRAS = ("click", "polars", "jinja2", "rich")
WITHOUT = f"""
import os, sys
import tadaboost.classifier, tadaboost.persist  # what all of them need, once
from tadaboost.cli import main
for missing in {EXTRAS}:
    if not os.fork():
        for name in [name for name in sys.modules if name.startswith(missing + ".")]:
            del sys.modules[name]  # scikit-learn may have loaded it
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
    assert ended(monkeypatch, "fit", "data.csv", "--target", "y") == 130
    assert "".join(capsys.readouterr()).strip() == ""
