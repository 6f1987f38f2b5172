"""Takes batches in, makes them durable, merges and writes them: the one way into the store.

``submit`` (event batches over HTTP) returns once the batch is on disk in the spool; ``submit_records``
(snapshots, which can be read again) goes straight to memory. One writer thread merges both and flushes
about once a second while somebody reads, and every five seconds while nobody does. After a crash the spool
is replayed; merging is idempotent, so it does not matter how far the writer had come.
"""

from __future__ import annotations

import collections
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import duckdb

from rayscope.model import AgentReport, RecordBatch
from rayscope.model.long_texts import cut_long_texts
from rayscope.ray.events import batch as events_batch
from rayscope.ray.events.batch import Batch, Format, MalformedBatch, SessionEvents
from rayscope.storage import rows
from rayscope.storage.catalog import Catalog, Retention
from rayscope.storage.errors import SpoolFull, StoreError
from rayscope.storage.schema import SPAN_LOSSES
from rayscope.storage.session_file import SessionFile, explain
from rayscope.storage.session_writer import SessionWriter
from rayscope.storage.spool import Spool
from rayscope.storage.sql.entities import script_and_host
from rayscope.storage.sql.execution import COUNT_STATES, NOT_DRIVER
from rayscope.storage.sql.internal_failures import count_stopped

log = logging.getLogger("rayscope.storage")

#: How often the writer flushes while somebody reads, and while nobody does: each flush costs some 30 ms of
#: CPU however little it writes, which a machine that is busy with the user's tasks notices.
FLUSH_S = 1.0
UNREAD_FLUSH_S = 5.0
#: So long after a question somebody still counts as reading; the UI asks every few seconds.
_ATTENTION_S = 20.0
#: How long the first question after a quiet time may wait for what is not written yet.
_CATCH_UP_S = 1.0
#: The counts in ``about.json`` are made anew so often.
_COUNT_S = 2.0
#: A flush may take this share of the writer's time, so that a huge record is flushed less often.
_FLUSH_SHARE = 0.25
#: But what waits in memory grows with the pause.
_MAX_PAUSE_S = 4.0
#: Bytes of batches that may wait in memory; what comes beyond waits in the spool alone.
_MAX_QUEUED_BYTES = 32 << 20
#: Bytes of batches that are decoded together. The more, the less an event costs, but it takes memory.
_DECODE_BYTES = 8 << 20
#: Rows in memory at which decoding pauses for a flush.
_FLUSH_AT = 150_000
#: Or so many bytes of batches.
_FLUSH_AT_BYTES = 64 << 20
#: Ray's agents send the events of their own session.
_MAX_SESSIONS_OF_BATCH = 8
#: Sessions are written in turn, for so long at a time.
_FLUSH_TURN_S = 2.0
#: With more open records than this, those where nothing happens are closed sooner.
_MANY_OPEN, _IDLE_RELEASE_MANY_S = 16, 10.0
#: What cannot be read from the spool is tried again so often.
_TRY_AGAIN_S = 2.0
#: Rows in memory beyond which the writer stops reading while the store cannot be written.
_MAX_HELD = 300_000
_NODE_ID_DIGITS = 56
#: What a batch is no fault of, so that it is tried again.
_PASSING = (OSError, MemoryError, SpoolFull)
#: Nodes of one session whose way of sending is remembered.
MAX_AGENTS = 10_000
_RETENTION_S = 600.0
#: What comes so soon after a session's end was under way; what comes later shows that it lives.
_STRAGGLERS_NS = 10 * 10**9
#: How long a stop may go on merging.
_STOP_S = 15.0
_IDLE_RELEASE_S = 120.0


@dataclass
class _Removal:
    """A session to be deleted, and what came of it."""

    session: str
    is_gone: bool = False
    done: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class _Queued:
    """What waits to be merged: a batch in the spool, in memory too or not, or records without a batch."""

    name: str | None = None
    batch: Batch | None = None
    records: RecordBatch | None = None
    recording: str = "events"
    #: A session that has ended, and when.
    ended: tuple[str, int] | None = None
    removal: _Removal | None = None


