"""The Trace Event Format of Chrome, as JSON: chrome://tracing and Perfetto read it.

Times there are µs; these have three decimals and begin with the session, since a JSON number holds no
nanoseconds of the epoch. ``otherData`` says when that was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from rayscope.views.export.formats.buffer import Buffer
from rayscope.views.export.formats.draw import Args

#: Where an arrow ends at a slice's end, it ends so much (ns) before it: at the end itself is no slice.
_INSIDE_NS = 1000
_LARGEST = 2**53 - 1


class ChromeTrace(Buffer):
    """A sink (see :class:`rayscope.views.export.formats.draw.Sink`) that writes trace events."""

    media_type = "application/json"

    def __init__(self) -> None:
        super().__init__()
        self._pids: dict[str, int] = {}
        self._tracks: dict[object, int] = {}
        self._process: list[int] = [0]
        self._origin = 0
        self._first = True

    def start(self, begin_ns: int) -> None:
        """Times count from ``begin_ns``."""
        self._origin = begin_ns
        self._out += b'{"displayTimeUnit":"ns","traceEvents":['

    def finish(self, about: Mapping[str, Any]) -> None:
        """Close the JSON, with what is to be known of the file."""
        told = {**about, "origin_ns": str(self._origin)}
        self._out += b'\n],"otherData":' + msgspec.json.encode(told) + b"}\n"

    def _us(self, ns: int) -> str:
        return f"{ns // 1000}.{ns % 1000:03d}"

    def _at(self, ns: int) -> str:
        return self._us(max(0, ns - self._origin))

    def _write(self, event: str) -> None:
        self._out += b"\n" if self._first else b",\n"
        self._first = False
        self._out += event.encode(errors="replace")

    def _pid(self, of: str) -> int:
        pid = self._pids.get(of)
        if pid is None:
            pid = self._pids[of] = len(self._pids) + 1
            for kind, args in (("process_name", {"name": of}), ("process_sort_index", {"sort_index": pid})):
                self._write(f'{{"ph":"M","name":"{kind}","pid":{pid},"tid":0,"args":{_json(args)}}}')
        return pid

    def track(self, key: object, of: str, name: str) -> int:
        """A thread of the process ``of``; its number differs from those of all others."""
        known = self._tracks.get(key)
        if known is None:
            pid = self._pid(of)
            known = self._tracks[key] = len(self._process)
            self._process.append(pid)
            for kind, args in (("thread_name", {"name": name}), ("thread_sort_index", {"sort_index": known})):
                self._write(f'{{"ph":"M","name":"{kind}","pid":{pid},"tid":{known},"args":{_json(args)}}}')
        return known

    def _place(self, track: int, at: int) -> str:
        return f'"pid":{self._process[track]},"tid":{track},"ts":{self._at(at)}'

    def _arrows(self, phase: str, track: int, at: int, ids: Iterable[int]) -> None:
        for number in ids:
            name = "call" if number % 2 else "data"
            bind = ',"bp":"e"' if phase == "f" else ""
            what = f'"ph":"{phase}","id":{number},"cat":"{name}","name":"{name}"{bind}'
            self._write(f"{{{what},{self._place(track, at)}}}")

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
        """The whole slice, and its arrows."""
        self._write(
            f'{{"ph":"X","name":{_json(name)},"cat":"{category}",{self._place(track, begin)},'
            f'"dur":{self._us(end - begin)},"args":{_args(args)}}}'
        )
        self._arrows("s", track, begin, gives)
        self._arrows("f", track, begin, takes)

    def end(self, track: int, begin: int, end: int, takes: Iterable[int]) -> None:
        """The arrows that end where the slice does."""
        self._arrows("f", track, max(begin, end - _INSIDE_NS), takes)

    def instant(
        self, track: int, at: int, name: str, category: str, args: Args, gives: Iterable[int]
    ) -> None:
        """An instant of a thread; arrows begin at the slice around it."""
        self._write(
            f'{{"ph":"i","s":"t","name":{_json(name)},"cat":"{category}",{self._place(track, at)},'
            f'"args":{_args(args)}}}'
        )
        self._arrows("s", track, at, gives)

    def counter(self, of: str, name: str, at: int, value: float) -> None:
        """A counter of the process ``of``."""
        self._write(
            f'{{"ph":"C","name":{_json(name)},"pid":{self._pid(of)},"tid":0,"ts":{self._at(at)},'
            f'"args":{_json({"value": value})}}}'
        )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _args(args: Args) -> str:
    """As JSON, with numbers that a browser would round as texts."""
    exact = {
        name: str(value) if isinstance(value, int) and abs(value) > _LARGEST else value
        for name, value in args.items()
    }
    return _json(exact)
