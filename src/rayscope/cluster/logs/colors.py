"""Parses the colors of terminal text: escape codes (SGR) become styled ranges of the plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

#: Escape sequences (for colors, the cursor, titles and hyperlinks), including truncated ones, and other
#: control characters. Group 1 has the codes for a style.
_CONTROLS = re.compile(
    r"\x1b(?:\[([\d;:]*)m|\[[0-?]*[ -/]*(?:[@-~]|$)|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|[ -/]*[0-~]?)"
    r"|[\x00-\x08\x0b-\x1f\x7f]"
)
NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
#: Codes that switch one attribute on or off.
_SWITCHES = {
    1: ("bold", True),
    2: ("dim", True),
    3: ("italic", True),
    4: ("underline", True),
    23: ("italic", False),
    24: ("underline", False),
}
#: The values that a color channel has in the palette's cube of 6 x 6 x 6 colors.
_CUBE = (0, 95, 135, 175, 215, 255)
#: Maximum number of styled ranges per line. Further ones are dropped.
MAX_STRETCHES = 500


@dataclass(frozen=True)
class Style:
    """The style of text. A color is a name from :data:`NAMES`, one like ``bright-red``, or ``#rrggbb``."""

    color: str | None = None
    background: str | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False


PLAIN = Style()


class Stretch(NamedTuple):
    """The style of a range of text, from ``begin`` to ``end`` (exclusive), in Unicode code points."""

    begin: int
    end: int
    style: Style


def split_styles(text: str) -> tuple[str, list[Stretch]]:
    """The text without escape sequences and control characters, and its styled ranges."""
    parts: list[str] = []
    stretches: list[Stretch] = []
    style, begin, length = PLAIN, 0, 0
    breaks = [(0, 0, None), *((m.start(), m.end(), m[1]) for m in _CONTROLS.finditer(text))]
    for (_, since, codes), (until, _, _) in pairwise([*breaks, (len(text), len(text), None)]):
        if codes is not None:
            _close(stretches, begin, length, style)
            style, begin = _apply(style, codes), length
        parts.append(text[since:until])
        length += until - since
    _close(stretches, begin, length, style)
    return "".join(parts), stretches


def clip(stretches: Sequence[Stretch], length: int) -> list[Stretch]:
    """The styled ranges of text that was cut to ``length``."""
    return [each._replace(end=min(each.end, length)) for each in stretches if each.begin < length]


def _close(stretches: list[Stretch], begin: int, end: int, style: Style) -> None:
    if begin < end and style != PLAIN and len(stretches) < MAX_STRETCHES:
        stretches.append(Stretch(begin, end, style))


def _apply(style: Style, codes: str) -> Style:
    numbers = iter([int(code[:4] or 0) for code in re.split("[;:]", codes)])
    for number in numbers:
        if number == 0:
            style = PLAIN
        elif number == 22:
            style = replace(style, bold=False, dim=False)
        elif number in _SWITCHES:
            name, value = _SWITCHES[number]
            style = replace(style, **{name: value})  # type: ignore[arg-type]
        elif number in (38, 48):
            color = _palette(numbers)
            style = replace(style, color=color) if number == 38 else replace(style, background=color)
        elif number == 39 or 30 <= number <= 37 or 90 <= number <= 97:
            style = replace(style, color=_named(number))
        elif number == 49 or 40 <= number <= 47 or 100 <= number <= 107:
            style = replace(style, background=_named(number - 10))
    return style


def _named(number: int) -> str | None:
    if number == 39:
        return None
    return NAMES[number - 30] if number < 40 else f"bright-{NAMES[number - 90]}"


def _palette(numbers: Iterator[int]) -> str | None:
    """One of 256 colors (``5;N``) or any RGB color (``2;R;G;B``), None for other codes."""
    kind = next(numbers, 0)
    if kind == 2:
        channels = [next(numbers, 0) for _ in range(3)]
        return "#" + "".join(f"{min(each, 255):02x}" for each in channels)
    if kind != 5:
        return None
    number = next(numbers, 0)
    if number < 16:
        return _named(30 + number if number < 8 else 82 + number)
    if number < 232:
        at = number - 16
        return "#" + "".join(f"{_CUBE[each]:02x}" for each in (at // 36, at // 6 % 6, at % 6))
    return "#" + f"{min(8 + 10 * (number - 232), 255):02x}" * 3
