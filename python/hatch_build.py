"""Puts files that all languages share into the package: the SQL of the kernel, and what connectors refuse."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("functions", "migrations", "security", "setup", "views")
FILES = ("api.json", "apply-order.txt")


class SharedFiles(BuildHookInterface):  # type: ignore[misc, type-arg]
    """Adds `jobforge/sql/` and `jobforge/data/` to the wheel.

    They are `sql/` and `data/` in the source distribution, from which a wheel can be built.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del version
        root = Path(self.root)
        source = root / "sql" if (root / "sql").is_dir() else root.parent / "sql"
        target = "jobforge/sql" if self.target_name == "wheel" else "sql"
        for name in (*FOLDERS, *FILES):
            build_data["force_include"][str(source / name)] = f"{target}/{name}"
        is_checkout = source != root / "sql"
        data = root.parent / "conformance" if is_checkout else root / "data"
        folder = "jobforge/data" if self.target_name == "wheel" else "data"
        build_data["force_include"][str(data / "egress.json")] = f"{folder}/egress.json"
