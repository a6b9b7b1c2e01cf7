"""Procrastinate as a contestant of the benchmarks.

Reads one request per line from stdin, replies to each with one line of JSON on stdout, and exits when stdin is closed.
The requests are described in bench/README.md.
"""

import asyncio
import json
import sys

from contestant import Contestant


async def main() -> None:
    contestant = Contestant()
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        print(json.dumps(await contestant.reply(line)), flush=True)
    await contestant.stop({})
    await contestant.close_sender()


if __name__ == "__main__":
    asyncio.run(main())
