"""What one session has received and not written yet: merged at each flush, each attempt written about once.

The parts of an attempt (definition, states from owner and executor, profile) come within a second or two
of each other. Holding an attempt until it is settled, a few seconds at most, turns nearly every write
into a plain append; a part that comes later is merged with the stored row, by the same merge rule.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rayscope.model import KINDS, Drop, Entity, RecordBatch, merge_entities
from rayscope.storage import rows
from rayscope.storage.about import About, count_records
from rayscope.storage.attempts import AttemptFlush
from rayscope.storage.call_paths import PathIndex
from rayscope.storage.errors import StoreError
from rayscope.storage.function_naming import PlacedFunction, definitions
from rayscope.storage.inferred_ends import GRACE_NS
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.merge import SINCE

#: How long an attempt that is not settled may wait for its other parts, when there are many.
UNSETTLED_WAIT_S = 2.0
#: With fewer parts than this everything is written at each flush: fresher, and cheap.
EAGER_BELOW = 2000
#: Attempts that may wait.
_MAX_WAITING = 100_000
#: What takes along the attempts that are in flight on it when it ends.
_TAKES_ALONG = frozenset({"worker", "node", "job"})
#: What was written is counted again so often, but counting takes at most this share of the writer's time: it
#: looks at the whole record.
_COUNT_S, _COUNT_SHARE = 2.0, 0.2
#: Parts that are merged at a time, at most and (where memory is short) at least.
_MAX_PARTS, _MIN_PARTS = 1_000_000, 1000


class SessionWriter:
    """The write side of one session. Used by the writer thread alone.

    ``open_file`` opens the session's file at the first flush (it may raise StoreError, and is tried again
    at the next).
    """

    def __init__(self, session: str, open_file: Callable[[], SessionFile]) -> None:
        self.session = session
        self._open_file = open_file
        self.file: SessionFile | None = None
        #: Parts of attempts, each table with the time when it came; and rows of spans, edges, annotations.
        self._parts: list[pa.Table] = []
        self._sets: dict[str, list[pa.Table]] = {
            name: [] for name in ("span_rows", "edge_rows", "annotation_rows")
        }
        self._oldest: float | None = None
        self._sets_since: float | None = None
        self._entities: dict[tuple[str, str], Entity] = {}
        self._early_entities: list[Entity] = []
        self._dirty_entities: set[tuple[str, str]] = set()
        self._drops: dict[tuple[str, str, str], Drop] = {}
        self._drops_dirty = False
        self._paths: PathIndex | None = None
        #: Tasks whose calls have no path, or not the right one, until theirs is known.
        self._waiting: set[str] = set()
        self._callers: dict[str, str] = {}  # those told since the last flush
        self._has_callers = False  # whether the file has any
        #: The functions that the tracer told apart since the last flush, by Ray's hash.
        self._placed: dict[str, PlacedFunction] = {}
        #: When the session ended; whether what was inferred from an end is to be taken back.
        self._end_ns: int | None = None
        self._revived = False
        #: When workers, nodes and jobs ended, and when to infer the ends of what they took along (ns).
        self._over: dict[str, int] = {}
        self._infer_ns: int | None = None
        self._last_infer_ns = 0
        self._other_since: float | None = None
        #: Parts that are merged at a time: fewer after memory did not suffice.
        self._max_parts = _MAX_PARTS
        #: When it was last flushed, or that was tried (monotonic s).
        self.last_flush = 0.0
        #: Whether all that was written is counted, and when that may be done again (monotonic s).
        self._is_counted = True
        self._next_count = 0.0

    @property
    def pending(self) -> int:
        """Parts of attempts, spans, edges and annotations that are not written yet."""
        return sum(table.num_rows for tables in (self._parts, *self._sets.values()) for table in tables)

    def oldest_pending(self) -> float | None:
        """When the oldest change that is not written yet arrived (monotonic s), None if all is written."""
        times = [since for since in (self._oldest, self._sets_since, self._other_since) if since is not None]
        return min(times, default=None)

    def is_due(self) -> bool:
        """Whether there is something to write."""
        return self.file is None or self.oldest_pending() is not None or self._must_infer()

    def _must_infer(self) -> bool:
        return self._infer_ns is not None and time.time_ns() >= self._infer_ns

    def end(self, end_ns: int | None, now: float) -> None:
        """The session has ended, or (None) lives although it was taken for ended."""
        self._revived = self._revived or end_ns is None
        self._end_ns = end_ns
        self._infer_ns = 0
        if self._revived:
            self._dirty_entities.update(self._entities)
        if self._other_since is None:
            self._other_since = now

    def add(self, batch: RecordBatch, now: float, tables: rows.Tables | None = None) -> None:
        """Take a batch. ``now``: monotonic s, when it arrived. ``tables``: the rows of the batch, if they are
        made (see :func:`rayscope.storage.rows.batch_tables`).
        """
        if tables is None:
            tables = rows.batch_tables(batch)
        for table in tables["attempts"]:
            self._parts.append(table.append_column(SINCE, pa.repeat(now, table.num_rows)))
            if self._oldest is None:
                self._oldest = now
        for name, fresh in self._sets.items():
            fresh += tables[name]
            if tables[name] and self._sets_since is None:
                self._sets_since = now
        for table in tables["edge_rows"]:
            self._note_callers(table)
        for table in tables["span_rows"]:
            self._placed |= definitions(table)
        if batch.entities:
            if self.file is None:
                # What the file knows must come first, or an old account could look new.
                self._early_entities.extend(batch.entities)
            else:
                self._merge_entities(batch.entities)
            if self._other_since is None:
                self._other_since = now
        for drop in batch.drops:
            if self._merge_drop(drop):
                self._drops_dirty = True
                if self._other_since is None:
                    self._other_since = now

    def _note_callers(self, edges: pa.Table) -> None:
        for task, caller in rows.callers(edges):
            self._callers[task] = min(self._callers.get(task, caller), caller)

    def _merge_drop(self, drop: Drop) -> bool:
        """Keep the larger of two accounts of one loss. Returns whether that is the new one."""
        known = self._drops.get(drop.key)
        if known is not None and drop.count <= known.count:
            return False
        self._drops[drop.key] = drop
        return True

    def _merge_entities(self, entities: Iterable[Entity]) -> None:
        for part in entities:
            if not part.id:
                continue
            key = (part.kind, part.id)
            entity = self._entities.get(key)
            if entity is None:
                self._entities[key] = part
                self._dirty_entities.add(key)
                continue
            same = (
                part.observed == entity.observed
                and part.fields.items() <= entity.fields.items()
                and all(
                    key in entity.transitions and extra.items() <= entity.transitions[key].items()
                    for key, extra in part.transitions.items()
                )
            )
            merge_entities(entity, part)
            if not same:
                self._dirty_entities.add(key)

    def open(self) -> SessionFile:
        """The session's file, opened and its small tables loaded if it is not yet. Raises StoreError."""
        if self.file is None:
            file = self._open_file()
            self._paths = PathIndex(file.load_paths())
            self._waiting = file.load_awaited()
            self._has_callers = file.has_callers()
            held = self._entities
            self._entities = {}
            for kind in KINDS:
                for entity in file.load_entities(kind):
                    self._entities[(kind, entity.id)] = entity
            self._merge_entities(held.values())
            for drop in file.load_drops():
                self._merge_drop(drop)
            self.file = file
            self._merge_entities(self._early_entities)
            self._early_entities = []
            self._note_over(self._entities)
            if self._revived:
                self._dirty_entities.update(self._entities)
        return self.file

    def flush(self, now: float, *, everything: bool = False) -> int:
        """Write what is settled or has waited long enough. Returns how many attempts were written.

        Raises StoreError or MemoryError; then nothing is lost, and the next flush tries again.
        """
        self.last_flush = now
        try:
            written = self._flush(now, everything)
        except (MemoryError, StoreError) as error:
            if isinstance(error, MemoryError) or error.code == "memory":
                held = sum(table.num_rows for table in self._parts)
                self._max_parts = max(_MIN_PARTS, min(self._max_parts, held) // 2)
            raise
        self._is_counted = False
        return written

    def count(self, about: About, now: float, *, at_once: bool) -> bool:
        """Count anew if something was written since, each 2 s (a huge record: less often) or at once. Returns
        whether ``about`` changed.

        Raises StoreError or duckdb.Error.
        """
        if self._is_counted or (now < self._next_count and not at_once):
            return False
        file = self.open()
        began = time.monotonic()
        count_records(file, about)
        cost_s = time.monotonic() - began
        # Views count what has not ended until then.
        file.put_meta({"last_ns": about.last_ns})
        self._is_counted, self._next_count = True, now + max(_COUNT_S, cost_s / _COUNT_SHARE)
        return True

    def _flush(self, now: float, everything: bool) -> int:
        file = self.open()
        paths = self._paths
        if paths is None:  # pragma: no cover - open() sets it
            raise RuntimeError("the session file is not open")
        now_ns = time.time_ns()
        self._note_over(self._dirty_entities)
        with file.writing() as connection:
            rest, changes = None, 0
            parts, left = self._take()
            if parts or self._callers or self._placed:
                flush = AttemptFlush(connection, paths, self._waiting)
                rest, changes = self._write_attempts(flush, parts, now, everything)
            infer = (
                self._revived
                or self._must_infer()
                or (self._end_ns is not None and bool(changes or self._dirty_entities))
                or (changes > 0 and file.has_cut_off(self._over))
            )
            file.write(
                changes=changes,
                sets={name: pa.concat_tables(tables) for name, tables in self._sets.items() if tables},
                entities=[self._entities[key] for key in self._dirty_entities],
                drops=list(self._drops.values()) if self._drops_dirty else (),
                paths=paths.fresh,
                infer_ends=(now_ns, self._end_ns) if infer else None,
                forget_ends=self._revived,
            )
        if infer:
            self._infer_ns = self._last_infer_ns if self._last_infer_ns > now_ns else None
        self._revived = False
        paths.fresh = []
        self._max_parts = min(_MAX_PARTS, self._max_parts * 5 // 4)
        self._parts = [*([] if rest is None else [rest]), *left]
        self._oldest = min((pc.min(table[SINCE]).as_py() for table in self._parts), default=None)
        for tables in self._sets.values():
            tables.clear()
        self._sets_since = self._other_since = None
        self._has_callers = self._has_callers or bool(self._callers)
        self._callers.clear()
        self._placed.clear()
        self._dirty_entities.clear()
        self._drops_dirty = False
        paths.forget_some()
        return changes

    def _take(self) -> tuple[list[pa.Table], list[pa.Table]]:
        """The parts that are merged at a time, the first that came, and those that are left for the next."""
        taken, room = [], self._max_parts
        for number, table in enumerate(self._parts):
            if table.num_rows > room:
                taken.append(table.slice(0, room))
                return taken, [table.slice(room), *self._parts[number + 1 :]]
            taken.append(table)
            room -= table.num_rows
        return taken, []

    def _write_attempts(
        self, flush: AttemptFlush, parts: Sequence[pa.Table], now: float, everything: bool
    ) -> tuple[pa.Table | None, int]:
        """Merge what came with what the file has, and write it. Returns what is left to wait, and how many
        attempts were written.
        """
        few = sum(table.num_rows for table in self._parts) < EAGER_BELOW
        flush.place_functions(self._placed)
        flush.merge(parts, self._callers, has_callers=self._has_callers)
        rest = flush.choose(
            None if everything or few else now - UNSETTLED_WAIT_S,
            max_waiting=_MAX_WAITING,
        )
        flush.name_functions()
        flush.resolve_paths()
        return rest, flush.write()

    def _note_over(self, keys: Iterable[tuple[str, str]]) -> None:
        """Note which workers, nodes and jobs are over: a while later what they took along is over, too."""
        now_ns = time.time_ns()
        for kind, identity in keys:
            if kind not in _TAKES_ALONG or not self._entities[kind, identity].is_over:
                continue
            end_ns = self._entities[kind, identity].current().get("end_ns")
            if not isinstance(end_ns, int) or self._over.get(identity) == end_ns:
                continue
            self._over[identity] = end_ns
            # (Clocks differ: what ends in the future is waited for no longer than what ends now.)
            due_ns = min(end_ns, now_ns) + GRACE_NS
            self._infer_ns = due_ns if self._infer_ns is None else min(self._infer_ns, due_ns)
            self._last_infer_ns = max(self._last_infer_ns, due_ns)

    def close(self) -> None:
        """Close the file; what is not written stays in the spool."""
        if self.file is not None:
            self.file.close()
            self.file = None
