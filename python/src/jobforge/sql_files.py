"""Where the SQL of the kernel is: in the package, or in the checkout that this package was installed from."""

from __future__ import annotations

from pathlib import Path


def sql_root() -> Path:
    """The folder with `api.json`, `apply-order.txt` and the SQL files."""
    here = Path(__file__).resolve().parent
    installed = here / "sql"
    return installed if installed.is_dir() else here.parents[2] / "sql"
