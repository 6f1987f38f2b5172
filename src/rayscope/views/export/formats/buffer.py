"""Output that a sink has written and that is not yet sent."""

from __future__ import annotations


class Buffer:
    """Base of sinks (see :class:`rayscope.views.export.formats.draw.Sink`): subclasses append to ``_out``."""

    def __init__(self) -> None:
        self._out = bytearray()

    def size(self) -> int:
        """Return the number of buffered bytes."""
        return len(self._out)

    def take(self) -> bytes:
        """Return the bytes written since the last call."""
        out, self._out = bytes(self._out), bytearray()
        return out