class Recording(Protocol):
    """What a server needs of the way into a store; another store implements this and a query side."""

    def submit(self, body: bytes, form: Format = Format.JSON) -> None:
        """Make an event batch durable. Raises MalformedBatch or SpoolFull."""

    def submit_records(self, batch: RecordBatch, recording: str) -> None:
        """Take records that need not survive a crash, from source ``recording``."""

    def flush_for_reader(self) -> None:
        """Somebody reads now: what was submitted becomes visible soon."""

    def flush(self, timeout_s: float) -> bool:
        """Write all that was submitted before the call. Returns whether that was done in time."""


class Writer:
    """The spool, the writer thread and the sessions of one data directory. See :class:`Recording`."""

    def __init__(
        self,
        catalog: Catalog,
        spool: Spool,
        retention: Retention,
        *,
        in_use: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self.catalog = catalog
        self.spool = spool
        self._retention = retention
        self._in_use = in_use
        self._queue: collections.deque[_Queued] = collections.deque()
        #: Bytes of the batches that wait, and of those that are in memory as well.
        self._waiting_bytes = self._queued_bytes = 0
        #: The writer merges one just now.
        self._is_merging = False
        #: Batches that could not be read from the spool, and when that is tried again.
        self._set_back: list[_Queued] = []
        self._next_try = 0.0
        self._unread: StoreError | None = None
        self._reading = threading.Lock()
        #: Bytes of the batches that were merged since the last flush.
        self._merged_bytes = 0
        self._wake = threading.Condition()
        self._writers: dict[str, SessionWriter] = {}
        #: Sessions that were written since their counts were made, and when those may be made again.
        self._uncounted: set[str] = set()
        self._next_count: dict[str, float] = {}
        #: When each session was last written (monotonic s).
        self._flushed: dict[str, float] = {}
        #: Merged and perhaps not written yet: when, the batch's name, its sessions.
        self._unwritten: collections.deque[tuple[float, str, frozenset[str]]] = collections.deque()
        self._stopping = False
        #: When the writer ends, done or not (monotonic, s), once it was told to.
        self._stop_by: float | None = None
        #: How many items were put into the queue, taken from it, asked to be written, and are written.
        self._put = self._taken = self._asked = self._written = 0
        self._next_flush = self._next_retention = 0.0
        self._attended = float("-inf")
        #: Somebody began to read after a quiet time, and nobody has caught up yet.
        self.error: StoreError | None = None
        self.rejected = 0
        self.last_batch_ns = 0
        for name in spool.waiting():
            self._queue.append(_Queued(name))
            self._waiting_bytes += spool.size(name)
            self._put += 1
        self._thread = threading.Thread(target=self._run, name="rayscope-writer", daemon=True)

    def start(self) -> None:
        """Start the writer thread; it replays first what an earlier process left in the spool."""
        self._thread.start()

    def submit(self, body: bytes, form: Format = Format.JSON) -> None:
        """See :class:`Recording`. Invalid events among valid ones are set aside later, the rest is kept."""
        try:
            # One at a time: reading holds Python's lock anyway, and more readers only keep queries waiting.
            with self._reading:
                batch = events_batch.check(body, form)
            if len(batch.sessions) > _MAX_SESSIONS_OF_BATCH:
                raise MalformedBatch(
                    f"A batch names {len(batch.sessions)} sessions, but a node has only one."
                )
            self._begin_sessions(batch.sessions)
        except SpoolFull:
            raise
        except (MalformedBatch, StoreError) as error:
            raise self._reject(body, form, str(error)) from error
        except MemoryError as error:
            raise _no_memory("A batch cannot be read") from error
        except OSError as error:  # the folder of a new session
            raise SpoolFull(
                f"Could not create a session in {self.catalog.folder}: {error.strerror}.",
                "Free some space, or make the data directory writable. Recording resumes automatically.",
                "full",
            ) from error
        except Exception as error:  # what no decoder foresaw; sent again it would be the same
            log.exception("a batch cannot be read")
            raise self._reject(body, form, f"could not read it: {type(error).__name__}: {error}") from error
        name = self.spool.put(body, form)
        with self._wake:
            self.last_batch_ns = time.time_ns()
            self._put += 1
            self._waiting_bytes += len(body)
            fits = self._queued_bytes + len(body) <= _MAX_QUEUED_BYTES
            self._queued_bytes += len(body) * fits
            self._queue.append(_Queued(name, batch if fits else None))
            self._wake.notify()

    def _begin_sessions(self, sessions: Collection[str]) -> None:
        """Make sure that there is a place for each. Raises StoreError if none can be one."""
        problem: StoreError | None = None
        begun = not sessions
        for session in sessions:
            try:
                self.catalog.add(session)
                begun = True
            except SpoolFull:
                raise
            except StoreError as error:
                problem = error  # such events are set aside when the others are merged
        if problem is not None and not begun:
            raise problem

    def _reject(self, body: bytes, form: Format, why: str) -> MalformedBatch:
        self.rejected += 1
        self.spool.reject(body, why, form)
        return MalformedBatch(why)

    def submit_records(self, batch: RecordBatch, recording: str = "snapshot") -> None:
        """See :class:`Recording`."""
        self.catalog.add(batch.session)
        with self._wake:
            self._put += 1
            self._queue.append(_Queued(records=batch, recording=recording))
            self._wake.notify()

    def end_session(self, session: str, end_ns: int) -> None:
        """The cluster of a session is gone: what has no end ended with it. If more comes, it was not so."""
        with self._wake:
            self._put += 1
            self._queue.append(_Queued(ended=(session, end_ns)))
            self._wake.notify()

    def remove_session(self, session: str, timeout_s: float = 10.0) -> bool:
        """Delete a session with all that has come of it; whether that was done in time. What comes later
        begins a new record.
        """
        removal = _Removal(session)
        with self._wake:
            self._put += 1
            self._asked = self._put
            self._queue.append(_Queued(removal=removal))
            self._wake.notify()
        return removal.done.wait(timeout_s) and removal.is_gone

    def flush_for_reader(self) -> None:
        """See :class:`Recording`. The first call after a quiet time writes what waits, for 1 s at most."""
        now = time.monotonic()
        is_first = now - self._attended >= _ATTENTION_S
        self._attended = now
        if is_first:
            self.flush(_CATCH_UP_S)

    def flush(self, timeout_s: float = 10.0) -> bool:
        """See :class:`Recording`."""
        deadline = time.monotonic() + timeout_s
        with self._wake:
            mine = self._asked = max(self._asked, self._put)
            self._wake.notify_all()
            while self._written < mine:
                left = deadline - time.monotonic()
                if left <= 0 or not self._thread.is_alive():
                    return False
                self._wake.wait(min(left, 0.5))
        return True

    @property
    def pending_batches(self) -> int:
        """Batches that are durable but not in the store yet."""
        with self._wake:
            waiting = len(self._queue) + len(self._set_back) + len(self._unwritten)
            return waiting + self._is_merging

    def problem(self) -> StoreError | None:
        """Why what comes cannot be written, or is not even taken in; None if all is well."""
        return self.error or self.spool.problem()

    def behind_ns(self) -> int:
        """How old the oldest batch is that the store does not have yet; 0 when it has all."""
        with self._wake:
            oldest = self._unwritten[0][0] if self._unwritten else None
        return 0 if oldest is None else int((time.monotonic() - oldest) * 1e9)

    def stop(self, timeout_s: float = 30.0) -> None:
        """Flush, checkpoint and close. What cannot be written stays in the spool."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        self.catalog.close()

    # The writer thread.

    def _run(self) -> None:
        self._next_flush = time.monotonic() + FLUSH_S
        self._next_retention = time.monotonic() + 5.0
        over = False
        while not over:
            try:
                over = self._turn()
            except Exception as failure:  # this thread is the only way into the store: it must live on
                log.exception("the writer failed")
                self.error = failure if isinstance(failure, StoreError) else _unforeseen(failure)
                over = self._stopping
                time.sleep(1.0)
        for writer in self._writers.values():
            if writer.file is not None:
                writer.file.checkpoint()
            writer.close()
            self.catalog.save_about(writer.session)

    def _turn(self) -> bool:
        """Merge for a while, and flush if it is time or somebody waits for it. Returns whether to end."""
        with self._wake:
            now = time.monotonic()
            # While the store fails, whoever asks for a flush waits for the next try like all others.
            asked = self._written < self._asked and (self.error is None or now >= self._next_flush)
            can_read = self.error is None or self._held() < _MAX_HELD
            # What waits is decoded at once, before a flush: the more at a time, the less an event costs.
            has_many = self._waiting_bytes >= _DECODE_BYTES and can_read
            if not self._stopping and not asked and now < self._next_flush and not has_many:
                self._wake.wait(min(self._next_flush - now, 0.5))
                return False
            stopping = self._stopping
        # What cannot be merged before a stop waits in the spool for the next start.
        if stopping and self._stop_by is None:
            self._stop_by = time.monotonic() + _STOP_S
        self._try_again(time.monotonic())
        self._drain_queue(self._stop_by or time.monotonic() + (1.0 if asked else 0.2))
        now = time.monotonic()
        full = self._is_full()
        if now >= self._next_flush or stopping or asked or full:
            taken = self._taken
            ok = self._flush(everything=stopping or asked)
            took = time.monotonic() - now
            pause = min(_MAX_PAUSE_S, took * (1 / _FLUSH_SHARE - 1)) if self.error is None else 2.0
            ended = time.monotonic()
            usual = FLUSH_S if ended - self._attended < _ATTENTION_S else UNREAD_FLUSH_S
            self._next_flush = ended + max(usual, pause)
            if (ok and asked) or stopping:
                with self._wake:
                    self._written = taken
                    self._wake.notify_all()
        if self.catalog.uncounted and not stopping:
            self._count_again()
        if not stopping and now >= self._next_retention:
            self._next_retention = now + _RETENTION_S
            self._retain()
        # A flush may hold less than all that waits.
        is_done = not self._queue or self.error is not None or time.monotonic() >= (self._stop_by or 0.0)
        return stopping and is_done

    def _held(self) -> int:
        return sum(writer.pending for writer in self._writers.values())

    def _is_full(self) -> bool:
        """Whether so much is merged that it has to be written first. While that fails, more is held."""
        return self.error is None and (self._held() >= _FLUSH_AT or self._merged_bytes >= _FLUSH_AT_BYTES)

    def _drain_queue(self, until: float) -> None:
        while self._queue and time.monotonic() < until:
            if self._held() >= _MAX_HELD or self._is_full():
                return
            items = self._take()
            try:
                if items[0].name is None:
                    self._merge_item(items[0])
                else:
                    self._merge_batches(items)
            finally:
                self._is_merging = False

    def _take(self) -> list[_Queued]:
        """The next in the queue: one item, or as many batches as are decoded together."""
        items: list[_Queued] = []
        size = 0
        with self._wake:
            self._is_merging = True
            while self._queue and size < _DECODE_BYTES and (not items or self._queue[0].name is not None):
                item = self._queue.popleft()
                items.append(item)
                if item.name is None:
                    break
                size += self.spool.size(item.name)
                self._queued_bytes -= len(item.batch.body) if item.batch is not None else 0
            self._taken += len(items)
            self._waiting_bytes -= size
        return items

    def _merge_item(self, item: _Queued) -> None:
        now = time.monotonic()
        if item.ended is not None:
            self._end(*item.ended, now)
        elif item.removal is not None:
            self._remove(item.removal)
        elif item.records is not None:
            try:
                self._merge(item.records, item.recording, now)
            except SpoolFull as error:
                self._set_back_item(item, error)
            except StoreError as error:
                log.warning("%s", error.message)

    def _set_back_item(self, item: _Queued, error: Exception) -> None:
        """Try again later what cannot be merged just now. The others go on."""
        log.warning("batch %s is tried again later: %s", item.name, error)
        self._unread = _passing(error)
        with self._wake:
            self._set_back.append(_Queued(item.name, records=item.records, recording=item.recording))
            self._taken -= 1

    def _merge_batches(self, items: Sequence[_Queued]) -> None:
        """Decode batches, those of a session together, and merge them. To do so again does no harm."""
        now = time.monotonic()
        bodies: dict[tuple[str, Format], list[bytes]] = {}
        read: list[tuple[_Queued, frozenset[str]]] = []
        for item in items:
            sessions: set[str] = set()
            try:
                batch = item.batch or self._read_spooled(item.name or "")
                if batch is not None:
                    for session, body in self._parts_of(batch).items():
                        bodies.setdefault((session, batch.format), []).append(body)
                        sessions.add(session)
            except _PASSING as error:
                self._set_back_item(item, error)
            else:
                read.append((item, frozenset(sessions)))
        try:
            for (session, form), of_session in bodies.items():
                for number, events in enumerate(self._decode(of_session, form, session)):
                    self._merge(events.records, "events", now, events, 0 if number else len(of_session))
                    self._set_aside(events.invalid, form)
                self._merged_bytes += sum(map(len, of_session))
        except _PASSING as error:
            for item, _ in read:
                self._set_back_item(item, error)
            return
        self._unwritten.extend((now, item.name or "", sessions) for item, sessions in read)

    def _parts_of(self, batch: Batch) -> dict[str, bytes]:
        """A body for each session of a batch that can be recorded; what is of no session is set aside."""
        parts = events_batch.split(batch)
        for session, body in list(parts.items()):
            try:
                self.catalog.add(session)
            except SpoolFull:
                raise
            except StoreError as error:
                self._reject(body, batch.format, error.message)
                del parts[session]
        if batch.format is Format.JSON:
            for session, body in parts.items():
                self._note_json(session, events_batch.node_id(body, batch.format))
        return parts

    def _decode(self, bodies: Sequence[bytes], form: Format, session: str) -> list[SessionEvents]:
        """What bodies of one session tell. What no decoder foresaw costs the event that it is in."""
        try:
            return [events_batch.decode(bodies, form, session)]
        except _PASSING:
            raise
        except Exception as error:
            pieces = bodies if len(bodies) > 1 else events_batch.split_events(bodies[0], form)
            if len(pieces) > 1:
                half = len(pieces) // 2
                return [
                    *self._decode(pieces[:half], form, session),
                    *self._decode(pieces[half:], form, session),
                ]
            log.exception("an event cannot be decoded")
            self._reject(bodies[0], form, f"could not be decoded: {error!r}; see the server's log")
            return []

    def _try_again(self, now: float) -> None:
        """Queue what could not be read a while ago."""
        if self._set_back and now >= self._next_try:
            self._next_try = now + _TRY_AGAIN_S
            with self._wake:
                self._queue.extend(self._set_back)
                self._waiting_bytes += sum(self.spool.size(item.name or "") for item in self._set_back)
                self._set_back = []
            self._unread = None

    def _note_json(self, session: str, node_id: str | None) -> None:
        """A node that sends Ray's JSON and whose agent perhaps never spoke for itself."""
        try:
            about = self.catalog.about(session)
        except StoreError:
            return
        if node_id is None:
            about.nameless_json = True
        elif (
            len(node_id) == _NODE_ID_DIGITS and node_id not in about.agents and len(about.agents) < MAX_AGENTS
        ):
            about.agents[node_id] = AgentReport(session, node_id, "json", time.time_ns())
            self.catalog.save_agents(session)

    def _set_aside(self, invalid: list[bytes], form: Format) -> None:
        if invalid:
            self.spool.reject(events_batch.join(invalid, form), "events that could not be read", form)

    def _read_spooled(self, name: str) -> Batch | None:
        form = self.spool.form(name)
        body = b""
        try:
            body = self.spool.get(name)
            return events_batch.check(body, form)
        except FileNotFoundError as error:
            log.warning("spooled batch %s is gone: %s", name, error)
        except _PASSING:
            raise
        except Exception as error:  # damaged since it was written, or written by another version of ours
            log.warning("spooled batch %s cannot be read again: %s", name, error)
            self._reject(body, form, str(error))
        return None

    def _merge(
        self,
        batch: RecordBatch,
        recording: str,
        now: float,
        events: SessionEvents | None = None,
        bodies: int = 0,
    ) -> None:
        """Hand records to the writer of their session, and with them the columns of so many ``bodies``."""
        about = self.catalog.add(batch.session)
        writer = self._writer_of(batch.session)
        if about.ended_ns is not None and time.time_ns() - about.ended_ns > _STRAGGLERS_NS:
            about.ended_ns = None
            writer.end(None, now)
        cut_long_texts(batch)
        columns = (events.attempts, events.spans) if events else ([], [])
        writer.add(batch, now, *(rows.cut_long_texts(tables, batch) for tables in columns))
        about.last_ns = time.time_ns()
        if recording not in about.recording:
            about.recording = sorted({*about.recording, recording})
        about.events += batch.events
        about.batches += bodies
        for what, count in batch.unknown.items():
            if what in about.unknown or len(about.unknown) < 1000:
                about.unknown[what] = about.unknown.get(what, 0) + count

    def _writer_of(self, session: str) -> SessionWriter:
        writer = self._writers.get(session)
        if writer is None:
            writer = self._writers[session] = SessionWriter(
                session, lambda: self.catalog.open_for_writing(session)
            )
        return writer

    def _end(self, session: str, end_ns: int, now: float) -> None:
        try:
            about = self.catalog.about(session)
        except StoreError:  # removed meanwhile
            return
        if about.ended_ns is None:
            about.ended_ns = end_ns
            self._writer_of(session).end(end_ns, now)

    def _remove(self, removal: _Removal) -> None:
        session = removal.session
        with contextlib.suppress(StoreError):  # removed meanwhile
            removal.is_gone = self.catalog.remove(session, pinned_too=True)
        if removal.is_gone:
            self._writers.pop(session, None)
            self._uncounted.discard(session)
            self._next_count.pop(session, None)
            self._flushed.pop(session, None)
        removal.done.set()

    def _flush(self, *, everything: bool) -> bool:
        error: StoreError | None = None
        now = time.monotonic()
        complete = True
        written: set[bool] = set()  # whether one that is open was, and one that is new
        # Open records first, and of these the one that has waited longest: a flood of new sessions, each of
        # which has its file to make, holds up none that is recorded already.
        for session, writer in sorted(
            self._writers.items(), key=lambda item: (item[1].file is None, self._flushed.get(item[0], 0.0))
        ):
            is_new = writer.file is None
            is_due = is_new or writer.oldest_pending() is not None or writer.is_due()
            if is_due and is_new in written and time.monotonic() - now > _FLUSH_TURN_S and not self._stopping:
                complete = False
                continue
            if is_due:
                written.add(is_new)
                self._flushed[session] = now
            try:
                if is_due:
                    writer.flush(now, everything=everything)
                    self._uncounted.add(session)
                if session in self._uncounted and (everything or now >= self._next_count.get(session, 0)):
                    self._count(session, writer.file)
                    if writer.file is not None:
                        # Views count what has not ended until then.
                        writer.file.put_meta({"last_ns": self.catalog.about(session).last_ns})
                    self._uncounted.discard(session)
                    self._next_count[session] = now + _COUNT_S
            except Exception as failure:
                # Whatever it is, the writer thread lives on and tries again; the spool keeps the batches.
                problem = error = self._problem(session, failure)
                log.warning("session %s: %s %s", session, problem.message, problem.remedy)
                # A failed write can leave DuckDB's connection unusable; a fresh one replays its log.
                writer.close()
                self.catalog.reopen(session)
                if problem.code == "corrupt":
                    self.catalog.set_aside(session)
        self.error = error or self._unread
        self._merged_bytes = 0
        self._drop_spooled()
        if error is None:
            self._release_idle()
        complete = complete and not (everything and any(writer.pending for writer in self._writers.values()))
        return error is None and complete

    def _problem(self, session: str, failure: Exception) -> StoreError:
        if isinstance(failure, StoreError):
            return failure
        if isinstance(failure, MemoryError):  # also Arrow's
            return _no_memory(f"{session} cannot be written")
        if isinstance(failure, duckdb.Error):
            return explain(self.catalog.path(session), failure)
        log.error("session %s cannot be written", session, exc_info=failure)
        return StoreError(
            f"Could not write {session}: {type(failure).__name__}: {failure}",
            "This is a bug in Rayscope: please report it with the server's log. The events stay in the "
            "spool.",
            "internal",
        )

    def _drop_spooled(self) -> None:
        oldest = {
            session: since
            for session, writer in self._writers.items()
            if (since := writer.oldest_pending()) is not None
        }
        # A session that cannot be written keeps its own batches in the spool, not those of the others.
        kept: collections.deque[tuple[float, str, frozenset[str]]] = collections.deque()
        for entry in self._unwritten:
            since, name, sessions = entry
            if all(since < oldest.get(session, float("inf")) for session in sessions):
                self.spool.remove(name)
            else:
                kept.append(entry)
        with self._wake:
            self._unwritten = kept

    def _release_idle(self) -> None:
        """Close the files of sessions that ended, so that only live ones hold memory."""
        limit_s = _IDLE_RELEASE_S if len(self._writers) <= _MANY_OPEN else _IDLE_RELEASE_MANY_S
        for session, writer in list(self._writers.items()):
            idle_s = (time.time_ns() - self.catalog.about(session).last_ns) / 1e9
            if idle_s > limit_s and writer.oldest_pending() is None:
                if writer.file is not None:
                    writer.file.checkpoint()
                del self._writers[session]
                self._next_count.pop(session, None)
                self._flushed.pop(session, None)
                self.catalog.save_about(session)
                self.catalog.release(session)

    def _count_again(self) -> None:
        """Count one session whose counts are not known: its ``about.json`` was damaged, for instance."""
        session = self.catalog.uncounted.pop()
        try:
            if self.catalog.path(session).exists():
                with self.catalog.reading(session) as file:
                    self._count(session, file)
        except (StoreError, duckdb.Error) as error:
            log.warning("session %s cannot be counted: %s", session, error)

    def _count(self, session: str, file: SessionFile | None) -> None:
        if file is None:
            return
        about = self.catalog.about(session)
        with file.reader() as cursor:
            states = cursor.execute(COUNT_STATES).fetchall()
            counts = cursor.execute(
                f"SELECT (SELECT count(*) FROM attempts WHERE attempt = 0 AND {NOT_DRIVER}), "
                "(SELECT count(*) FROM actors WHERE NOT is_internal), "
                "(SELECT count(*) FROM node_rows), (SELECT count(*) FROM jobs), "
                "(SELECT coalesce(sum(count), 0)::BIGINT FROM drops WHERE NOT list_contains(?, reason))",
                [list(SPAN_LOSSES)],
            ).fetchone()
            about.script, about.host = script_and_host(cursor)
            about.states = dict(states)
            about.internals_stopped = count_stopped(cursor) if "FAILED" in about.states else 0
        about.attempts = sum(about.states.values())
        if counts:
            about.tasks, about.actors, about.nodes, about.jobs, about.dropped_total = counts
        self.catalog.save_about(session)

    def _retain(self) -> None:
        for session in self.catalog.apply_retention(self._retention, time.time_ns(), keep=self._in_use()):
            log.info("dropped session %s (retention)", session)


def _passing(error: Exception) -> StoreError:
    if isinstance(error, StoreError):
        return error
    if isinstance(error, MemoryError):
        return _no_memory("A batch cannot be merged")
    return StoreError(
        f"Could not read the spool: {error}", "Check the disk. Rayscope keeps retrying.", "spool"
    )


def _no_memory(what: str) -> SpoolFull:
    return SpoolFull(
        f"{what}: there is not enough memory.",
        "Give the server more memory, or free some. Rayscope keeps retrying, and no data is lost.",
        "memory",
    )


def _unforeseen(failure: Exception) -> StoreError:
    return StoreError(
        f"The writer failed: {type(failure).__name__}: {failure}",
        "Rayscope keeps retrying, and the events stay in the spool. See the server's log.",
        "internal",
    )
