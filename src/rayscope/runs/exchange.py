"""Shares the summaries of runs, and their marks, with the other servers of a warehouse."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from rayscope.runs.store import RunStore
from rayscope.runs.summary import NO_MARKS, FunctionSummary, Marks, Run, RunSummary
from rayscope.storage.catalog import SESSION_NAME
from rayscope.storage.errors import StoreError

if TYPE_CHECKING:
    from rayscope.warehouse.client import Warehouse
    from rayscope.warehouse.servers import Publisher

log = logging.getLogger("rayscope.runs")

Key = tuple[str, str]
#: When the summary was made and when the marks were changed. The newest ones win, each for itself.
Version = tuple[int, int]

#: Number of runs that are sent or fetched at once.
_BATCH = 200
#: Only the times of publication are read, and not merged, because this is asked every few seconds.
_NEW = (
    "SELECT session, job_id FROM raw_runs WHERE told_ns > {since_ns:Int64} AND told_ns <= {until_ns:Int64} "
    "GROUP BY session, job_id ORDER BY max(told_ns) DESC LIMIT {most:UInt32}"
)
_CONTENT = (
    "SELECT session, job_id, summary.made_ns, summary.content, summary.functions, marks.changed_ns, "
    "marks.content FROM (SELECT session, job_id, summary, marks FROM raw_runs FINAL "
    "WHERE (session, job_id) IN {keys:Array(Tuple(String, String))})"
)
_SUMMARY = pa.struct([("made_ns", pa.int64()), ("content", pa.string()), ("functions", pa.string())])
_MARKS = pa.struct([("changed_ns", pa.int64()), ("content", pa.string())])
#: A server without the job's cluster may have summarized it too early.
_RUNNING = ("RUNNING", "PENDING")
_decode_summary = msgspec.json.Decoder(RunSummary).decode
_decode_functions = msgspec.json.Decoder(list[FunctionSummary]).decode
_decode_marks = msgspec.json.Decoder(Marks).decode


class RunExchange:
    """Publishes the runs of a store, and adds those that other servers publish. Not thread-safe.

    ``max_runs``: number of runs that the store keeps.
    """

    def __init__(self, store: RunStore, max_runs: int) -> None:
        self._store = store
        self._max_runs = max_runs
        self.begin()

    def begin(self) -> None:
        """Start over, because another warehouse may be at the address."""
        #: The versions that the warehouse has.
        self._known: dict[Key, Version] = {}
        self._read_ns = 0
        #: Version of the store that was published.
        self._published = -1

    def forget(self, session: str) -> None:
        """Forget a deleted session."""
        self._known = {key: version for key, version in self._known.items() if key[0] != session}

    def follow(
        self,
        warehouse: Warehouse,
        publisher: Publisher,
        until_ns: int,
        deleted: Collection[str],
        is_stopping: Callable[[], bool],
    ) -> None:
        """Add what others published until ``until_ns``, and publish what changed here. Raises StoreError.

        ``deleted``: sessions that are being deleted.
        """
        try:
            if not self._receive(warehouse, until_ns, deleted, is_stopping):
                return
            version = self._store.version
            if version != self._published:
                self._publish(warehouse, publisher, deleted)
                self._published = version
        except StoreError as error:
            if error.params.get("what") != "runs":
                raise
            log.warning("%s", error)  # of our own file, such as when the disk is full

    def _receive(
        self,
        warehouse: Warehouse,
        until_ns: int,
        deleted: Collection[str],
        is_stopping: Callable[[], bool],
    ) -> bool:
        """Add what others published. Returns whether it is complete."""
        span = {"since_ns": self._read_ns, "until_ns": until_ns, "most": self._max_runs}
        keys = [
            (session, job_id)
            for session, job_id in warehouse.rows(_NEW, span)
            if session not in deleted and SESSION_NAME.fullmatch(session)
        ]
        for batch in _batches(keys):
            if is_stopping():
                return False
            self._merge(warehouse.rows(_CONTENT, {"keys": batch}))
        self._read_ns = max(self._read_ns, until_ns)
        return True

    def _merge(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add the newer ones of runs that the warehouse has."""
        found = []
        for session, job_id, made_ns, summary, functions, changed_ns, marks in rows:
            key, version = (session, job_id), (made_ns, changed_ns)
            if _is_newer(version, _version(self._store.find(*key))):
                try:
                    run = Run(_decode_summary(summary), _decode_marks(marks) if changed_ns else NO_MARKS)
                    if run.key == key:
                        found.append((run, _decode_functions(functions)))
                except msgspec.DecodeError:  # a server of another version wrote it
                    continue
            self._known[key] = version
        self._store.merge(found)

    def _publish(self, warehouse: Warehouse, publisher: Publisher, deleted: Collection[str]) -> None:
        unsent = [
            run
            for run in self._store.runs()
            if run.summary.session not in deleted
            and run.summary.outcome not in _RUNNING
            and _is_newer(_version(run), self._known.get(run.key, (0, 0)))
        ]
        for runs in _batches(unsent):
            functions = self._store.functions([run.key for run in runs])
            publisher.insert(warehouse, "raw_runs", _rows(runs, functions))
            self._known.update((run.key, _version(run)) for run in runs)


def _rows(runs: Sequence[Run], functions: Sequence[Sequence[FunctionSummary]]) -> pa.Table:
    summaries = [
        {"made_ns": run.summary.made_ns, "content": _json(run.summary), "functions": _json(of_run)}
        for run, of_run in zip(runs, functions, strict=True)
    ]
    marks = [
        {"changed_ns": run.marks.changed_ns, "content": _json(run.marks) if run.marks.changed_ns else ""}
        for run in runs
    ]
    return pa.table(
        {
            "session": [run.summary.session for run in runs],
            "job_id": [run.summary.job_id for run in runs],
            "summary": pa.array(summaries, _SUMMARY),
            "marks": pa.array(marks, _MARKS),
        }
    )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _version(run: Run | None) -> Version:
    return (0, 0) if run is None else (run.summary.made_ns, run.marks.changed_ns)


def _is_newer(version: Version, other: Version) -> bool:
    return version[0] > other[0] or version[1] > other[1]


def _batches(items: list[Any]) -> Iterator[list[Any]]:
    return (items[at : at + _BATCH] for at in range(0, len(items), _BATCH))
