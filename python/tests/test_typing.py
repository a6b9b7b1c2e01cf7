"""Types from end to end, for mypy and for pyright."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

SAMPLE = Path(__file__).parent / "typing" / "typed.py"
WRONG = {number for number, line in enumerate(SAMPLE.read_text().splitlines(), 1) if line.endswith("# wrong")}


def test_mypy_accepts_and_refuses(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--cache-dir",
        str(tmp_path),
        str(SAMPLE),
    ]
    out = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path).stdout
    found = {int(line) for line in re.findall(r"typed\.py:(\d+): error", out)}
    assert found == WRONG, out


def test_pyright_accepts_and_refuses(tmp_path: Path) -> None:
    # A copy: the settings of this package exclude the sample.
    shutil.copy(SAMPLE, tmp_path)
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "typed.py"]
    out = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path).stdout
    errors = [each for each in json.loads(out)["generalDiagnostics"] if each["severity"] == "error"]
    assert {each["range"]["start"]["line"] + 1 for each in errors} == WRONG, errors
