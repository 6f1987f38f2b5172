"""Buffers the data that arrives for a session, and writes it in flushes, so that each attempt is written
about once.

The parts of an attempt (definition, states from owner and executor, profile) arrive within a second or two.
Holding an attempt until it is complete, at most a few seconds, turns nearly every write into a plain append.
A part that arrives later is merged with the stored row by the same merge rule.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rayscope.model import KINDS, Drop, Entity, Kind, RecordBatch, merge_entities
from rayscope.storage import rows
from rayscope.storage.about import About, count_records
from rayscope.storage.attempts import AttemptFlush
from rayscope.storage.call_paths import PathIndex
from rayscope.storage.errors import StoreError
from rayscope.storage.function_naming import PlacedFunction, definitions
from rayscope.storage.inferred_ends import GRACE_NS
from rayscope.storage.schema import ENTITY_LIMIT
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.merge import SINCE

#: How long an incomplete attempt may wait for its other parts while many parts are pending, in seconds.
UNSETTLED_WAIT_S = 2.0
#: If fewer parts than this are pending, a flush writes all of them, so that readers see new data early at
#: little cost.
EAGER_BELOW = 2000
#: Maximum number of incomplete attempts that wait. If there are more, all are written.
_MAX_WAITING = 100_000
#: Kinds of entities whose end also ends the attempts in flight on them.
_TAKES_ALONG = frozenset({"worker", "node", "job"})
#: Minimum interval between counts of the whole record, in seconds.
_COUNT_S = 2.0
#: Maximum share of the writer's time spent on counting.
_COUNT_SHARE = 0.2
#: Maximum number of parts that one flush merges.
_MAX_PARTS = 1_000_000
#: Lower limit for the number of parts that one flush merges. The number is reduced when memory is short.
_MIN_PARTS = 1000
#: Maximum number of entities of some kinds per session. Later ones are only counted. A pod that starts has
#: about ten platform events. A GPU has a row of samples each 30 s, so 8 GPUs reach the limit after 31 hours.
MAX_ENTITIES: dict[str, int] = {
    "platform_event": 20_000,
    "process_end": 100_000,
    "gpu_sample": 30_000,
    "profile": 1000,
}
#: Kinds whose every account is complete. The writer forgets them once they are written.
_WHOLE_KINDS = ("process_end", "gpu_sample", "profile")
#: Maximum number of ignored samples of GPUs whose repetitions are recognized.
_MAX_IGNORED = 10_000


class SessionWriter:
    """Writes the data of one session. Used only by the writer's thread.

    ``open_file`` opens the session's file at the first flush. If it raises StoreError, the next flush
    retries.
    """

    def __init__(self, session: str, open_file: Callable[[], SessionFile]) -> None:
        self.session = session
        self._open_file = open_file
        self.file: SessionFile | None = None
        #: Tables with parts of attempts and their time of arrival. ``_sets`` contains rows of spans, edges
        #: and annotations.
        self._parts: list[pa.Table] = []
        self._sets: dict[str, list[pa.Table]] = {
            name: [] for name in ("span_rows", "edge_rows", "annotation_rows")
        }
        self._oldest: float | None = None
        self._sets_since: float | None = None
        self._entities: dict[tuple[Kind, str], Entity] = {}
        self._counts: Counter[str] = Counter()  # of the kinds in MAX_ENTITIES
        self._ignored: set[tuple[Kind, str]] = set()
        self._early_entities: list[Entity] = []
        self._dirty_entities: set[tuple[Kind, str]] = set()
        self._drops: dict[tuple[str, str, str], Drop] = {}
        self._drops_dirty = False
        self._paths: PathIndex | None = None
        #: Tasks whose own path is unknown, so that their callees have no path or a wrong one.
        self._waiting: set[str] = set()
        self._callers: dict[str, str] = {}  # task -> caller, reported since the last flush
        self._has_callers = False  # whether the file has any such callers
        #: Ray's hash -> names of each function that the tracer distinguished since the last flush.
        self._placed: dict[str, PlacedFunction] = {}
        #: When the session ended, and whether inferred ends must be undone because it is alive after all.
        self._end_ns: int | None = None
        self._revived = False
        #: ID of each ended worker, node or job -> when it ended, and when to infer the ends of their attempts
        #: next (ns).
        self._over: dict[str, int] = {}
        self._infer_ns: int | None = None
        self._last_infer_ns = 0
        self._other_since: float | None = None
        #: Maximum number of parts that a flush merges. It is reduced after running out of memory.
        self._max_parts = _MAX_PARTS
        #: When a flush was last attempted (monotonic, s).
        self.last_flush = 0.0
        #: Whether all written data has been counted, and when the next count may run (monotonic, s).
        self._is_counted = True
        self._next_count = 0.0

    @property
    def pending(self) -> int:
        """Number of unwritten parts of attempts, spans, edges and annotations."""
        return sum(table.num_rows for tables in (self._parts, *self._sets.values()) for table in tables)

    def oldest_pending(self) -> float | None:
        """When the oldest unwritten change arrived (monotonic, s), or None if everything is written."""
        times = [since for since in (self._oldest, self._sets_since, self._other_since) if since is not None]
        return min(times, default=None)

    def is_due(self) -> bool:
        """Whether there is anything to write."""
        return self.file is None or self.oldest_pending() is not None or self._must_infer()

    def _must_infer(self) -> bool:
        return self._infer_ns is not None and time.time_ns() >= self._infer_ns

    def end(self, end_ns: int | None, now: float) -> None:
        """Mark the session as ended or, if ``end_ns`` is None, as alive after all."""
        self._revived = self._revived or end_ns is None
        self._end_ns = end_ns
        self._infer_ns = 0
        if self._revived:
            self._rewrite_entities()
        if self._other_since is None:
            self._other_since = now

    def add(self, batch: RecordBatch, now: float, tables: rows.Tables | None = None) -> None:
        """Add a batch.

        Args:
            batch: the records.
            now: time of arrival (monotonic, s).
            tables: the batch's rows, if already converted (see :func:`rayscope.storage.rows.batch_tables`).
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
                # The stored state must be loaded first. Otherwise an old account could look new.
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
        """Keep the larger of two counts of a loss. Returns whether that is the new one."""
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
            if entity is None and part.kind in MAX_ENTITIES:
                if self._counts[part.kind] >= MAX_ENTITIES[part.kind]:
                    self._count_ignored(key)
                    continue
                self._counts[part.kind] += 1
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

    def _count_ignored(self, key: tuple[Kind, str]) -> None:
        kind = key[0]
        if kind == "gpu_sample":  # sent again as it grows
            if key in self._ignored:
                return
            if len(self._ignored) >= _MAX_IGNORED:
                self._ignored.clear()
            self._ignored.add(key)
        known = self._drops.get(("server", ENTITY_LIMIT, kind))
        number = known.count + 1 if known is not None else 1
        self._drops_dirty |= self._merge_drop(Drop("server", ENTITY_LIMIT, number, time.time_ns(), kind))

    def open(self) -> SessionFile:
        """Open the session's file and load its small tables, unless that was done already. Raises
        StoreError.
        """
        if self.file is None:
            file = self._open_file()
            self._paths = PathIndex(file.load_paths())
            self._waiting = file.load_awaited()
            self._has_callers = file.has_callers()
            held = self._entities
            self._entities = {}
            for kind in KINDS:
                loaded = {(kind, entity.id): entity for entity in file.load_entities(kind)}
                self._entities.update(loaded)
                self._forget_written(loaded)
            self._counts = Counter(kind for kind, _ in self._entities if kind in MAX_ENTITIES)
            self._merge_entities(held.values())
            for drop in file.load_drops():
                self._merge_drop(drop)
            self.file = file
            self._merge_entities(self._early_entities)
            self._early_entities = []
            self._note_over(self._entities)
            if self._revived:
                self._rewrite_entities()
        return self.file

    def _rewrite_entities(self) -> None:
        self._dirty_entities.update(key for key in self._entities if key[0] not in _WHOLE_KINDS)

    def _forget_written(self, keys: Iterable[tuple[Kind, str]]) -> None:
        for kind, identity in keys:
            if kind in _WHOLE_KINDS:
                self._entities[kind, identity] = Entity(kind, identity)

    def flush(self, now: float, *, everything: bool = False) -> int:
        """Write attempts that are complete or have waited long enough, and all other data. Returns how many
        attempts were written.

        May raise StoreError or MemoryError. In that case nothing is lost, and the next flush retries.
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
        """Update the counts in ``about`` after a write: at most every 2 s, and less often for a huge record.

        With ``at_once``, they are always updated.

        Returns whether ``about`` changed. Raises StoreError or duckdb.Error.
        """
        if self._is_counted or (now < self._next_count and not at_once):
            return False
        file = self.open()
        began = time.monotonic()
        count_records(file, about)
        cost_s = time.monotonic() - began
        # Views use this as the end of everything that has not ended.
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
        self._forget_written(self._dirty_entities)
        self._dirty_entities.clear()
        self._drops_dirty = False
        paths.forget_some()
        return changes

    def _take(self) -> tuple[list[pa.Table], list[pa.Table]]:
        """The oldest parts, which are merged now, and the parts that are left for the next flush."""
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
        """Merge new parts with stored attempts, and write the result.

        Returns the parts that wait for others, and the number of attempts written.
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

    def _note_over(self, keys: Iterable[tuple[Kind, str]]) -> None:
        """Remember workers, nodes and jobs that ended. The ends of their attempts are inferred 20 s later."""
        now_ns = time.time_ns()
        for kind, identity in keys:
            if kind not in _TAKES_ALONG or not self._entities[kind, identity].has_ended:
                continue
            end_ns = self._entities[kind, identity].current().get("end_ns")
            if not isinstance(end_ns, int) or self._over.get(identity) == end_ns:
                continue
            self._over[identity] = end_ns
            # The node's clock may be ahead. If the end is in the future, wait as if it were now.
            due_ns = min(end_ns, now_ns) + GRACE_NS
            self._infer_ns = due_ns if self._infer_ns is None else min(self._infer_ns, due_ns)
            self._last_infer_ns = max(self._last_infer_ns, due_ns)

    def close(self) -> None:
        """Close the file. Unwritten data stays in the spool."""
        if self.file is not None:
            self.file.close()
            self.file = None
