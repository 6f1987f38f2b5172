"""What was made of a record beforehand: when, of which state of it, and where it stands beside the record."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rayscope import __version__
from rayscope.cluster.sessions import sql as sessions_sql
from rayscope.storage.schema import SCHEMA_VERSION
from rayscope.storage.session_file import SessionFile

_VERSION = f"{__version__}-{SCHEMA_VERSION}"
#: What nobody asks for of a live session is made anew once this part of its attempts has come or was written
#: anew, or once it is so old, s (and so many times as old as it took).
_CHANGED, OLD_S, _OLD = 0.02, 300.0, 100
#: What was asked for since it was made: once it is so many times as old as it took.
ASKED = 10


class State(NamedTuple):
    """Of a record: how often it was written to, its attempts, and rows of such that this server wrote."""

    writes: int
    attempts: int
    rows_written: int


def state_of(file: SessionFile) -> State:
    """That of a record now."""
    return State(file.writes, sessions_sql.stored_attempts(file), file.rows_written)


@dataclass(frozen=True)
class Made:
    """Encoded sums of a whole session: made at ``at_ns`` in ``cost_s``, of a record in such a state."""

    at_ns: int
    state: State
    cost_s: float
    body: bytes

    def changed(self, now: State) -> float:
        """Which part of the attempts has come or was written anew since; of what another server wrote, only
        how many more there are is known.
        """
        rows = max(abs(now.attempts - self.state.attempts), now.rows_written - self.state.rows_written)
        return rows / max(1, self.state.attempts)

    def is_of(self, file: SessionFile, at_ns: int) -> bool:
        """Whether they are of what is on record now, at that time."""
        return (self.state.writes, self.at_ns) == (file.writes, at_ns)

    def is_due(self, now: State, *, asked: bool) -> bool:
        """Whether to make them anew."""
        age_s = (time.time_ns() - self.at_ns) / 1e9
        if asked:
            return age_s >= ASKED * self.cost_s
        if now.writes == self.state.writes:
            return False
        return self.changed(now) >= _CHANGED or age_s >= max(OLD_S, _OLD * self.cost_s)


def place(file: SessionFile, name: str) -> Path:
    """Where sums of that name stand beside a record."""
    return file.path.with_name(f"{name}.sums")


def load(path: Path) -> Made | None:
    """What stands at ``path`` if this version made it, of a record of this layout."""
    with contextlib.suppress(OSError, ValueError):
        head, _, body = path.read_bytes().partition(b"\n")
        version, at_ns, writes, attempts, cost_s = head.decode().split(" ")
        if version == _VERSION:
            return Made(int(at_ns), State(int(writes), int(attempts), 0), float(cost_s), body)
    return None


def store(path: Path, made: Made) -> None:
    """Put it at ``path``; while that fails, it is not there."""
    head = f"{_VERSION} {made.at_ns} {made.state.writes} {made.state.attempts} {made.cost_s:.6f}\n"
    beside = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    try:
        beside.write_bytes(head.encode() + made.body)
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()


def exact(file: SessionFile, name: str, at_ns: int, make: Callable[[SessionFile, int], Any]) -> Made:
    """What stands beside the record if it was made of the same content, or else what is made now."""
    known = load(place(file, name))
    if known is not None and known.is_of(file, at_ns):
        return known
    return make_and_store(file, name, at_ns, make)


def make_and_store(file: SessionFile, name: str, at_ns: int, make: Callable[[SessionFile, int], Any]) -> Made:
    """Make sums, and put them beside the record."""
    state, began = state_of(file), time.monotonic()  # before: what comes meanwhile may not be in them
    body = msgspec.json.encode(make(file, at_ns))
    made = Made(at_ns, state, time.monotonic() - began, body)
    store(place(file, name), made)
    return made
