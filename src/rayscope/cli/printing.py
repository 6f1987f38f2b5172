"""Prints rows for people and for programs: as tables that fit the terminal, JSON, or CSV."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rich.table import Table
from rich.text import Text

from rayscope.cli.console import print_json, say, shown, stdout, visible
from rayscope.model.node_title import unique_titles
from rayscope.ray.common import headline

if TYPE_CHECKING:
    from rayscope.client import Client

#: Width of lines in characters if the output is not a terminal.
_PIPED = 200
#: Minimum width of columns with long text, in characters.
_NARROW = 16
#: Maximum width of columns with long text, in characters.
_WIDE = 80
#: Gap between columns, in characters.
_GAP = 2
#: Width of lines in characters if lines may be as long as their columns need.
_UNLIMITED = 10_000
_GOOD = frozenset({"FINISHED", "SUCCEEDED", "ALIVE", "CREATED", "RUNNING", "INFO", "live"})
_BAD = frozenset({"FAILED", "DEAD", "ERROR", "STOPPED", "REMOVED", "unreadable"})

#: Titles of an attempt's phases, in chronological order.
PHASES = {
    "waiting_args": "waiting for arguments",
    "waiting_node": "waiting for resources",
    "starting_worker": "starting worker",
    "queued": "queued at worker",
    "loading": "loading code",
    "fetching": "unpacking arguments",
    "executing": "executing",
    "awaiting": "awaiting",
    "blocked": "blocked",
    "storing": "storing outputs",
}

Row = Mapping[str, Any]


class Format(str, Enum):
    """The output format of rows."""

    table = "table"
    json = "json"
    csv = "csv"


class Column(NamedTuple):
    """A column of a table.

    ``long``: its values may be truncated. ``right``: it is aligned to the right, like numbers. ``is_id``: it
    has IDs, which are shortened.
    """

    title: str
    value: Callable[[Row], str | Text]
    long: bool = False
    right: bool = False
    is_id: bool = False


def text(name: str, title: str | None = None, *, long: bool = False, right: bool = False) -> Column:
    """Return a column that shows a field unchanged."""

    def value(row: Row) -> str:
        found = row.get(name)
        return "" if found is None else shown(str(found))

    return Column(title or name.removesuffix("_id"), value, long, right)


def identity(name: str) -> Column:
    """Return a column of IDs."""
    return text(name)._replace(is_id=True)


def failed_of(failed: int | None, row: Row) -> int:
    """Return how many of the ``failed`` attempts of a session, job, or function count as failures.

    Attempts that a library stopped on purpose do not count.
    """
    return max(0, (failed or 0) - (row.get("stopped_by_libraries") or 0))


def short_id(whole: str) -> str:
    """Return the distinctive part of an ID, as the UI shows it and every command accepts it.

    Ray's task IDs begin with random bytes. Only the IDs of actors' creation tasks begin with ff's, so their
    last part is used.
    """
    if len(whole) <= 12:
        return whole
    return f"…{whole[-12:]}" if whole.startswith("ffffffff") else whole[:8]


def error_line(name: str, title: str) -> Column:
    """Return a column that shows long text, such as an error with its traceback, on one line."""
    return Column(title, lambda row: shown(headline(str(row.get(name) or ""))), long=True)


def state(name: str = "state") -> Column:
    """Return a column that shows a state in color."""
    return Column(name, lambda row: state_text(row.get(name)))


def state_text(value: Any) -> Text:
    """Return a state in green, red, or yellow."""
    found = str(value or "")
    style = "green" if found in _GOOD else "red" if found in _BAD else "yellow"
    return Text(shown(found), style=style)


def when(name: str, title: str) -> Column:
    """Return a column of times, in this machine's time zone."""
    return Column(title, lambda row: clock(row.get(name)))


