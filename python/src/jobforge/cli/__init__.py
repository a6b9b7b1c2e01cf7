"""The command line: `jobforge-py`, or `python -m jobforge`.

Each module of this package that has `add_command(commands)` is a command. It sets the default `run` of its parser: a
function that takes the parsed arguments and returns an exit code.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from typing import TYPE_CHECKING

from ..errors import ConnectionError, InvalidArgumentError, InvalidScheduleError, JobForgeError
from ..version import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command. Returns 0 for success, 1 for a failure, 2 for wrong usage and 3 if there is no connection."""
    parser = argparse.ArgumentParser(prog="jobforge-py", description="Background jobs in Postgres.")
    parser.add_argument("--version", action="version", version=f"jobforge {VERSION}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for found in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{found.name}")
        if hasattr(module, "add_command"):
            module.add_command(commands)
    given = parser.parse_args(arguments)
    try:
        code: int = given.run(given)
    except ConnectionError as error:
        return _fail(str(error), 3)
    except (InvalidArgumentError, InvalidScheduleError) as error:
        # A package that is not installed is not wrong usage.
        return _fail(str(error), 1 if isinstance(error.__cause__, ImportError) else 2)
    except JobForgeError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return _fail("Interrupted")
    return code


def _fail(message: str, code: int = 1) -> int:
    sys.stderr.write(f"error: {message}\n")
    return code
