"""Puts the SQL of the kernel into the package, so that Python users can migrate without Node."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("functions", "migrations", "security", "setup", "views")
FILES = ("api.json", "apply-order.txt")


class SqlHook(BuildHookInterface):  # type: ignore[misc, type-arg]
    """Adds `jobforge/sql/` to the wheel, and `sql/` to the source distribution from which a wheel can be built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del version
        root = Path(self.root)
        source = root / "sql" if (root / "sql").is_dir() else root.parent / "sql"
        target = "jobforge/sql" if self.target_name == "wheel" else "sql"
        for name in (*FOLDERS, *FILES):
            build_data["force_include"][str(source / name)] = f"{target}/{name}"
