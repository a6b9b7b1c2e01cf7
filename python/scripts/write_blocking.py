"""Writes the blocking client, `src/jobforge/blocking/`, from the asynchronous one, `src/jobforge/aio/`.

With `--check`, it writes nothing and fails if a file differs.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "jobforge"
REPLACEMENTS = (
    (r"\basync_(\w+)", r"\1"),
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsync([A-Z]\w*)", r"\1"),
    (r"__a(enter|exit|iter)__", r"__\1__"),
    (
        r"The asynchronous client\. `scripts/write_blocking\.py` writes the blocking one from it\.",
        "The blocking client. `scripts/write_blocking.py` writes it from `jobforge.aio`: do not edit it.",
    ),
)


def blocking(source: str) -> str:
    """The blocking form of an asynchronous module, formatted."""
    for pattern, replacement in REPLACEMENTS:
        source = re.sub(pattern, replacement, source)
    for arguments in (["check", "--fix", "-q", "--exit-zero"], ["format", "-q"]):
        command = [
            sys.executable,
            "-m",
            "ruff",
            *arguments,
            "--stdin-filename",
            str(PACKAGE / "blocking" / "x.py"),
            "-",
        ]
        source = subprocess.run(command, input=source, text=True, capture_output=True, check=True, cwd=ROOT).stdout
    return source


def main() -> int:
    check = "--check" in sys.argv
    different: list[str] = []
    for path in sorted((PACKAGE / "aio").glob("*.py")):
        target = PACKAGE / "blocking" / path.name
        text = blocking(path.read_text(encoding="utf-8"))
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            different.append(target.name)
            if not check:
                target.write_text(text, encoding="utf-8")
    if different and check:
        print(f"Run scripts/write_blocking.py: these files of jobforge.blocking differ: {', '.join(different)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
