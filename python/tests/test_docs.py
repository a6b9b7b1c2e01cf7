"""Runs the Python samples of the documentation.

A block with `file=PATH` is written to a folder. A block with `program=NAME` is run there, with a database of its own;
`worker=MODULE` runs a worker next to it. Tests in the folder are run by pytest. A block without options is a fragment:
it must only be valid Python.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from jobforge.testing.database import TestDatabase, TestServer

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/guides/python.md", "docs/guides/workflows-in-python.md", "docs/reference/python.md", "README.md")


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    options: dict[str, str]
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for match in re.finditer(r"^```python(.*)\n([\s\S]*?)^```$", text, re.MULTILINE):
        options = dict(each.split("=", 1) for each in match[1].split())
        found.append(Block(page, text[: match.start()].count("\n") + 1, options, match[2]))
    return found


BLOCKS = [block for page in PAGES for block in blocks_of(page)]
PROGRAMS = [block for block in BLOCKS if "program" in block.options]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the pages."""
    for block in BLOCKS:
        if "file" in block.options:
            path = tmp_path / block.options["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
    return tmp_path


def environment(db: TestDatabase | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JOBFORGE_")}
    url = {} if db is None else {"DATABASE_URL": db.url}
    return {**kept, **url, "PYTHONPATH": ".", "LOG_LEVEL": "silent"}


def test_there_are_samples() -> None:
    assert len(PROGRAMS) >= 8


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_samples_are_valid(block: Block) -> None:
    ast.parse(block.text)


@pytest.mark.parametrize("block", PROGRAMS, ids=str)
def test_programs_run(block: Block, folder: Path, db: TestDatabase) -> None:
    worker = None
    if "worker" in block.options:
        command = [sys.executable, "-m", "jobforge", "worker", block.options["worker"]]
        worker = subprocess.Popen(command, cwd=folder, env=environment(db))
    try:
        done = subprocess.run(
            [sys.executable, "-c", block.text],
            cwd=folder,
            env=environment(db),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    finally:
        if worker is not None:
            worker.terminate()
            worker.wait(timeout=60)


def test_the_tests_of_the_guide_pass(folder: Path, jobforge_server: TestServer) -> None:
    options = ["-q", "-o", "asyncio_mode=auto", "--jobforge-server", jobforge_server.url]
    command = [sys.executable, "-m", "pytest", *options, "tests"]
    done = subprocess.run(
        command, cwd=folder, env=environment(None), capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "5 passed" in done.stdout
