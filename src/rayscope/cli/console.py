"""How we speak to people: on stderr, so that the output of what we start stays its own."""

from __future__ import annotations

from typing import NoReturn

import typer
from rich.console import Console
from rich.text import Text

#: Exit status for a wrong use or configuration, as argument parsers give it.
USAGE_ERROR = 2


def stderr() -> Console:
    """A console on today's stderr (tests replace it), without colours unless it is a terminal."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def stdout() -> Console:
    """A console on today's stdout."""
    return Console(highlight=False)


def shown(text: str) -> str:
    """A text from a program on one line of a terminal: what would move the cursor or hide is spelt out."""
    return "".join(letter if letter.isprintable() else _spelt(letter) for letter in text)


def _spelt(letter: str) -> str:
    return " " if letter in "\n\t\r" else repr(letter)[1:-1]


def say(message: str, style: str = "") -> None:
    """One line of ours."""
    line = Text("Rayscope: ", style="bold cyan")
    line.append(message, style=style or "not bold default")
    stderr().print(line)


def warn(message: str) -> None:
    """One line about something that will not be as expected."""
    say(message, "yellow")


def fail(message: str, remedy: str = "", code: int = USAGE_ERROR) -> NoReturn:
    """Say what is wrong and what to do about it, in red, and exit."""
    stderr().print(Text(" ".join(part for part in (f"Error: {message}", remedy) if part), style="red"))
    raise typer.Exit(code)
