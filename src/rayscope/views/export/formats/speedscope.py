"""speedscope's own JSON format: execution time by call path, and what each worker was doing over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rayscope.views.export.formats.buffer import Buffer
from rayscope.views.export.formats.draw import Args
from rayscope.views.flame.compute import Frame

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
DRIVERS = "driver"
UNKNOWN = "(call path unknown)"


class Speedscope(Buffer):
    """A sink (see :class:`rayscope.views.export.formats.draw.Sink`) that writes profiles of workers.

    Slices must arrive lane by lane. The format has no arrows, instants, or counters.
    """

    media_type = "application/json"

    def __init__(self, session: str) -> None:
        self._session = session
        super().__init__()
        self._frames: dict[str, int] = {}
        self._origin = 0
        self._tracks: dict[object, int] = {}
        self._names: list[str] = []
        self._lanes: list[object] = []
        self._lane: object = None
        self._open: dict[int, _Profile] = {}
        self._first = True

    def start(self, begin_ns: int, frames: Sequence[Frame], max_frames: int) -> int:
        """Write the first profile: the execution time of a flame graph's ``frames``, parents first.

        The profile has one stack per call path. All stacks together have at most ``max_frames`` frames.
        Beyond that, the stacks with the least time are left out. Returns the number of omitted stacks.
        """
        self._origin = begin_ns
        self._out += b'{"$schema":"' + SCHEMA.encode() + b'","profiles":['
        places: dict[str, int] = {}
        above: list[int | None] = []
        depths: list[int] = []
        names: list[int] = []
        for place, frame in enumerate(frames):
            parent = places.get(frame.parent or "")
            places[frame.id] = place
            above.append(parent)
            depths.append(1 if parent is None else depths[parent] + 1)
            name = frame.name or {"driver": DRIVERS, "unknown": UNKNOWN}.get(frame.kind, frame.kind)
            names.append(self._frame(name))
        busy = [place for place, frame in enumerate(frames) if frame.own]
        kept = []
        for place in sorted(busy, key=lambda place: -frames[place].own):
            if depths[place] <= max_frames:
                max_frames -= depths[place]
                kept.append(place)
        kept.sort()
        samples: list[list[int]] = []
        for place in kept:
            stack: list[int] = []
            at: int | None = place
            while at is not None:
                stack.append(names[at])
                at = above[at]
            samples.append(stack[::-1])
        weights = [frames[place].own for place in kept]
        self._profile(
            {
                "type": "sampled",
                "name": "executing time by call path, all workers",
                "unit": "nanoseconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        )
        return len(busy) - len(kept)

    def finish(self, about: Mapping[str, Any]) -> None:
        """Write the last lane, the names of the frames, and the description of the file."""
        self._flush()
        shared = {"frames": [{"name": name} for name in self._frames]}
        rest = {
            "shared": shared,
            "name": f"Ray {self._session}",
            "activeProfileIndex": 0,
            "exporter": about["exporter"],
            "rayscope": about,
        }
        self._out += b"\n]," + msgspec.json.encode(rest)[1:] + b"\n"

    def _profile(self, profile: Mapping[str, Any]) -> None:
        self._out += (b"\n" if self._first else b",\n") + msgspec.json.encode(profile)
        self._first = False

    def _frame(self, name: str) -> int:
        return self._frames.setdefault(name, len(self._frames))

    def _flush(self) -> None:
        """Write the profiles of the finished lane."""
        for track, profile in self._open.items():
            head = {
                "type": "evented",
                "name": self._names[track],
                "unit": "nanoseconds",
                "startValue": profile.since,
                "endValue": profile.until,
            }
            self._out += b",\n" + msgspec.json.encode(head)[:-1] + b',"events":['
            self._out += b",".join(profile.events) + b"]}"
        self._open = {}

    def track(self, key: object, of: str, name: str) -> int:
        """Return the number of a profile. The first item of ``key`` is the lane."""
        known = self._tracks.get(key)
        if known is None:
            known = self._tracks[key] = len(self._names)
            self._names.append(f"{name}, {of}")
            self._lanes.append(key[0] if isinstance(key, tuple) else key)
        return known

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
        """Open a frame in the profile of a track."""
        if self._lanes[track] != self._lane:
            self._flush()
            self._lane = self._lanes[track]
        at = begin - self._origin
        profile = self._open.get(track)
        if profile is None:
            profile = self._open[track] = _Profile(at)
        profile.stack.append(self._frame(name))
        profile.add("O", profile.stack[-1], at)

    def end(self, track: int, begin: int, end: int, takes: Iterable[int]) -> None:
        """Close the frame that was opened last in the profile of a track."""
        profile = self._open[track]
        profile.add("C", profile.stack.pop(), end - self._origin)

    def instant(
        self, track: int, at: int, name: str, category: str, args: Args, gives: Iterable[int]
    ) -> None:
        """Do nothing: the format has no instants."""

    def counter(self, of: str, name: str, at: int, value: float) -> None:
        """Do nothing: the format has no counters."""


class _Profile:
    def __init__(self, since: int) -> None:
        self.since = self.until = since
        self.stack: list[int] = []
        self.events: list[bytes] = []

    def add(self, kind: str, frame: int, at: int) -> None:
        self.until = at
        self.events.append(f'{{"type":"{kind}","frame":{frame},"at":{at}}}'.encode())
