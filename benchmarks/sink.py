"""An HTTP server that discards every POST, to measure the cost of Ray's exporter alone."""

from __future__ import annotations

import asyncio
import json
import re

_LENGTH = re.compile(rb"content-length: *(\d+)", re.I)
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Discard(asyncio.Protocol):
    """Counts the remaining bytes of a body. Nothing is stored."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._head = b""
        self._left = 0

    def data_received(self, data: bytes) -> None:
        while data:
            if self._left:
                taken = min(self._left, len(data))
                self._left -= taken
                data = data[taken:]
                if not self._left:
                    self._transport.write(_ANSWER)  # type: ignore[attr-defined]
                continue
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return
            found = _LENGTH.search(self._head, 0, end)
            self._left = int(found[1]) if found else 0
            data, self._head = self._head[end + 4 :], b""
            if not self._left:
                self._transport.write(_ANSWER)  # type: ignore[attr-defined]


async def main() -> None:
    """Serve on a free port and print it."""
    server = await asyncio.get_running_loop().create_server(Discard, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(json.dumps({"url": f"http://127.0.0.1:{port}/"}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        import uvloop

        uvloop.install()
    except ImportError:
        pass
    asyncio.run(main())
