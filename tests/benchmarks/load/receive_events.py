"""Receive events over TLS as a lean application does: keep the connection, answer 204, remember the ids.

A script of its own process: ``receive_events.py CERTIFICATE``. It prints its port, and for every line that it is given
how many deliveries came, how many different events, and on how many connections.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import threading

ids: set[str] = set()
counts = {"deliveries": 0, "connections": 0}


async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    counts["connections"] += 1
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            size = int(head.partition(b"content-length:")[2].partition(b"\r")[0])
            event = json.loads(await reader.readexactly(size))
            counts["deliveries"] += 1
            ids.add(event["id"])
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
    except (asyncio.IncompleteReadError, OSError):
        writer.close()


def report() -> None:
    for _ in sys.stdin:
        print(json.dumps({**counts, "events": len(ids)}), flush=True)


async def main() -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(sys.argv[1])
    server = await asyncio.start_server(receive, "127.0.0.1", 0, ssl=tls)
    print(server.sockets[0].getsockname()[1], flush=True)
    threading.Thread(target=report, daemon=True).start()
    await server.serve_forever()


asyncio.run(main())
