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
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from rayscope.cluster.sessions import sql as sessions_sql
from rayscope.server.laid_out import LaidOut
from rayscope.server.made_sums import Made, State, exact, load, make_and_store, place, state_of
from rayscope.storage.errors import StoreError
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql import pages
from rayscope.views.flame import sql as flame_sql
from rayscope.views.logical import laid_out_sql
from rayscope.views.logical import sql as logical_sql

if TYPE_CHECKING:
    from rayscope.server.services import Hub

log = logging.getLogger("rayscope.server")

#: Sums over fewer attempts are made anew each time: they take a few hundredths of a second.
LARGE = 200_000
#: It is looked so often whether sums are to be made, s.
_TURN_S = 1.0
#: After sums of a live session that nobody asked for we rest so many times as long as they took: with two
#: threads at most a twentieth of a core goes into all of them.
REST = 40
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
            "paths": lambda file, last_ns: flame_sql.path_sums(file, {}, last_ns=last_ns),
            "logical": lambda file, last_ns: logical_sql.logical_rows(file, {}, last_ns=last_ns),
        }
        self._made: OrderedDict[tuple[str, str], Made] = OrderedDict()
        self._asked: set[tuple[str, str]] = set()
        self.laid_out = LaidOut(hub, self._interruptible)
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
    ) -> Dated[flame_sql.PathSums]:
        """See :func:`rayscope.store.query.path_sums`. Raises BadQuery and StoreError."""

        def make(file: SessionFile, last_ns: int) -> flame_sql.PathSums:
            return flame_sql.path_sums(file, filters, last_ns=last_ns, baseline=baseline)

        def part(
            file: SessionFile, whole: flame_sql.PathSums
        ) -> tuple[flame_sql.PathSums | None, int | None]:
            return None if baseline else flame_sql.path_part(file, filters, whole), None

        return self.get(
            session, "paths", (pages.given(filters), list(baseline)), make, flame_sql.PathSums, part=part
        )

    def logical(
        self, session: str, filters: Mapping[str, Any], expand: Sequence[str] = ()
    ) -> Dated[logical_sql.LogicalRows]:
        """See :func:`rayscope.store.query.logical_rows`. Raises BadQuery and StoreError."""

        def make(file: SessionFile, last_ns: int) -> logical_sql.LogicalRows:
            rows = logical_sql.logical_rows(file, filters, last_ns=last_ns, expand=expand)
            if (
                not expand
                and laid_out_sql.can_lay_out(filters)
                and (rows.is_estimated or not self._hub.is_live(session))
            ):
                self.laid_out.want(session)
            return rows

        def part(
            file: SessionFile, whole: logical_sql.LogicalRows
        ) -> tuple[logical_sql.LogicalRows | None, int | None]:
            if expand:
                return None, None
            found, at_ns = self.laid_out.told(file, session, filters)
            return (found, at_ns) if found else (logical_sql.logical_part(file, filters, whole), None)

        return self.get(
            session, "logical", (pages.given(filters), list(expand)), make, logical_sql.LogicalRows, part=part
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
        state: State = self._hub.query(session, state_of)
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
                return _dated(last_ns, exact(file, name, last_ns, make).body)

        # Whoever wants all of it asks the same, in whatever words: it is made once.
        wanted = msgspec.json.encode(asked if any(asked) else ()).decode()
        question = f"sums of {name} {wanted}"
        made_ns, _, body = self._hub.answered(session, question, answer).partition(b"\n")
        return Dated(msgspec.json.decode(body, type=kind), int(made_ns) if is_live and is_large else None)

    def _at_hand(self, file: SessionFile, session: str, name: str, state: State, last_ns: int) -> Made | None:
        """The sums of all of a session if they need not be made."""
        if not self._hub.is_live(session):
            known = load(place(file, name))
            return known if known is not None and known.is_of(file, last_ns) else None
        key = (session, name)
        known = self._known(key)
        if known is None or known.changed(state) > _OUTDATED:
            return None
        with self._lock:
            self._asked.add(key)
        return known

    # Of all of a live session.

    def _last(self, session: str, name: str, state: State) -> Made:
        """The last ones, or those that are made now if there are none, or too much has changed."""
        key = (session, name)
        known = self._known(key)
        if known is None or known.changed(state) > _OUTDATED:
            return self._make(key, known)
        with self._lock:
            self._asked.add(key)
        return known

    def _known(self, key: tuple[str, str]) -> Made | None:
        """Those in memory, or those that stand beside the record."""
        with self._lock:
            found = self._made.get(key)
            if found is not None:
                self._made.move_to_end(key)
                return found
        session, name = key
        stored: Made | None = self._hub.query(session, lambda file: load(place(file, name)))
        if stored is not None:
            self._keep(key, stored)
        return stored

    def _make(self, key: tuple[str, str], before: Made | None) -> Made:
        """Make them, unless another thread just does: then those, if they are others than ``before``."""
        session, name = key
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            known = self._known(key)
            if known is not None and known is not before:
                return known

            def make(file: SessionFile) -> Made:
                with self._interruptible(file):
                    return make_and_store(file, name, time.time_ns(), self._makers[name])

            made: Made = self._hub.query(session, make)
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

    def _keep(self, key: tuple[str, str], made: Made) -> None:
        with self._lock:
            self._made[key] = made
            self._made.move_to_end(key)
            self._asked.discard(key)
            while sum(len(one.body) for one in self._made.values()) > MAX_BYTES:
                self._made.popitem(last=False)

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
        for session in self.laid_out.wanted():
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
        self.laid_out.forget(session)
        if self._hub.query(session, sessions_sql.stored_attempts) > LARGE:
            for name, make in self._makers.items():
                self.get(session, name, (), make, msgspec.Raw)
            self._lay_out(session)

    def _lay_out(self, session: str) -> None:
        """Lay it out if it is large."""
        state: State = self._hub.query(session, state_of)
        if state.attempts > LARGE and self.laid_out.make(session, state) and not self._hub.is_live(session):
            # What is laid out is looked at where the sums of all are at hand.
            self.get(session, "logical", (), self._makers["logical"], msgspec.Raw)

    def _follow(self, sessions: set[str]) -> None:
        """Those of live sessions that are due, the oldest first."""
        due: list[tuple[bool, int, tuple[str, str], Made | None]] = []
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

    def _due(self, session: str) -> Iterator[tuple[bool, int, tuple[str, str], Made | None]]:
        """Whether they are missing or were asked for, when the last ones were made, and what they are."""
        state: State = self._hub.query(session, state_of)
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
