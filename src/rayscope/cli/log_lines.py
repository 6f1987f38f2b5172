"""Prints lines of log files, either those that exist or new ones as they are written."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from rayscope.cli.console import print_json, shown, visible
from rayscope.client import Client, RayscopeError

if TYPE_CHECKING:
    from rayscope.client.types import LogPage

#: Interval at which new lines are read, in seconds.
_PERIOD_S = 1.0
#: Interval at which the owner's state and files are checked, in seconds.
_OWNER_S = 5.0
#: After the writers have ended, stop after this many consecutive reads without a new line.
_LAST_LOOKS = 3
_ENDED = {"SUCCEEDED", "FAILED", "FINISHED", "STOPPED", "DEAD"}
_KINDS = {"actor_id": "actors", "job_id": "jobs", "worker_id": "workers"}


class Writer:
    """Prints lines. If there are several files, the lines of each follow a heading with its name.

    If ``titles`` is set, each line has its file's title as a prefix instead: (node, name) -> title.
    """

    def __init__(self, as_json: bool, titles: Mapping[tuple[str, str], str] | None = None) -> None:
        self._json = as_json
        self._titles = titles
        self._last: tuple[str, str] | None = None
        self._terminal = sys.stdout.isatty()

    def line(self, node_id: str, name: str, line: Mapping[str, Any]) -> None:
        """Print one line of a file."""
        if self._json:
            row = {"node_id": node_id, "name": name, **line}
            print_json(row)
            return
        name = shown(name)
        text = visible(line["text"]) if self._terminal else line["text"]
        if self._titles is not None:
            text = f"{shown(self._titles[node_id, name])}: {text}"
        elif (node_id, name) != self._last:
            if self._last is not None:
                sys.stdout.write("\n")
            sys.stdout.write(f"==> {name} (node {node_id[:12]}) <==\n")
            self._last = (node_id, name)
        sys.stdout.write(text + "\n")


class Tail:
    """A part of a file (in bytes), and how far it was printed. ``end`` None: up to the file's current end."""

    def __init__(self, node_id: str, name: str, begin: int = 0, end: int | None = None) -> None:
        self.node_id = node_id
        self.name = name
        self.begin = begin
        self.end = end
        self.offset: int | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        """The identity of this part of a file."""
        return self.node_id, self.name, self.begin

    def show(self, page: LogPage, writer: Writer, *, whole: bool) -> int:
        """Print a page, and return the number of lines. ``whole``: skip the last line if it is incomplete."""
        lines = [line for line in page["lines"] if not whole or line["offset"] < page["next"]]
        for line in lines:
            writer.line(self.node_id, self.name, line)
        self.offset = page["next"]
        return len(lines)

    def read(self, client: Client, writer: Writer) -> tuple[int, bool]:
        """Print new lines. Returns their number, and whether the file's node still lists it or has more."""
        offset = self.begin if self.offset is None else self.offset
        page = client.log_page(
            self.node_id, self.name, offset=offset, begin=self.begin, end=self.end, limit=5000
        )
        return self.show(page, writer, whole=True), page["live"] or page["more"]


def follow_tails(
    client: Client, tails: Sequence[Tail], writer: Writer, owner: Mapping[str, str] | None = None
) -> None:
    """Print new lines until the writers have ended, or until Ctrl-C.

    ``owner``: also follow files that this owner adds.
    """
    known = {tail.key: tail for tail in tails}
    checked_s, quiet, ended = time.monotonic(), 0, False
    try:
        while True:
            found = [tail.read(client, writer) for tail in known.values()]
            sys.stdout.flush()
            came = sum(lines for lines, _ in found)
            quiet = 0 if came else quiet + 1
            over = ended or (bool(found) and not any(live for _, live in found))
            if over and quiet >= _LAST_LOOKS:
                return
            if owner and not ended and time.monotonic() - checked_s >= _OWNER_S:
                checked_s, ended = time.monotonic(), _has_ended(client, owner)
                for part in client.logs(**owner, limit=1)["parts"]:  # type: ignore[arg-type]
                    tail = Tail(part["node_id"], part["name"], part["begin"], part["end"])
                    # The names of files contain the ID of the worker or job. If nodes share a folder, the
                    # same name is the same file, though it may be unknown at first on which node its writer
                    # runs.
                    same = next((other for other in known.values() if other.name == tail.name), tail)
                    known.setdefault(same.key, same).end = part["end"]
            time.sleep(_PERIOD_S)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _has_ended(client: Client, owner: Mapping[str, str]) -> bool:
    (field, identity) = next(iter(owner.items()))
    try:
        if field == "task_id":
            return client.task(identity)["attempts"][-1]["end_ns"] is not None
        return client.one(_KINDS[field], identity)["state"] in _ENDED
    except (RayscopeError, LookupError):
        return False  # the owner is not on record yet
