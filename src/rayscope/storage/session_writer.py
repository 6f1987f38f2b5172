"""What one session has received and not written yet: merges in memory, writes each attempt about once.

The parts of an attempt (definition, states from owner and executor, profile) come within a second or two
of each other. Holding an attempt until it is settled, a few seconds at most, turns nearly every write
into a plain append; a part that comes later is merged with the stored row, by the same merge function.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import islice

from rayscope.model import (
    KINDS,
    Annotation,
    Attempt,
    Drop,
    Edge,
    Entity,
    RecordBatch,
    Span,
    merge_attempts,
    merge_entities,
)
from rayscope.storage.call_paths import PathIndex
from rayscope.storage.inferred_ends import GRACE_NS, may_be_cut_off
from rayscope.storage.rows import TaskKey
from rayscope.storage.session_file import SessionFile

#: How long an attempt that is not settled may wait for its other parts, when there are many.
UNSETTLED_WAIT_S = 2.0
#: With fewer changed attempts than this everything is written at each flush: fresher, and cheap.
EAGER_BELOW = 500
#: Unfinished attempts that stay in memory after they are written, so that their end needs no look-up.
KEEP_CLEAN = 100_000
_MAX_WAITING = 200_000
#: What takes along the attempts that are in flight on it when it ends.
_TAKES_ALONG = frozenset({"worker", "node", "job"})
#: Attempts that are written at a time, at most and (where memory is short) at least.
_MAX_DUE, _MIN_DUE = 1_000_000, 1000


class _Held:
    """An attempt in memory. ``stored``: whether the file has a row of it (None: not looked up yet)."""

    __slots__ = ("attempt", "dirty_since", "path", "stored")

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.stored: bool | None = None
        self.dirty_since: float | None = None
        self.path: int | None = None


class SessionWriter:
    """The write side of one session. Used by the writer thread alone.

    ``open_file`` opens the session's file at the first flush (it may raise StoreError, and is tried again
    at the next).
    """

    def __init__(self, session: str, open_file: Callable[[], SessionFile]) -> None:
        self.session = session
        self._open_file = open_file
        self.file: SessionFile | None = None
        self._held: dict[TaskKey, _Held] = {}
        self._dirty: dict[TaskKey, _Held] = {}
        self._spans: set[Span] = set()
        self._edges: set[Edge] = set()
        self._annotations: set[Annotation] = set()
        self._spans_since: float | None = None
        self._entities: dict[tuple[str, str], Entity] = {}
        self._early_entities: list[Entity] = []
        self._dirty_entities: set[tuple[str, str]] = set()
        self._drops: dict[tuple[str, str, str], Drop] = {}
        self._drops_dirty = False
        self._paths: PathIndex | None = None
        self._waiting_parents: set[str] = set()
        self._callers: dict[str, str] = {}  # those told since the last flush
        self._has_callers = False  # whether the file has any
        self._moved: set[str] = set()  # tasks whose path has changed, and not yet that of those they called
        #: Tasks of which a retry or a restart is on record without a definition.
        self._undefined: set[str] = set()
        #: When the session ended; whether what was inferred from an end is to be taken back.
        self._end_ns: int | None = None
        self._revived = False
        #: When workers, nodes and jobs ended, and when to infer the ends of what they took along (ns).
        self._over: dict[str, int] = {}
        self._infer_ns: int | None = None
        self._last_infer_ns = 0
        self._other_since: float | None = None
        #: Attempts that are written at a time: fewer after memory did not suffice.
        self._max_due = _MAX_DUE

    @property
    def pending(self) -> int:
        """Changed attempts, spans, edges and annotations that are not written yet."""
        return len(self._dirty) + len(self._spans) + len(self._edges) + len(self._annotations)

    def oldest_pending(self) -> float | None:
        """When the oldest change that is not written yet arrived (monotonic s), None if all is written."""
        times = [held.dirty_since for held in self._dirty.values() if held.dirty_since is not None]
        times += [since for since in (self._spans_since, self._other_since) if since is not None]
        return min(times) if times else None

    def is_due(self) -> bool:
        """Whether there is something to write although nothing came."""
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

    def add(self, batch: RecordBatch, now: float) -> None:
        """Merge a batch into memory. ``now``: monotonic s, when it arrived."""
        held, dirty = self._held, self._dirty
        for part in batch.attempts:
            key = (part.task_id, part.attempt)
            entry = held.get(key)
            if entry is None:
                entry = held[key] = _Held(part)
            else:
                merge_attempts(entry.attempt, part)
            if entry.dirty_since is None:
                entry.dirty_since = now
                dirty[key] = entry
        if batch.spans or batch.edges or batch.annotations:
            self._spans.update(batch.spans)
            self._edges.update(batch.edges)
            self._note_callers(batch.edges)
            self._annotations.update(batch.annotations)
            if self._spans_since is None:
                self._spans_since = now
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

    def _note_callers(self, edges: Iterable[Edge]) -> None:
        for edge in edges:
            if edge.kind == "caller":
                known = self._callers.get(edge.task_id, edge.object_task)
                self._callers[edge.task_id] = min(known, edge.object_task)

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
            self._waiting_parents = set(file.load_unresolved_parents())
            self._undefined = set(file.load_undefined_retries())
            self._moved.update(file.load_moved())
            self._has_callers = file.has_callers()
            # After a failed write nobody knows what of it the file has: look again, and resolve paths anew,
            # since those that were to be written with it are not known to the new index.
            for entry in self._dirty.values():
                entry.stored = entry.path = None
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
        try:
            written = self._flush(now, everything)
        except MemoryError:
            self._max_due = max(_MIN_DUE, min(self._max_due, len(self._dirty)) // 2)
            raise
        self._max_due = min(_MAX_DUE, 2 * self._max_due)
        return written

    def _flush(self, now: float, everything: bool) -> int:
        file = self.open()
        paths = self._paths
        if paths is None:  # pragma: no cover - open() sets it
            raise RuntimeError("the session file is not open")
        due = dict(islice(self._due(now, everything).items(), self._max_due))
        new = self._look_up(file, due)
        self._share_definitions(file, due)
        self._apply_callers(file, new, due, now)
        self._resolve_paths(file, paths, due)
        self._move_paths(file, paths, due, now)
        entries = list(due.values())
        now_ns = time.time_ns()
        self._note_over(self._dirty_entities)
        infer = (
            self._revived
            or self.is_due()
            or (self._end_ns is not None and bool(due or self._dirty_entities))
            or any(_is_open(entry.attempt) and self._is_over(entry.attempt) for entry in entries)
        )
        file.write(
            attempts=[entry.attempt for entry in entries],
            path_ids=[entry.path for entry in entries],
            replaced=[key for key, entry in due.items() if entry.stored],
            spans=self._spans,
            edges=self._edges,
            annotations=self._annotations,
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
        self._spans, self._edges, self._annotations = set(), set(), set()
        self._spans_since = self._other_since = None
        self._has_callers = self._has_callers or bool(self._callers)
        self._callers.clear()
        self._dirty_entities.clear()
        self._drops_dirty = False
        for key, entry in due.items():
            entry.stored = True
            entry.dirty_since = None
            self._dirty.pop(key, None)
            if entry.attempt.is_terminal and _settled(entry.attempt):
                self._held.pop(key, None)
        self._forget_some()
        paths.forget_some()
        return len(due)

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

    def _is_over(self, attempt: Attempt) -> bool:
        return any(one in self._over for one in (attempt.worker_id, attempt.node_id, attempt.job_id))

    def _due(self, now: float, everything: bool) -> dict[TaskKey, _Held]:
        if everything or len(self._dirty) < EAGER_BELOW:
            return dict(self._dirty)
        limit = now - UNSETTLED_WAIT_S
        return {
            key: entry
            for key, entry in self._dirty.items()
            if _settled(entry.attempt) or (entry.dirty_since is not None and entry.dirty_since <= limit)
        }

    def _look_up(self, file: SessionFile, due: dict[TaskKey, _Held]) -> list[TaskKey]:
        """Merge what the file already has of the attempts that memory has seen for the first time.

        Returns which these are.
        """
        unknown = [key for key, entry in due.items() if entry.stored is None]
        for stored, path in file.load_attempts(unknown):
            key = (stored.task_id, stored.attempt)
            entry = due[key]
            entry.stored = True
            entry.path = path
            before = _copy(stored)
            merge_attempts(entry.attempt, stored)
            if entry.attempt.submitter != stored.submitter:
                self._lose_path(entry)
            if entry.attempt == before:
                # Told again what is known: nothing to write.
                entry.dirty_since = None
                del due[key]
                self._dirty.pop(key, None)
                if entry.attempt.is_terminal:
                    self._held.pop(key, None)
        for key in unknown:
            if key in due and due[key].stored is None:
                due[key].stored = False
        return unknown

    def _apply_callers(
        self, file: SessionFile, new: Iterable[TaskKey], due: dict[TaskKey, _Held], now: float
    ) -> None:
        """Give attempts the callers that the tracer told, whichever came first."""
        callers = dict(self._callers)
        if self._has_callers:
            for task_id, caller in file.load_callers({task_id for task_id, _ in new}):
                callers[task_id] = min(caller, callers.get(task_id, caller))
        for stored, path in file.load_task_attempts(self._callers):
            if (stored.task_id, stored.attempt) not in due and stored.caller_task_id != callers[
                stored.task_id
            ]:
                self._make_due(self._hold(stored, path), due, now)
        for (task_id, _), entry in due.items():
            told, known = callers.get(task_id), entry.attempt.caller_task_id
            if told is not None and (known is None or told < known):
                entry.attempt.caller_task_id = told
                self._lose_path(entry)

    def _hold(self, stored: Attempt, path: int | None) -> _Held:
        """The attempt in memory that the file has, too."""
        key = (stored.task_id, stored.attempt)
        entry = self._held.get(key)
        if entry is None:
            entry = self._held[key] = _Held(stored)
        else:
            merge_attempts(entry.attempt, stored)
        entry.stored, entry.path = True, path
        return entry

    def _make_due(self, entry: _Held, due: dict[TaskKey, _Held], now: float) -> None:
        key = (entry.attempt.task_id, entry.attempt.attempt)
        due[key] = self._dirty[key] = entry
        if entry.dirty_since is None:
            entry.dirty_since = now

    def _lose_path(self, entry: _Held) -> None:
        """Another task made the call than was thought: look for the path anew."""
        if entry.path is not None:
            entry.path = None
            self._moved.add(entry.attempt.task_id)
            if self._paths is not None:
                self._paths.forget(entry.attempt.task_id)

    def _move_paths(self, file: SessionFile, paths: PathIndex, due: dict[TaskKey, _Held], now: float) -> None:
        """Resolve anew the paths of what was called by tasks whose own path has changed, and so on."""
        ready = {task_id for task_id in self._moved if paths.of_task(task_id) is not None}
        while ready:
            self._moved -= ready
            for stored, path in file.load_called(ready):
                if (stored.task_id, stored.attempt) not in self._held:
                    self._hold(stored, path)
            called = [entry for entry in self._held.values() if entry.attempt.submitter in ready]
            ready = set()
            for entry in called:
                path = paths.resolve(entry.attempt)
                if entry.path is not None and path is not None and path != entry.path:
                    entry.path = path
                    paths.remember(entry.attempt.task_id, path)
                    self._make_due(entry, due, now)
                    ready.add(entry.attempt.task_id)

    def _share_definitions(self, file: SessionFile, due: dict[TaskKey, _Held]) -> None:
        """Give retries and restarts without a definition that of another attempt of their task.

        Nobody defines the restarts of actors, and the definition of a retry can be lost.
        """
        undefined = {key[0] for key, entry in due.items() if key[1] and not entry.attempt.has_definition}
        if len(self._undefined) < _MAX_WAITING:
            self._undefined |= undefined
        # Whatever attempt comes now, it may be the one that tells.
        wanted = undefined | (self._undefined & {key[0] for key in due})
        if not wanted:
            return
        attempts: dict[str, dict[TaskKey, _Held]] = {}
        for key, entry in due.items():
            if key[0] in wanted:
                attempts.setdefault(key[0], {})[key] = entry
        for stored, path in file.load_task_attempts(wanted):
            key = (stored.task_id, stored.attempt)
            if key not in due:
                entry = self._held.get(key) or _Held(stored)
                merge_attempts(entry.attempt, stored)
                entry.stored, entry.path = True, path
                attempts.setdefault(stored.task_id, {})[key] = entry
        for task_id, known in attempts.items():
            defined = next((known[key] for key in sorted(known) if known[key].attempt.has_definition), None)
            if defined is None:
                continue
            for key, entry in known.items():
                if not entry.attempt.has_definition:
                    entry.attempt.define_like(defined.attempt)
                    due[key] = entry
            self._undefined.discard(task_id)

    def _resolve_paths(self, file: SessionFile, paths: PathIndex, due: dict[TaskKey, _Held]) -> None:
        unresolved = {key: entry for key, entry in due.items() if entry.path is None}
        self._resolve_among(paths, unresolved)
        if unresolved:
            submitters = (entry.attempt.submitter for entry in unresolved.values())
            parents = {submitter for submitter in submitters if submitter is not None}
            for stored, path in file.load_task_attempts(parents):
                if path is not None and stored.task_id not in self._moved:
                    paths.remember(stored.task_id, path)
            self._resolve_among(paths, unresolved)
        for entry in unresolved.values():
            parent = entry.attempt.submitter
            if parent is not None and len(self._waiting_parents) < _MAX_WAITING:
                self._waiting_parents.add(parent)
        # A stored task that wakes may be the parent of one that has only now come, and so on.
        while self._wake_children(file, paths, due) and unresolved:
            self._resolve_among(paths, unresolved)

    @staticmethod
    def _resolve_among(paths: PathIndex, unresolved: dict[TaskKey, _Held]) -> None:
        """Resolve what can be, parents and children in any order; what is left stays in ``unresolved``."""
        progress = True
        while progress:
            progress = False
            for key, entry in list(unresolved.items()):
                path = paths.resolve(entry.attempt)
                if path is not None:
                    entry.path = path
                    paths.remember(key[0], path)
                    del unresolved[key]
                    progress = True

    def _wake_children(self, file: SessionFile, paths: PathIndex, due: dict[TaskKey, _Held]) -> bool:
        """Stored children whose parent has just become known get their path too, generation by generation.

        Returns whether there were any.
        """
        any_woken = False
        ready = {key[0] for key, entry in due.items() if entry.path is not None} & self._waiting_parents
        while ready:
            self._waiting_parents -= ready
            woken = set()
            for child, _ in file.load_children(ready):
                key = (child.task_id, child.attempt)
                if key in due:
                    continue
                entry = self._held.get(key) or _Held(child)
                merge_attempts(entry.attempt, child)
                entry.stored = True
                entry.path = paths.resolve(entry.attempt)
                if entry.path is not None:
                    paths.remember(child.task_id, entry.path)
                    due[key] = entry
                    any_woken = True
                    if child.task_id in self._waiting_parents:
                        woken.add(child.task_id)
            ready = woken
        return any_woken

    def _forget_some(self) -> None:
        clean = len(self._held) - len(self._dirty)
        if clean <= KEEP_CLEAN:
            return
        for key in [key for key, entry in self._held.items() if entry.dirty_since is None][: clean // 2]:
            del self._held[key]

    def close(self) -> None:
        """Close the file; what is not written stays in the spool."""
        if self.file is not None:
            self.file.close()
            self.file = None


def _is_open(attempt: Attempt) -> bool:
    """Whether it may be that no end of its own was reported; see :mod:`rayscope.storage.inferred_ends`."""
    error = attempt.error
    return not attempt.is_terminal or (error is not None and may_be_cut_off(error.type, error.message))


def _settled(attempt: Attempt) -> bool:
    """Whether no more parts are expected: it is defined, has ended and its execution was described."""
    if not attempt.is_terminal or not attempt.has_definition:
        return False
    return "total" in attempt.phases or "FAILED" in attempt.states


def _copy(attempt: Attempt) -> Attempt:
    copied = Attempt(attempt.task_id, attempt.attempt)
    return merge_attempts(copied, attempt)
