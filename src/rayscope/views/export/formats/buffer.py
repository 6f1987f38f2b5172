"""What a sink has written and nobody has taken yet."""

from __future__ import annotations


class Buffer:
    """Base of sinks (see :class:`rayscope.views.export.formats.draw.Sink`): subclasses append to ``_out``."""

    def __init__(self) -> None:
        self._out = bytearray()

    def size(self) -> int:
        """How many bytes wait."""
        return len(self._out)

    def take(self) -> bytes:
        """What was written since this was last called."""
        out, self._out = bytes(self._out), bytearray()
        return out