def clock(time_ns: int | None) -> str:
    """Format a date and time to the second. The result is empty if the time is unknown."""
    if time_ns is None:
        return ""
    try:
        return f"{datetime.fromtimestamp(time_ns / 1e9):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):
        return f"{time_ns} ns"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 batch`` or ``1,200 batches``."""
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def print_rows(form: Format, rows: Iterable[Row], columns: Sequence[Column], wide: bool = False) -> int:
    """Print rows as JSON or CSV with all fields, or as a table of the columns that fit. Returns their number.

    ``wide``: the table has all columns and full IDs, however long its lines are.
    """
    found = list(rows)
    if form is Format.json:
        print_json(found)
    elif form is Format.csv:
        names = list(dict.fromkeys(name for row in found for name in row))
        _csv(names, ([row.get(name) for name in names] for row in found))
    else:
        console = stdout(_UNLIMITED) if wide else stdout()
        if not (wide or console.is_terminal or "COLUMNS" in os.environ):
            console = stdout(_PIPED)
        console.print(_table(found, columns, console.width, wide))
    return len(found)


def print_list(
    form: Format,
    rows: Iterable[Any],
    columns: Sequence[Column],
    wide: bool = False,
    *,
    client: Client | None = None,
    total: int | None = None,
) -> None:
    """Print the rows of a list, and a note if the limit has left out some.

    ``client``: used to look up the names of nodes for the column ``node`` of tables. ``total``: the number of
    all rows, for ``rows`` that do not know it.
    """
    named = _with_nodes(client, rows) if client is not None and form is Format.table else rows
    number = print_rows(form, named, columns, wide)
    if number == 0:
        say("nothing matches")
    total = getattr(rows, "total", total)
    if total is not None and total > number:
        say(f"{number:,} of {total:,}: use a larger --limit, or filters (--help) to narrow the list")


def _with_nodes(client: Client, rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows, each with the name of its node added as ``node``."""
    names = unique_titles(client.nodes())
    for row in rows:
        node_id = row.get("node_id")
        yield {**row, "node": names.get(node_id, short_id(node_id)) if node_id else None}


def print_grid(form: Format, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print the rows of an arbitrary query."""
    if form is Format.json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    elif form is Format.csv:
        _csv(columns, rows)
    else:
        console = stdout()
        if not console.is_terminal:
            console = stdout(_UNLIMITED)  # programs and files have no line width
        cells = [[_value_text(value) for value in row] for row in rows]
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in columns:
            table.add_column(Text(shown(name)), overflow="fold")
        for row in cells:
            table.add_row(*row)
        if stdout(_UNLIMITED).measure(table).maximum <= console.width:
            console.print(table)
            return
        for number, row in enumerate(cells, 1):  # one field per line
            console.print(Text(f"row {number:,}", style="dim"))
            fields = Table(box=None, pad_edge=False, show_header=False)
            fields.add_column(style="bold", no_wrap=True)
            fields.add_column(overflow="fold")
            for name, cell in zip(columns, row, strict=True):
                fields.add_row(Text(shown(name)), cell)
            console.print(fields)


def _value_text(value: Any) -> Text:
    return Text("NULL", style="dim") if value is None else Text(shown(str(value)))


def _csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    writer = csv.writer(sys.stdout)
    writer.writerow(map(_cell, names))
    for row in rows:
        writer.writerow(map(_cell, row))


def _cell(value: Any) -> Any:
    """Return a value for a spreadsheet. Text that looks like a formula is escaped, to prevent evaluation."""
    if isinstance(value, (dict, list)):
        value = json.dumps(value)
    if not isinstance(value, str):
        return value
    return ("'" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else "") + visible(value)


def _table(rows: Sequence[Row], columns: Sequence[Column], width: int, whole: bool) -> Table:
    """Return a table of as many columns as fit. ``columns`` are in order of importance."""
    kept: list[tuple[Column, list[str | Text], int, int]] = []
    left = width
    for column in columns:
        values = [column.value(row) for row in rows]
        if column.is_id and not whole:
            values = [short_id(str(value)) for value in values]
        if kept and rows and not any(len(value) for value in values):
            continue  # no row has a value in this column
        natural = max([len(column.title), *(len(value) for value in values)])
        least = min(natural, _NARROW) if column.long else natural
        needed = least + (_GAP if kept else 0)
        if kept and needed > left:
            continue
        left -= needed
        kept.append((column, values, least, min(natural, _WIDE) if column.long and not whole else natural))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for column, _, least, natural in kept:
        wide = min(natural, least + max(0, left))
        left -= wide - least
        align: Literal["left", "right"] = "right" if column.right else "left"
        table.add_column(column.title, justify=align, overflow="ellipsis", no_wrap=True, width=wide)
    for cells in zip(*(values for _, values, _, _ in kept), strict=True):
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))
    return table
