"""Checks the Python package: format, lint, types, and all tests on a real Postgres.

Makes its own virtual environment, `.venv`, with what requirements-dev.txt names. Ends with one line
`N passed, M failed`; `--report FILE` writes the numbers as JSON, too. Other arguments go to pytest.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import venv
import xml.etree.ElementTree as ET
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv"
PYTHON = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
CHECKS = (
    ("Lint", ["ruff", "check", "."]),
    ("Format", ["ruff", "format", "--check", "--quiet", "."]),
    ("Types (mypy)", ["mypy"]),
    ("Types (pyright)", ["pyright"]),
)
# More tests than this do not fail by chance.
MOST_LOOKS = 5


def prepare() -> None:
    """Makes the environment, or brings it in line with the list of packages."""
    wanted = (ROOT / "requirements-dev.txt").read_bytes() + (ROOT / "pyproject.toml").read_bytes()
    mark = f"{hashlib.sha256(wanted).hexdigest()} {sys.version}"
    marker = FOLDER / ".jobforge-installed"
    before = marker.read_text(encoding="utf-8") if marker.exists() else ""
    if before == mark:
        return
    print("Installing what the Python tests need", flush=True)
    if not before.endswith(sys.version):
        venv.create(FOLDER, with_pip=True, clear=True)
    install = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "-r", str(ROOT / "requirements-dev.txt")], check=True)
    subprocess.run([*install, "--no-deps", "--no-build-isolation", "-e", str(ROOT)], check=True)
    marker.write_text(mark, encoding="utf-8")


def run(arguments: list[str]) -> bool:
    """Runs a module of the environment. Returns whether it succeeded."""
    print(f"\n• {' '.join(arguments[:2])}", flush=True)
    return subprocess.run([str(PYTHON), "-m", *arguments], cwd=ROOT, check=False).returncode == 0


def main() -> int:
    arguments = sys.argv[1:]
    report: Path | None = None
    if "--report" in arguments:
        place = arguments.index("--report")
        report = Path(arguments[place + 1]).resolve()
        del arguments[place : place + 2]
    prepare()
    failures = [title for title, command in CHECKS if not run(command)]
    written = subprocess.run([str(PYTHON), "scripts/write_blocking.py", "--check"], cwd=ROOT, check=False)
    if written.returncode != 0:
        failures.append("The blocking client is written from the asynchronous one")
    passed, skipped, unstable = len(CHECKS) + 1 - len(failures), 0, []
    with TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        succeeded = run(["pytest", "-q", f"--junitxml={results}", *arguments])
        if results.exists():
            good, bad, skipped = read(results)
            still = look_again(bad) if 0 < len(bad) <= MOST_LOOKS else bad
            unstable = [name for name in bad if name not in still]
            passed += good + len(unstable)
            failures += still
            succeeded = succeeded or bad != still
        if not succeeded and not any("::" in failure for failure in failures):
            failures.append("pytest")
    for name in unstable:
        print(f"⚠ Unstable: failed, and passed when it ran again: {name}")
    for failure in failures:
        print(f"✗ {failure}")
    print(f"{passed} passed, {len(failures)} failed{f', {skipped} skipped' if skipped else ''}")
    if report is not None:
        numbers = {"passed": passed, "skipped": skipped, "failures": failures, "unstable": unstable}
        report.write_text(json.dumps(numbers), encoding="utf-8")
    return 1 if failures else 0


def look_again(failed: list[str]) -> list[str]:
    """Runs the tests that failed once more, by themselves. Returns the names of those that failed again.

    A run of everything keeps each core busy, and a test may meet a limit there that it does not meet
    alone. What passes now is reported as unstable, so that it gets repaired.
    """
    with TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        run(["pytest", "-q", "--last-failed", "--last-failed-no-failures=none", f"--junitxml={results}"])
        if not results.exists():
            return failed
        good, bad, _ = read(results)
        return bad if good + len(bad) == len(failed) else failed


def read(results: Path) -> tuple[int, list[str], int]:
    """How many tests passed, the names of those that failed, and how many were skipped."""
    passed, failed, skipped = 0, [], 0
    # Our own pytest has just written the file.
    for case in ET.parse(results).iter("testcase"):  # noqa: S314
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(f"{case.get('classname')}::{case.get('name')}")
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


if __name__ == "__main__":
    sys.exit(main())
