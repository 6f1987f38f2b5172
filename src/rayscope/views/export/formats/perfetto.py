"""Perfetto's own trace format, which is a stream of protobuf packets.

Field numbers follow ``protos/perfetto/trace``. A test decodes the result with the official classes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from rayscope.views.export.formats.buffer import Buffer
from rayscope.views.export.formats.draw import Args
from rayscope.views.export.formats.protobuf import bytes_field, number_field, text_field, varint

#: Types of TrackEvent.
_BEGIN = 1
_END = 2
_INSTANT = 3
_COUNTER = 4
#: Numbers of Perfetto's built-in clocks.
_BOOTTIME = 6
_REALTIME = 1
_DOUBLE = struct.Struct("<d")
_FIXED = struct.Struct("<Q")
_INT64 = 2**63
#: Maximum number of encoded arguments to cache. Most arguments occur many times.
_MAX_CACHED_ARGS = 20_000
#: Name of both the process and the category of the event that describes the file.
ABOUT = "rayscope"


class _Interned:
    """Strings that are written once, then referenced by number. ``field`` is their field in InternedData."""

    def __init__(self, field: int) -> None:
        self._field = field
        self._known: dict[str, int] = {}
        self.fresh = b""

    def number(self, text: str) -> int:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = len(self._known) + 1
            self.fresh += bytes_field(self._field, number_field(1, known) + text_field(2, text))
        return known


class PerfettoTrace(Buffer):
    """A sink (see :class:`rayscope.views.export.formats.draw.Sink`) that writes a Perfetto trace."""

    media_type = "application/octet-stream"

    def __init__(self, session: str) -> None:
        super().__init__()
        self._categories, self._names, self._args = _Interned(1), _Interned(2), _Interned(3)
        self._encoded_args: dict[tuple[str, object], bytes] = {}
        self._next = 1
        self._tracks: dict[object, int] = {}
        self._pids: dict[int, int] = {}
        self._counters: dict[tuple[str, str], int] = {}
        self._started = False
        self._session = session

    def start(self, begin_ns: int, about: Args) -> None:
        """Write the clock and the file's description. ``begin_ns`` is a wall-clock time since the epoch."""
        clocks = b"".join(
            bytes_field(1, number_field(1, clock) + number_field(2, begin_ns))
            for clock in (_BOOTTIME, _REALTIME)
        )
        self._packet(number_field(8, begin_ns) + bytes_field(6, clocks))
        track = self.track("about", ABOUT, "about this file")
        self.instant(track, begin_ns, f"Ray session {self._session}", ABOUT, about, ())

    def _packet(self, content: bytes) -> None:
        interned = self._categories.fresh + self._names.fresh + self._args.fresh
        if interned:
            content += bytes_field(12, interned)
            self._categories.fresh = self._names.fresh = self._args.fresh = b""
        content += _LATER if self._started else _FIRST
        self._started = True
        self._out += b"\x0a" + varint(len(content)) + content

    def _process(self, of: str) -> int:
        key = ("process", of)
        known = self._tracks.get(key)
        if known is None:
            known = self._tracks[key] = self._next
            self._pids[known] = self._next
            self._next += 1
            process = bytes_field(3, number_field(1, known) + text_field(6, of))
            self._packet(bytes_field(60, number_field(1, known) + process))
        return known

    def track(self, key: object, of: str, name: str) -> int:
        """Return the number of the track for a thread in the process ``of``."""
        process = self._process(of)
        known = self._tracks.get(key)
        if known is None:
            known = self._tracks[key] = self._next
            self._next += 1
            thread = bytes_field(
                4, number_field(1, self._pids[process]) + number_field(2, known) + text_field(5, name)
            )
            self._packet(bytes_field(60, number_field(1, known) + thread))
        return known

    def _event(self, kind: int, track: int, at: int, rest: bytes = b"") -> None:
        event = _KINDS[kind] + varint(track) + rest
        self._packet(b"\x40" + varint(at) + b"\x5a" + varint(len(event)) + event)

    def _named(self, name: str, category: str, args: Args) -> bytes:
        out = number_field(10, self._names.number(name)) + number_field(3, self._categories.number(category))
        for key, value in args.items():
            known = self._encoded_args.get((key, value))
            if known is None:
                known = bytes_field(4, number_field(1, self._args.number(key)) + _value(value))
                if len(self._encoded_args) > _MAX_CACHED_ARGS:
                    self._encoded_args.clear()
                self._encoded_args[key, value] = known
            out += known
        return out

    def begin(
        self,
        track: int,
        begin: int,
        end: int,
        name: str,
        category: str,
        args: Args,
        gives: Iterable[int],
        takes: Iterable[int],
    ) -> None:
        """Open a slice."""
        self._event(
            _BEGIN, track, begin, self._named(name, category, args) + _flows(47, gives) + _flows(48, takes)
        )

    def end(self, track: int, begin: int, end: int, takes: Iterable[int]) -> None:
        """End the last slice that was opened on this track."""
        self._event(_END, track, end, _flows(48, takes))

    def instant(
        self, track: int, at: int, name: str, category: str, args: Args, gives: Iterable[int]
    ) -> None:
        """Write a slice of zero length."""
        self._event(_INSTANT, track, at, self._named(name, category, args) + _flows(47, gives))

    def counter(self, of: str, name: str, at: int, value: float) -> None:
        """Write the value of a counter of the process ``of``."""
        known = self._counters.get((of, name))
        if known is None:
            parent = self._process(of)
            known = self._counters[of, name] = self._next
            self._next += 1
            self._packet(
                bytes_field(
                    60,
                    number_field(1, known)
                    + text_field(2, name)
                    + number_field(5, parent)
                    + bytes_field(8, b""),
                )
            )
        self._event(_COUNTER, known, at, varint(44 << 3 | 1) + _DOUBLE.pack(value))


#: The first packet initializes the state of the trace's only sequence. Later packets depend on this state.
_FIRST = number_field(10, 1) + number_field(13, 3)
_LATER = number_field(10, 1) + number_field(13, 2)
#: The first bytes of an event, by type.
_KINDS = {kind: number_field(9, kind) + varint(11 << 3) for kind in (_BEGIN, _END, _INSTANT, _COUNTER)}


def _flows(field: int, ids: Iterable[int]) -> bytes:
    if not ids:
        return b""
    return b"".join(varint(field << 3 | 1) + _FIXED.pack(number) for number in ids)


def _value(value: object) -> bytes:
    if isinstance(value, bool):
        return number_field(2, int(value))
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        return number_field(4, value)
    if isinstance(value, float):
        return varint(5 << 3 | 1) + _DOUBLE.pack(value)
    return text_field(6, str(value))
