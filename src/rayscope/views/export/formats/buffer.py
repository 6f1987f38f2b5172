"""Output that a sink has written and that has not been sent yet."""

from __future__ import annotations


class Buffer:
    """Base class of sinks (see :class:`rayscope.views.export.formats.draw.Sink`). They append to ``_out``."""

    def __init__(self) -> None:
        self._out = bytearray()

    def size(self) -> int:
        """Return the number of buffered bytes."""
        return len(self._out)

    def take(self) -> bytes:
        """Return the bytes written since the last call, and remove them from the buffer."""
        out, self._out = bytes(self._out), bytearray()
        return out
