# SPDX-License-Identifier: Apache-2.0
"""Damaged model files, read by a process of its own, whose death would be noticed."""

import json
import os
import subprocess
import sys
from pathlib import Path

COUNT = int(os.environ.get("FILE_MUTATIONS", "500"))
SEED = int(os.environ.get("SEED", "0"))


def test_damaged_files_are_refused_in_one_line_or_are_sound_models():
    script = Path(__file__).with_name("fuzz_files.py")
    done = subprocess.run(
        [sys.executable, script, str(SEED), str(COUNT)], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"seed {SEED}, file {lines[-1:]}: {done.returncode}\n{done.stderr}"
    assert len(lines) == COUNT + 1
    sound = json.loads(lines[-1])
    # Else nothing but the checksums would have stood guard: some damage has to get past all checks.
    assert sound["numbers_of_an_array"] > 0
    assert sound["words_of_the_description"] > 0
    assert sound["end_cut_off"] == 0
