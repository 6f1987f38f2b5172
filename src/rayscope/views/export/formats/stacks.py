"""File formats for samples of stacks: collapsed stacks, speedscope's own format, and pprof's.

The outermost frame of each stack is its phase, such as ``[executing]``. It is the only frame of samples in
which no code of the user's ran.
"""

from __future__ import annotations

import functools
import gzip
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from rayscope.views.export.formats.protobuf import bytes_field, number_field, text_field, varint
from rayscope.views.export.formats.speedscope import SCHEMA
from rayscope.views.lines.compute import Place

#: Frames of stacks that are left out of a file.
LEFT_OUT = Place("", 0, "[left out]")
#: Replaces the characters that end a frame or a stack in the format of collapsed stacks.
_IN_COLLAPSED = {ord(";"): ":", **dict.fromkeys((*range(32), 127, 133, 8232, 8233), " ")}


class Stack(NamedTuple):
    """How many samples had a stack, and in how many of them a C library ran. The outermost place is first."""

    places: tuple[Place, ...]
    samples: int
    native: int


class About(NamedTuple):
    """The session and the program that wrote the file. ``hz``: the rate of the samples, if they have one."""

    session: str
    exporter: str
    first_ns: int
    last_ns: int
    hz: float | None


def _text(place: Place) -> str:
    return f"{place.function} ({place.file}:{place.line})" if place.file else place.function


def text_bytes(place: Place) -> int:
    """Return the size of a frame in the format of collapsed stacks."""
    return len(_text(place).encode(errors="replace")) + 1


def collapsed(stacks: Sequence[Stack], about: About) -> bytes:
    """Return one line per stack, as Brendan Gregg's ``flamegraph.pl`` reads them."""
    text = functools.cache(lambda place: _text(place).translate(_IN_COLLAPSED))
    lines = (f"{';'.join(map(text, stack.places))} {stack.samples}\n" for stack in stacks)
    return "".join(lines).encode(errors="replace")


def speedscope(stacks: Sequence[Stack], about: About) -> bytes:
    """Return a file of speedscope's format with one profile."""
    numbers: dict[Place, int] = {}
    samples = [[numbers.setdefault(place, len(numbers)) for place in stack.places] for stack in stacks]
    frames = [
        {"name": place.function, **({"file": place.file, "line": place.line} if place.file else {})}
        for place in numbers
    ]
    profile = {
        "type": "sampled",
        "name": "samples of stacks",
        "unit": "none",
        "startValue": 0,
        "endValue": sum(stack.samples for stack in stacks),
        "samples": samples,
        "weights": [stack.samples for stack in stacks],
    }
    return msgspec.json.encode(
        {
            "$schema": SCHEMA,
            "shared": {"frames": frames},
            "profiles": [profile],
            "name": f"Ray {about.session}",
            "exporter": about.exporter,
        }
    )


def pprof(stacks: Sequence[Stack], about: About) -> bytes:
    """Return a compressed profile with two values per stack: all samples, and those with native code.

    Field numbers follow https://github.com/google/pprof/blob/main/proto/profile.proto.
    """
    texts: dict[str, int] = {"": 0}
    functions: dict[tuple[str, str], int] = {}
    locations: dict[Place, int] = {}

    def text(value: str) -> int:
        return texts.setdefault(value, len(texts))

    def value_type(name: str, unit: str) -> bytes:
        return number_field(1, text(name)) + number_field(2, text(unit))

    out = [bytes_field(1, value_type(name, "count")) for name in ("samples", "native")]
    for stack in stacks:
        numbers = [locations.setdefault(place, len(locations) + 1) for place in reversed(stack.places)]
        values = varint(stack.samples) + varint(stack.native)
        out.append(bytes_field(2, bytes_field(1, b"".join(map(varint, numbers))) + bytes_field(2, values)))
    for place, number in locations.items():
        function = functions.setdefault((place.function, place.file), len(functions) + 1)
        line = number_field(1, function) + number_field(2, place.line)
        out.append(bytes_field(4, number_field(1, number) + bytes_field(4, line)))
    for (name, file), number in functions.items():
        fields = number_field(1, number) + number_field(2, text(name)) + number_field(4, text(file))
        out.append(bytes_field(5, fields))
    out.append(number_field(9, about.first_ns) + number_field(10, about.last_ns - about.first_ns))
    if about.hz is not None:
        out.append(bytes_field(11, value_type("wall", "nanoseconds")))
        out.append(number_field(12, round(1e9 / about.hz)))
    for comment in (f"Ray {about.session}", about.exporter):
        out.append(number_field(13, text(comment)))
    out.append(number_field(14, text("samples")))
    out += [text_field(6, value) for value in texts]
    return gzip.compress(b"".join(out), 6, mtime=0)


#: The formats, with the end of a file's name, and its media type.
FORMATS: Mapping[str, tuple[Callable[[Sequence[Stack], About], bytes], str, str]] = {
    "collapsed": (collapsed, ".collapsed.txt", "text/plain"),
    "speedscope": (speedscope, ".speedscope.json", "application/json"),
    "pprof": (pprof, ".pb.gz", "application/octet-stream"),
}
