"""Takes batches in, makes them durable, merges and writes them: the one way into the store.

``submit`` (event batches over HTTP) returns once the batch is on disk in the spool; ``submit_records``
(snapshots, which can be read again) goes straight to memory. One writer thread merges both and flushes
about once a second while somebody reads, and every five seconds while nobody does. After a crash the spool
is replayed; merging is idempotent, so it does not matter how far the writer had come.
"""

from __future__ import annotations

import collections
import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

import duckdb

from rayscope.model import AgentReport, RecordBatch
from rayscope.sources import event_batch
from rayscope.sources.event_batch import Format, MalformedBatch, ParsedBatch
from rayscope.store.catalog import Catalog, Retention
from rayscope.store.errors import SpoolFull, StoreError
from rayscope.store.flow_sql import NOT_DRIVER
from rayscope.store.schema import SPAN_LOSSES
from rayscope.store.session_file import explain
from rayscope.store.session_writer import SessionWriter
from rayscope.store.spool import Spool

log = logging.getLogger("rayscope.store")

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
#: Decoded events that may wait in memory; what comes beyond waits in the spool alone.
_MAX_QUEUED_EVENTS = 30_000
#: Fields that we do not know are looked for in so many batches, and then in one of so many.
_LOOK_FIRST = 200
_LOOK_EVERY = 16
#: Changed attempts in memory at which merging pauses for a flush.
_FLUSH_AT = 100_000
#: Changed attempts in memory beyond which the writer stops reading while the store cannot be written.
_MAX_HELD = 300_000
_NODE_ID_DIGITS = 56
#: Nodes of one session whose way of sending is remembered.
MAX_AGENTS = 10_000
_RETENTION_S = 600.0
#: How long a stop may go on merging.
_STOP_S = 15.0
_IDLE_RELEASE_S = 120.0


@dataclass(frozen=True)
class _Queued:
    """What waits to be merged: a batch in the spool, parsed already or not, or records without a batch."""

    name: str | None
    parsed: ParsedBatch | None = None
    records: RecordBatch | None = None
    recording: str = "events"


class Recording(Protocol):
    """What a server needs of the way into a store; another store implements this and a query side."""

    def submit(self, body: bytes, form: Format = Format.JSON) -> None:
        """Make an event batch durable. Raises MalformedBatch or SpoolFull."""

    def submit_records(self, batch: RecordBatch, recording: str) -> None:
        """Take records that need not survive a crash, from source ``recording``."""

    def attend(self) -> None:
        """Somebody reads now: what was submitted becomes visible soon."""

    def flush(self, timeout_s: float) -> bool:
        """Write all that was submitted before the call. Returns whether that was done in time."""


