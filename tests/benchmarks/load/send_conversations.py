"""Send ``POST /conversations`` on several connections, each the next one when it has its answer; print what it took.

A script of its own process: ``send_conversations.py HOST PORT KEY PROMPT_ID SECONDS CONNECTIONS COUNT``.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time


async def send(address: tuple[str, int], request: bytes, left: list[int], until: float) -> list[float]:
    """Send requests until the time is over or none is left; gives the seconds that each took."""
    took = []
    reader, writer = await asyncio.open_connection(*address)
    while time.perf_counter() < until and left[0] > 0:
        left[0] -= 1
        begun = time.perf_counter()
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        size = int(head.partition(b"content-length:")[2].partition(b"\r")[0])
        body = await reader.readexactly(size)
        took.append(time.perf_counter() - begun)
        if head[9:12] != b"201":
            raise SystemExit(f"{head[9:12].decode()}: {body[:500].decode()}")
    writer.close()
    return took


async def main() -> None:
    host, port, key, prompt_id, seconds, connections, count = sys.argv[1:]
    messages = [
        {"role": ("user", "assistant")[n % 2], "content": "Where is my parcel? It is late again. " * 10}
        for n in range(10)
    ]
    content = json.dumps({"messages": messages})
    body = json.dumps({"promptId": prompt_id, "content": content}).encode()
    head = (
        f"POST /api/v1/conversations HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    left = [int(count)]
    begun = time.perf_counter()
    sending = [
        send((host, int(port)), head.encode() + body, left, begun + float(seconds))
        for _ in range(int(connections))
    ]
    took = sorted(one for some in await asyncio.gather(*sending) for one in some)
    found = {"count": len(took), "rate": len(took) / (time.perf_counter() - begun)}
    tails = {f"p{share}": took[len(took) * share // 100] * 1000 for share in (50, 99)}
    print(json.dumps({**found, **tails}))


asyncio.run(main())
