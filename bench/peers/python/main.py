"""A queue in Python as a contestant of the benchmarks: `main.py NAME`.

Reads one request per line from stdin, replies to each with one line of JSON on stdout, and exits when stdin is closed.
The requests are described in bench/README.md.
"""

import asyncio
import importlib
import json
import os
import sys

from contestant import Contestant


def chosen(name: str) -> Contestant:
    settings = os.environ.get("BENCH_SETTINGS", "")
    if settings not in ("best", "default"):
        raise SystemExit(f"BENCH_SETTINGS is {settings!r}; it must be best or default")
    module, _, variant = name.partition("-over-")
    made = importlib.import_module(f"{module}_queue").make(variant, best=settings == "best")
    return Contestant(made)


async def main() -> None:
    contestant = chosen(sys.argv[1])
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    # What a library writes to standard output would be taken for a reply.
    out, sys.stdout = sys.stdout, sys.stderr
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        print(json.dumps(await contestant.reply(line)), file=out, flush=True)
    await contestant.close()


if __name__ == "__main__":
    asyncio.run(main())
