"""Messages to the user. They go to stderr, so that they do not mix with the output of a started program."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from rayscope.client.printable import shown, visible
from rayscope.client.request_names import COMMANDS, name_requests

__all__ = ["USAGE_ERROR", "fail", "print_json", "say", "shown", "stderr", "stdout", "visible", "warn"]

#: Exit status for wrong usage or configuration. Argument parsers use the same.
USAGE_ERROR = 2


class _Console(Console):
    """A console that prints all data as plain text, without markup and control characters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render like the base class, with control characters made visible."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(visible(piece.text), piece.style)


def stderr() -> Console:
    """Return a console for the current stderr (tests replace it), with colors only if it is a terminal."""
    return _Console(stderr=True, soft_wrap=True)


def stdout(width: int | None = None) -> Console:
    """Return a console for the current stdout."""
    return _Console(width=width)


def print_json(value: Any, indent: int | None = None) -> None:
    """Print JSON on stdout, on a single line without ``indent``. Unprintable characters are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if not text.replace("\n", "").isprintable():
        text = "".join(
            letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1] for letter in text
        )
    sys.stdout.write(text + "\n")


def say(message: str, style: str = "") -> None:
    """Print a one-line message."""
    line = Text("Rayscope: ", style="bold cyan")
    line.append(name_requests(message, COMMANDS), style=style or "not bold default")
    stderr().print(line)


def warn(message: str) -> None:
    """Print a one-line warning."""
    say(message, "yellow")


def fail(message: str, remedy: str = "", code: int = USAGE_ERROR) -> NoReturn:
    """Print an error and its remedy in red, and exit with ``code``."""
    gap = "\n" if "\n" in message else " "  # keep a multi-line error separate from the remedy
    text = gap.join(part for part in (f"Error: {message}", remedy) if part)
    stderr().print(Text(name_requests(text, COMMANDS), style="red"))
    raise typer.Exit(code)
