"""A client that was opened before a fork works in both processes, each with connections of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .support.forking import JOBS

if TYPE_CHECKING:
    from .conftest import Way, Ways

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="This platform has no fork")


@pytest.mark.parametrize("way", ["postgres", "http"])
def test_parent_and_child_get_their_own_responses(ways: Ways, way: Way) -> None:
    arguments = json.dumps(ways.arguments(way, "jobforge_operator"))
    command = [sys.executable, "-m", "tests.support.forking", arguments]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [2 * JOBS, 2 * JOBS], done.stderr