class Recorder:
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
        self._queued_events = 0
        self._reading = threading.Lock()
        self._converted = 0
        self._wake = threading.Condition()
        self._writers: dict[str, SessionWriter] = {}
        #: Sessions that were written since their counts were made, and when those may be made again.
        self._uncounted: set[str] = set()
        self._next_count: dict[str, float] = {}
        #: Merged and perhaps not written yet: when, the batch's name, its sessions.
        self._unwritten: collections.deque[tuple[float, str, frozenset[str]]] = collections.deque()
        self._stopping = False
        #: How many items were put into the queue, taken from it, asked to be written, and are written.
        self._put = self._taken = self._asked = self._written = 0
        self._next_flush = self._next_retention = 0.0
        self._attended = float("-inf")
        #: Somebody began to read after a quiet time, and nobody has caught up yet.
        self._is_behind = False
        self.error: StoreError | None = None
        self.rejected = 0
        self.last_batch_ns = 0
        for name in spool.waiting():
            self._queue.append(_Queued(name))
            self._put += 1
        self._thread = threading.Thread(target=self._run, name="rayscope-writer", daemon=True)

    def start(self) -> None:
        """Start the writer thread; it replays first what an earlier process left in the spool."""
        self._thread.start()

    def submit(self, body: bytes, form: Format = Format.JSON) -> None:
        """See :class:`Recording`. Invalid events among valid ones are set aside, the rest is kept."""
        try:
            # One at a time: reading holds Python's lock anyway, and more readers only keep queries waiting.
            with self._reading:
                parsed = event_batch.parse(body, form)
            for session in parsed.sessions:
                self.catalog.add(session)
        except (MalformedBatch, StoreError) as error:
            self.rejected += 1
            self.spool.reject(body, str(error), form)
            if isinstance(error, StoreError):
                raise MalformedBatch(error.message) from error
            raise
        except OSError as error:  # the folder of a new session
            raise SpoolFull(
                f"A new session cannot be begun in {self.catalog.folder}: {error.strerror}.",
                "Free some space or make the data directory writable; recording resumes by itself.",
                "full",
            ) from error
        self._set_aside(parsed.invalid, form)
        name = self.spool.put(body, form)
        with self._wake:
            self.last_batch_ns = time.time_ns()
            self._put += 1
            if self._queued_events > _MAX_QUEUED_EVENTS:
                self._queue.append(_Queued(name))
            else:
                self._queued_events += len(parsed)
                self._queue.append(_Queued(name, parsed))
            self._wake.notify()

    def submit_records(self, batch: RecordBatch, recording: str = "snapshot") -> None:
        """See :class:`Recording`."""
        self.catalog.add(batch.session)
        with self._wake:
            self._put += 1
            self._queue.append(_Queued(None, records=batch, recording=recording))
            self._wake.notify()

    def attend(self) -> None:
        """See :class:`Recording`. The first call after a quiet time writes what waits, for 1 s at most."""
        self.note_reader()
        self.catch_up()

    def note_reader(self) -> None:
        """Somebody reads now, but need not see what has just come: the writer does not rest long any more."""
        now = time.monotonic()
        self._is_behind |= now - self._attended >= _ATTENTION_S
        self._attended = now

    def catch_up(self) -> None:
        """The first call since somebody began to read writes what waits, for 1 s at most."""
        if self._is_behind:
            self._is_behind = False
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
        return len(self._queue) + len(self._unwritten)

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
            if not self._stopping and not asked and now < self._next_flush and not (self._queue and can_read):
                self._wake.wait(min(self._next_flush - now, 0.5))
            stopping = self._stopping
        # What cannot be merged before a stop waits in the spool for the next start.
        self._drain_queue(time.monotonic() + (_STOP_S if stopping else 1.0 if asked else 0.2))
        now = time.monotonic()
        full = self.error is None and self._held() >= _FLUSH_AT
        if now >= self._next_flush or stopping or asked or full:
            taken = self._taken
            ok = self._flush(everything=stopping or asked or full)
            took = time.monotonic() - now
            pause = min(_MAX_PAUSE_S, took * (1 / _FLUSH_SHARE - 1)) if ok else 2.0
            ended = time.monotonic()
            usual = FLUSH_S if ended - self._attended < _ATTENTION_S else UNREAD_FLUSH_S
            self._next_flush = ended + max(usual, pause)
            if (ok and asked) or stopping:
                with self._wake:
                    self._written = taken
                    self._wake.notify_all()
        if not stopping and now >= self._next_retention:
            self._next_retention = now + _RETENTION_S
            self._retain()
        return stopping

    def _held(self) -> int:
        return sum(writer.pending for writer in self._writers.values())

    def _drain_queue(self, until: float) -> None:
        while self._queue and time.monotonic() < until:
            held = self._held()
            if held >= _MAX_HELD or (held >= _FLUSH_AT and self.error is None):
                return
            with self._wake:
                item = self._queue.popleft()
                self._taken += 1
                if item.parsed is not None:
                    self._queued_events -= len(item.parsed)
            now = time.monotonic()
            try:
                records = self._records_of(item)
            except OSError as error:
                # The batch is in the spool and cannot be read just now: keep its place.
                with self._wake:
                    self._queue.appendleft(_Queued(item.name))
                    self._taken -= 1
                raise StoreError(
                    f"The spool cannot be read: {error}", "Check the disk; it is tried again.", "spool"
                ) from error
            for batch in records:
                try:
                    self._merge(batch, item.recording, now)
                except Exception:  # what no decoder foresaw must not end recording
                    log.exception("a batch of %s cannot be merged", batch.session)
                    if item.name is not None:
                        self.spool.reject(
                            self.spool.get(item.name),
                            "cannot be merged, see the server's log",
                            self.spool.form(item.name),
                        )
            if item.name is not None:
                self._unwritten.append((now, item.name, frozenset(batch.session for batch in records)))

    def _records_of(self, item: _Queued) -> list[RecordBatch]:
        if item.records is not None:
            return [item.records]
        parsed = item.parsed or self._parse_spooled(item.name or "")
        if parsed is None:
            return []
        self._converted += 1
        look = self._converted <= _LOOK_FIRST or self._converted % _LOOK_EVERY == 0
        try:
            batches, invalid = parsed.convert(look=look)
        except Exception:
            log.exception("a batch cannot be converted")
            self.spool.reject(parsed.body, "cannot be converted, see the server's log", parsed.format)
            return []
        self._set_aside(invalid, parsed.format)
        if parsed.format is Format.JSON:
            for batch in batches:
                self._note_json(batch.session, parsed.node_id)
        return batches

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
            self.spool.reject(event_batch.join(invalid, form), "events that could not be read", form)

    def _parse_spooled(self, name: str) -> ParsedBatch | None:
        form = self.spool.form(name)
        try:
            body = self.spool.get(name)
            return event_batch.parse(body, form)
        except FileNotFoundError as error:
            log.warning("spooled batch %s is gone: %s", name, error)
        except MalformedBatch as error:  # written by another version of ours
            log.warning("spooled batch %s cannot be read again: %s", name, error)
            self.spool.reject(body, str(error), form)
        return None

    def _merge(self, batch: RecordBatch, recording: str, now: float) -> None:
        try:
            about = self.catalog.add(batch.session)
        except StoreError as error:
            log.warning("%s", error.message)
            return
        writer = self._writers.get(batch.session)
        if writer is None:
            writer = self._writers[batch.session] = SessionWriter(
                batch.session, lambda: self.catalog.open_for_writing(batch.session)
            )
        writer.add(batch, now)
        about.last_ns = time.time_ns()
        if recording not in about.recording:
            about.recording = sorted({*about.recording, recording})
        if recording == "events":
            about.events += batch.events
            about.batches += batch.events > 0
        for what, count in batch.unknown.items():
            if what in about.unknown or len(about.unknown) < 1000:
                about.unknown[what] = about.unknown.get(what, 0) + count

    def _flush(self, *, everything: bool) -> bool:
        error: StoreError | None = None
        now = time.monotonic()
        for session, writer in list(self._writers.items()):
            try:
                if writer.oldest_pending() is not None or writer.file is None:
                    writer.flush(now, everything=everything)
                    self._uncounted.add(session)
                if session in self._uncounted and (everything or now >= self._next_count.get(session, 0)):
                    self._count(writer)
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
        self.error = error
        self._drop_spooled()
        if error is None:
            self._release_idle()
        return error is None

    def _problem(self, session: str, failure: Exception) -> StoreError:
        if isinstance(failure, StoreError):
            return failure
        if isinstance(failure, duckdb.Error):
            return explain(self.catalog.path(session), failure)
        log.error("session %s cannot be written", session, exc_info=failure)
        return StoreError(
            f"{session} cannot be written: {type(failure).__name__}: {failure}",
            "A fault of Rayscope: please report it with the server's log. The events stay in the spool.",
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
                self.spool.done(name)
            else:
                kept.append(entry)
        with self._wake:
            self._unwritten = kept

    def _release_idle(self) -> None:
        """Close the files of sessions that ended, so that only live ones hold memory."""
        for session, writer in list(self._writers.items()):
            idle_s = (time.time_ns() - self.catalog.about(session).last_ns) / 1e9
            if idle_s > _IDLE_RELEASE_S and writer.oldest_pending() is None:
                if writer.file is not None:
                    writer.file.checkpoint()
                del self._writers[session]
                self._next_count.pop(session, None)
                self.catalog.save_about(session)
                self.catalog.release(session)

    def _count(self, writer: SessionWriter) -> None:
        if writer.file is None:
            return
        about = self.catalog.about(writer.session)
        with writer.file.reader() as cursor:
            states = cursor.execute(
                f"SELECT coalesce(state, 'NIL'), count(*) FROM attempts WHERE {NOT_DRIVER} GROUP BY 1"
            ).fetchall()
            counts = cursor.execute(
                f"SELECT (SELECT count(*) FROM attempts WHERE attempt = 0 AND {NOT_DRIVER}), "
                "(SELECT count(*) FROM actor_rows), "
                "(SELECT count(*) FROM node_rows), (SELECT count(*) FROM jobs), "
                "(SELECT coalesce(sum(count), 0)::BIGINT FROM drops WHERE NOT list_contains(?, reason))",
                [list(SPAN_LOSSES)],
            ).fetchone()
        about.states = dict(states)
        about.attempts = sum(about.states.values())
        if counts:
            about.tasks, about.actors, about.nodes, about.jobs, about.dropped_total = counts
        self.catalog.save_about(writer.session)

    def _retain(self) -> None:
        for session in self.catalog.apply_retention(self._retention, time.time_ns(), keep=self._in_use()):
            log.info("dropped session %s (retention)", session)


def _unforeseen(failure: Exception) -> StoreError:
    return StoreError(
        f"The writer failed: {type(failure).__name__}: {failure}",
        "It is tried again by itself, and the events stay in the spool. See the server's log.",
        "internal",
    )
