"""Sums over very many attempts, which several answers are made of: made once, and those of a whole session
kept beside its record. Those of a live session are made again and again before anybody asks.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import msgspec

from rayscope import __version__
from rayscope.store import query
from rayscope.store.errors import StoreError
from rayscope.store.schema import SCHEMA_VERSION
from rayscope.store.session_file import SessionFile

if TYPE_CHECKING:
    from rayscope.server.hub import Hub

log = logging.getLogger("rayscope.server")
_VERSION = f"{__version__}-{SCHEMA_VERSION}"

#: Sums over fewer attempts are made anew each time: they take a few hundredths of a second.
LARGE = 200_000
#: It is looked so often whether sums are to be made, s.
_TURN_S = 1.0
#: After sums of a live session that nobody asked for we rest so many times as long as they took: with two
#: threads at most a twentieth of a core goes into all of them.
REST = 40
#: Then those are made anew of whose session this part has come or was written anew, or that are so old, s
#: (and so many times as old as they took).
_CHANGED, _OLD_S, _OLD = 0.02, 300.0, 100
#: Those that were asked for since they were made: once they are so many times as old as they took.
_ASKED = 10
#: Of a session of which more than this part has, nobody is given the last ones.
_OUTDATED = 0.5
#: What is kept of live sessions, bytes.
MAX_BYTES = 64 << 20
#: The thread's priority (Linux): whoever writes or asks goes first.
_NICE = 5
#: How long we wait for its end, s.
_PATIENCE_S = 5.0
T = TypeVar("T")


@dataclass(frozen=True)
class Dated(Generic[T]):
    """Sums, and of a live session until when they tell; None: they are of what is on record now."""

    sums: T
    at_ns: int | None


class _State(NamedTuple):
    """Of a record: how often it was written to, its attempts, and rows of such that this server wrote."""

    writes: int
    attempts: int
    rows_written: int


def _state(file: SessionFile) -> _State:
    return _State(file.writes, query.stored_attempts(file), file.rows_written)


@dataclass(frozen=True)
class _Made:
    """Encoded sums of a whole session: made at ``at_ns`` in ``cost_s``, of a record in such a state."""

    at_ns: int
    state: _State
    cost_s: float
    body: bytes

    def changed(self, now: _State) -> float:
        """Which part of the attempts has come or was written anew since; of what another server wrote, only
        how many more there are is known.
        """
        rows = max(abs(now.attempts - self.state.attempts), now.rows_written - self.state.rows_written)
        return rows / max(1, self.state.attempts)

    def is_of(self, file: SessionFile, at_ns: int) -> bool:
        """Whether they are of what is on record now, at that time."""
        return (self.state.writes, self.at_ns) == (file.writes, at_ns)

    def is_due(self, now: _State, *, asked: bool) -> bool:
        """Whether to make them anew."""
        age_s = (time.time_ns() - self.at_ns) / 1e9
        if asked:
            return age_s >= _ASKED * self.cost_s
        if now.writes == self.state.writes:
            return False
        return self.changed(now) >= _CHANGED or age_s >= max(_OLD_S, _OLD * self.cost_s)


class KeptSums:
    """The sums that views ask for. Those of a filter or a range are shared as answers are (see ``answers``).

    Those of all of a large live session are the last ones that were made: by a thread of ours that rests most
    of the time, or, once they are asked for, as often as answers are. They say until when they tell. Those of
    a session that has ended, and of one that is not large, are exact.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._live: set[str] = set()
        self._makers: dict[str, Callable[[SessionFile, int], Any]] = {
            "paths": lambda file, last_ns: query.path_sums(file, {}, last_ns=last_ns),
            "logical": lambda file, last_ns: query.logical_rows(file, {}, last_ns=last_ns),
        }
        self._made: OrderedDict[tuple[str, str], _Made] = OrderedDict()
        self._asked: set[tuple[str, str]] = set()
        #: Sessions that are to be laid out, and those live ones that were, with no body.
        self._to_lay_out: set[str] = set()
        self._laid_out: dict[str, _Made] = {}
        #: What our thread could not make the last time.
        self._failed: set[tuple[str, str]] = set()
        self._making: dict[tuple[str, str], threading.Lock] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._rest_until = 0.0
        self._thread = threading.Thread(target=self._run, name="rayscope-sums", daemon=True)
        #: What our thread reads now.
        self._reading: SessionFile | None = None

    def start(self) -> None:
        """Begin to make sums before they are asked for."""
        self._thread.start()

    def stop(self) -> None:
        """End that, in the midst of it."""
        self._stopping.set()
        until = time.monotonic() + _PATIENCE_S
        while self._thread.is_alive() and time.monotonic() < until:
            if (file := self._reading) is not None:
                file.interrupt()
            self._thread.join(0.05)

    def follow(self, name: str, make: Callable[[SessionFile, int], Any]) -> None:
        """Make these sums, too, of whole live sessions: from the record and until when what runs has run."""
        self._makers[name] = make

    def paths(
        self, session: str, filters: Mapping[str, Any], baseline: Sequence[Mapping[str, Any]] = ()
    ) -> Dated[query.PathSums]:
        """See :func:`rayscope.store.query.path_sums`. Raises BadQuery and StoreError."""

        def make(file: SessionFile, last_ns: int) -> query.PathSums:
            return query.path_sums(file, filters, last_ns=last_ns, baseline=baseline)

        def part(file: SessionFile, whole: query.PathSums) -> tuple[query.PathSums | None, int | None]:
            return None if baseline else query.path_part(file, filters, whole), None

        return self.get(
            session, "paths", (query.given(filters), list(baseline)), make, query.PathSums, part=part
        )

    def logical(
        self, session: str, filters: Mapping[str, Any], expand: Sequence[str] = ()
    ) -> Dated[query.LogicalRows]:
        """See :func:`rayscope.store.query.logical_rows`. Raises BadQuery and StoreError."""

        def make(file: SessionFile, last_ns: int) -> query.LogicalRows:
            rows = query.logical_rows(file, filters, last_ns=last_ns, expand=expand)
            if (
                not expand
                and query.can_lay_out(filters)
                and (rows.is_estimated or not self._hub.is_live(session))
            ):
                self._want_laid_out(session)
            return rows

        def part(file: SessionFile, whole: query.LogicalRows) -> tuple[query.LogicalRows | None, int | None]:
            if expand:
                return None, None
            found, at_ns = self._from_laid_out(file, session, filters)
            return (found, at_ns) if found else (query.logical_part(file, filters, whole), None)

        return self.get(
            session, "logical", (query.given(filters), list(expand)), make, query.LogicalRows, part=part
        )

    def get(
        self,
        session: str,
        name: str,
        asked: tuple[Any, ...],
        make: Callable[[SessionFile, int], T],
        kind: type[T],
        *,
        shares: bool = False,
        part: Callable[[SessionFile, T], tuple[T | None, int | None]] | None = None,
    ) -> Dated[T]:
        """Sums of what is ``asked`` for (nothing true: all of a session, which is followed by this name).

        ``shares``: those of a session that is not large are kept as answers are, too. ``part``: what is asked
        for from the sums of all, or None if these cannot tell, and until when it tells if not until when they
        do; it is tried where they are at hand.
        """
        # Kept sums say until when they tell: no need to wait for what has just come.
        state: _State = self._hub.query(session, _state)
        is_large = state.attempts > LARGE
        is_live = self._hub.is_live(session)
        if is_live and is_large and not any(asked):
            made = self._last(session, name, state)
            return Dated(msgspec.json.decode(made.body, type=kind), made.at_ns)
        if not is_large and not shares:
            sums: T = self._hub.read(session, lambda file: make(file, self._hub.last_ns(session)))
            return Dated(sums, None)

        def answer(file: SessionFile) -> bytes:
            last_ns = self._hub.last_ns(session)
            known = self._at_hand(file, session, name, state, last_ns) if part and any(asked) else None
            if part and known is not None:
                found, at_ns = part(file, msgspec.json.decode(known.body, type=kind))
                if found is not None:
                    return _dated(at_ns or known.at_ns, msgspec.json.encode(found))
            if is_live or any(asked) or not is_large:
                return _dated(last_ns, msgspec.json.encode(make(file, last_ns)))
            with self._interruptible(file):
                return _dated(last_ns, _exact(file, name, last_ns, make).body)

        question = f"sums of {name} {msgspec.json.encode(asked).decode()}"
        made_ns, _, body = self._hub.answered(session, question, answer).partition(b"\n")
        return Dated(msgspec.json.decode(body, type=kind), int(made_ns) if is_live and is_large else None)

    def _at_hand(
        self, file: SessionFile, session: str, name: str, state: _State, last_ns: int
    ) -> _Made | None:
        """The sums of all of a session if they need not be made."""
        if not self._hub.is_live(session):
            known = _load(_place(file, name))
            return known if known is not None and known.is_of(file, last_ns) else None
        key = (session, name)
        known = self._known(key)
        if known is None or known.changed(state) > _OUTDATED:
            return None
        with self._lock:
            self._asked.add(key)
        return known

    # Of all of a live session.

    def _last(self, session: str, name: str, state: _State) -> _Made:
        """The last ones, or those that are made now if there are none, or too much has changed."""
        key = (session, name)
        known = self._known(key)
        if known is None or known.changed(state) > _OUTDATED:
            return self._make(key, known)
        with self._lock:
            self._asked.add(key)
        return known

    def _known(self, key: tuple[str, str]) -> _Made | None:
        """Those in memory, or those that stand beside the record."""
        with self._lock:
            found = self._made.get(key)
            if found is not None:
                self._made.move_to_end(key)
                return found
        session, name = key
        stored: _Made | None = self._hub.query(session, lambda file: _load(_place(file, name)))
        if stored is not None:
            self._keep(key, stored)
        return stored

    def _make(self, key: tuple[str, str], before: _Made | None) -> _Made:
        """Make them, unless another thread just does: then those, if they are others than ``before``."""
        session, name = key
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            known = self._known(key)
            if known is not None and known is not before:
                return known

            def make(file: SessionFile) -> _Made:
                with self._interruptible(file):
                    return _make(file, name, time.time_ns(), self._makers[name])

            made: _Made = self._hub.query(session, make)
            self._keep(key, made)
            return made

    @contextlib.contextmanager
    def _interruptible(self, file: SessionFile) -> Iterator[None]:
        """What our thread reads meanwhile, :meth:`stop` ends."""
        is_ours = threading.current_thread() is self._thread
        if is_ours:
            self._reading = file
        try:
            yield
        finally:
            if is_ours:
                self._reading = None

    def _keep(self, key: tuple[str, str], made: _Made) -> None:
        with self._lock:
            self._made[key] = made
            self._made.move_to_end(key)
            self._asked.discard(key)
            while sum(len(one.body) for one in self._made.values()) > MAX_BYTES:
                self._made.popitem(last=False)

    # Filters of the logical graph.

    def _from_laid_out(
        self, file: SessionFile, session: str, filters: Mapping[str, Any]
    ) -> tuple[query.LogicalRows | None, int]:
        """What was laid out tells of them, and until when it tells; None if it cannot."""
        if not self._hub.is_live(session):
            last_ns = self._hub.last_ns(session)
            return query.logical_laid_out(file, filters, last_ns), last_ns
        made = self._laid_out.get(session)
        if made is None or made.changed(_state(file)) > _OUTDATED:
            return None, 0
        since_ns, until_ns = filters.get("since_ns"), filters.get("until_ns")
        is_past = until_ns is not None and until_ns <= made.at_ns
        if not is_past and (since_ns is not None or until_ns is not None):
            return None, 0  # of what happens now, now is told
        found = query.logical_laid_out(file, filters, made.at_ns, is_live=True, is_past=is_past)
        if found is not None:
            self._want_laid_out(session)
        return found, made.at_ns

    def _want_laid_out(self, session: str) -> None:
        with self._lock:
            self._to_lay_out.add(session)

    def _lay_out(self, session: str) -> None:
        """See :func:`rayscope.store.query.lay_out`. What fails is not tried again until the session has lived
        on.
        """
        key, at_ns = (session, "laid out"), self._hub.last_ns(session)
        state: _State = self._hub.query(session, _state)
        if state.attempts <= LARGE or key in self._failed:
            return
        is_live, known = self._hub.is_live(session), self._laid_out.get(session)
        if is_live and known is not None and not known.is_due(state, asked=True):
            self._want_laid_out(session)  # later
            return

        def lay_out(file: SessionFile) -> None:
            if is_live or not query.is_laid_out(file, at_ns):
                began = time.monotonic()
                with self._interruptible(file):
                    query.lay_out(file, at_ns)
                self._laid_out[session] = _Made(at_ns, state, time.monotonic() - began, b"")

        self._failed.add(key)
        self._hub.query(session, lay_out)
        self._failed.discard(key)

    # Before anybody asks.

    def _run(self) -> None:
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        while not self._stopping.wait(_TURN_S):
            try:
                self.prepare()
            except Exception:  # who asks is told
                log.exception("sums could not be made")

    def prepare(self) -> None:
        """Make the sums of the sessions that have ended since the last call, and those of live ones that are
        due; and lay out attempts where that helps who asks for filters.
        """
        live = {name for name in self._hub.catalog.names() if self._hub.is_live(name)}
        ended, self._live = self._live - live, live
        for session in ended:
            with self._told(session):
                self._finish(session)
        with self._lock:
            wanted, self._to_lay_out = self._to_lay_out, set()
        for session in wanted:
            with self._told(session):
                self._lay_out(session)
        self._follow(live)

    @contextlib.contextmanager
    def _told(self, session: str) -> Iterator[None]:
        try:
            yield
        except (OSError, StoreError) as error:  # a session that retention has just dropped, for one
            log.info("the sums of %s: %s", session, error)

    def _finish(self, session: str) -> None:
        """Those of a session that has ended, exactly."""
        with self._lock:
            for key in [key for key in self._made if key[0] == session]:
                del self._made[key]
                self._asked.discard(key)
                self._making.pop(key, None)
        self._failed = {key for key in self._failed if key[0] != session}
        self._laid_out.pop(session, None)
        if self._hub.query(session, query.stored_attempts) > LARGE:
            for name, make in self._makers.items():
                self.get(session, name, (), make, msgspec.Raw)
            self._lay_out(session)

    def _follow(self, sessions: set[str]) -> None:
        """Those of live sessions that are due, the oldest first."""
        due: list[tuple[bool, int, tuple[str, str], _Made | None]] = []
        for session in sessions:
            with self._told(session):
                due += self._due(session)
        for urgent, _, key, known in sorted(due, key=lambda one: (not one[0], one[1])):
            if self._stopping.is_set() or (not urgent and time.monotonic() < self._rest_until):
                return
            began = time.monotonic()
            self._failed.add(key)
            with self._told(key[0]):
                self._make(key, known)
                self._failed.discard(key)
            with self._lock:
                self._asked.discard(key)
            self._rest_until = time.monotonic() + REST * (time.monotonic() - began)

    def _due(self, session: str) -> Iterator[tuple[bool, int, tuple[str, str], _Made | None]]:
        """Whether they are missing or were asked for, when the last ones were made, and what they are."""
        state: _State = self._hub.query(session, _state)
        if state.attempts <= LARGE:
            return
        for name in self._makers:
            key = (session, name)
            known = self._known(key)
            with self._lock:
                asked = key in self._asked
            if known is None or known.is_due(state, asked=asked):
                yield (
                    asked or (known is None and key not in self._failed),
                    known.at_ns if known else 0,
                    key,
                    known,
                )


