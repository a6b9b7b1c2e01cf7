"""A Python that Django 6 can run on. The tests themselves may run on an older one."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".venv" / "django"
NEEDED = (3, 12)


def django_python() -> str | None:
    """The path of a Python with Django, this package and psycopg; None if there is no Python of 3.12 or newer."""
    if sys.version_info >= NEEDED:
        return sys.executable
    found = next((path for path in _candidates() if _is_new(path)), None)
    return None if found is None else _prepared(found)


def _candidates() -> list[str]:
    names = [found for minor in (14, 13, 12) if (found := shutil.which(f"python3.{minor}")) is not None]
    # Versions of pyenv that are installed and not chosen are not on the PATH.
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    newest = sorted(folder.glob("3.*/bin/python"), key=lambda path: _number(path.parts[-3]), reverse=True)
    return [*names, *map(str, newest)]


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _is_new(path: str) -> bool:
    code = f"import sys; sys.exit(sys.version_info < {NEEDED})"
    # A shim of pyenv fails if its version is not chosen.
    return subprocess.run([path, "-c", code], capture_output=True, check=False).returncode == 0


def _prepared(python: str) -> str:
    """A virtual environment with what the tests of Django need, made once."""
    wanted = [
        line.split(";")[0].strip()
        for line in (ROOT / "requirements-dev.txt").read_text(encoding="utf-8").splitlines()
        if line.startswith(("Django", "psycopg"))
    ]
    mark = hashlib.sha256(f"{python} {wanted}".encode()).hexdigest()
    marker, own = FOLDER / "installed", FOLDER / "bin" / "python"
    if not marker.exists() or marker.read_text(encoding="utf-8") != mark:
        subprocess.run([python, "-m", "venv", "--clear", str(FOLDER)], check=True)
        install = [str(own), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *wanted], check=True)
        marker.write_text(mark, encoding="utf-8")
    return str(own)
