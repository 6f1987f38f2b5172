"""How we speak to people: on stderr, so that the output of what we start stays its own."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from rayscope.client.request_names import COMMANDS, name_requests

#: Exit status for a wrong use or configuration, as argument parsers give it.
USAGE_ERROR = 2


class _Console(Console):
    """A console on which data is only text: no markup, no control characters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As the base class, with every piece of text made visible."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(visible(piece.text), piece.style)


def stderr() -> Console:
    """A console on today's stderr (tests replace it), without colours unless it is a terminal."""
    return _Console(stderr=True, soft_wrap=True)


def stdout(width: int | None = None) -> Console:
    """A console on today's stdout."""
    return _Console(width=width)


def visible(text: str) -> str:
    """A text from outside as it may be printed: control characters and those that turn text around spelt out.

    Lines and tabs stay. Everything that the command line prints of what others wrote goes through this.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else repr(letter)[1:-1] for letter in text
    )


def shown(text: str) -> str:
    """The same on one line."""
    return visible(re.sub(r"[\n\t\r]", " ", text))


def print_json(value: Any, indent: int | None = None) -> None:
    """JSON on stdout, on one line without ``indent``; what is not printable is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if not text.replace("\n", "").isprintable():
        text = "".join(
            letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1] for letter in text
        )
    sys.stdout.write(text + "\n")


def say(message: str, style: str = "") -> None:
    """One line of ours."""
    line = Text("Rayscope: ", style="bold cyan")
    line.append(name_requests(message, COMMANDS), style=style or "not bold default")
    stderr().print(line)


def warn(message: str) -> None:
    """One line about something that will not be as expected."""
    say(message, "yellow")


def fail(message: str, remedy: str = "", code: int = USAGE_ERROR) -> NoReturn:
    """Say what is wrong and what to do about it, in red, and exit."""
    gap = "\n" if "\n" in message else " "  # what several lines point at stays apart
    text = gap.join(part for part in (f"Error: {message}", remedy) if part)
    stderr().print(Text(name_requests(text, COMMANDS), style="red"))
    raise typer.Exit(code)