def _dated(at_ns: int, body: bytes) -> bytes:
    return b"%d\n" % at_ns + body


def _place(file: SessionFile, name: str) -> Path:
    return file.path.with_name(f"{name}.sums")


def _load(path: Path) -> _Made | None:
    """What stands at ``path`` if this version made it, of a record of this layout."""
    with contextlib.suppress(OSError, ValueError):
        head, _, body = path.read_bytes().partition(b"\n")
        version, at_ns, writes, attempts, cost_s = head.decode().split(" ")
        if version == _VERSION:
            return _Made(int(at_ns), _State(int(writes), int(attempts), 0), float(cost_s), body)
    return None


def _store(path: Path, made: _Made) -> None:
    """Put it at ``path``; while that fails, it is not there."""
    head = f"{_VERSION} {made.at_ns} {made.state.writes} {made.state.attempts} {made.cost_s:.6f}\n"
    beside = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    try:
        beside.write_bytes(head.encode() + made.body)
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()


def _exact(file: SessionFile, name: str, at_ns: int, make: Callable[[SessionFile, int], Any]) -> _Made:
    """What stands beside the record if it was made of the same content, or else what is made now."""
    known = _load(_place(file, name))
    if known is not None and known.is_of(file, at_ns):
        return known
    return _make(file, name, at_ns, make)


def _make(file: SessionFile, name: str, at_ns: int, make: Callable[[SessionFile, int], Any]) -> _Made:
    """Make sums, and put them beside the record."""
    state, began = _state(file), time.monotonic()  # before: what comes meanwhile may not be in them
    body = msgspec.json.encode(make(file, at_ns))
    made = _Made(at_ns, state, time.monotonic() - began, body)
    _store(_place(file, name), made)
    return made
