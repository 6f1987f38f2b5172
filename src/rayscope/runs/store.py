"""The summaries of runs, in one SQLite file of the data directory that outlives the records of sessions."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from rayscope.files import set_aside
from rayscope.runs.summary import NO_MARKS, FunctionSummary, Marks, Run, RunSummary
from rayscope.storage.errors import NotFound, StoreError

log = logging.getLogger("rayscope.runs")

_LAYOUT = """
CREATE TABLE IF NOT EXISTS runs (session TEXT, job_id TEXT, summary BLOB NOT NULL, functions BLOB NOT NULL,
    marks BLOB, PRIMARY KEY (session, job_id));
CREATE TABLE IF NOT EXISTS complete (session TEXT PRIMARY KEY);
"""
_SUMMARY = msgspec.json.Decoder(RunSummary)
_FUNCTIONS = msgspec.json.Decoder(list[FunctionSummary])
_MARKS = msgspec.json.Decoder(Marks)
#: Suffix of SQLite's journal, which belongs to the file.
_JOURNAL = "-journal"
#: How long to wait for another process that reads the file, in seconds.
_WAIT_S = 10.0


def _broken(error: Exception) -> StoreError:
    return StoreError(
        f"Could not use the summaries of runs: {error}",
        "Free some space, or make the data directory writable. Rayscope keeps retrying.",
        "unusable",
        what="runs",
        reason=str(error),
    )


def _without_baseline(run: Run) -> Run:
    return run._replace(marks=_changed(msgspec.structs.replace(run.marks, is_baseline=False), run.marks))


def _changed(marks: Marks, before: Marks) -> Marks:
    """Marks that replace others. They are newer, even if the clock of another server is ahead."""
    return msgspec.structs.replace(marks, changed_ns=max(time.time_ns(), before.changed_ns + 1))


def _stored_marks(content: bytes | None) -> Marks:
    marks = NO_MARKS if content is None else _MARKS.decode(content)
    if marks != NO_MARKS and not marks.changed_ns:  # stored by a version that did not note the time
        return msgspec.structs.replace(marks, changed_ns=1)
    return marks


class RunStore:
    """The summaries of all runs. They are also in memory, without the functions. Thread-safe.

    ``complete``: the sessions of which no further summaries are due. With ``read_only``, nothing is written,
    and what is added stays in memory.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._lock = threading.Lock()
        self._runs: dict[tuple[str, str], Run] = {}
        self.complete: set[str] = set()
        #: Number of changes to the runs.
        self.version = 0
        try:
            self._db = self._open(path, read_only)
        except sqlite3.DatabaseError as error:
            if read_only:  # Commands that do not need the runs must still work.
                log.warning("could not read %s: %s", path, error)
                self._db = self._open(path.with_name("none"), read_only)
                return
            if isinstance(error, sqlite3.OperationalError):
                raise _broken(error) from error
            log.warning("%s was damaged and is kept as %s", path, set_aside(path, _JOURNAL))
            self._runs, self.complete = {}, set()
            self._db = self._open(path, read_only)

    def _open(self, path: Path, read_only: bool) -> sqlite3.Connection:
        if not read_only:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
        database = sqlite3.connect(
            path if not read_only else ":memory:",
            check_same_thread=False,
            isolation_level=None,
            timeout=_WAIT_S,
        )
        if read_only and path.is_file():
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=_WAIT_S)) as source:
                source.backup(database)
        database.executescript(_LAYOUT)
        self.complete = {session for (session,) in database.execute("SELECT session FROM complete")}
        for session, summary, marks in database.execute("SELECT session, summary, marks FROM runs"):
            try:
                run = Run(_SUMMARY.decode(summary), _stored_marks(marks))
            except msgspec.DecodeError:  # Another version wrote it. Summarize the session again.
                self.complete.discard(session)
                continue
            self._runs[run.key] = run
        return database

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def runs(self) -> list[Run]:
        """All runs, in no particular order."""
        with self._lock:
            return list(self._runs.values())

    def find(self, session: str, job_id: str) -> Run | None:
        """A run, or None if there is no summary of it."""
        with self._lock:
            return self._runs.get((session, job_id))

    def get(self, session: str, job_id: str) -> Run:
        """A run. Raises NotFound."""
        with self._lock:
            return self._get(session, job_id)

    def _get(self, session: str, job_id: str) -> Run:
        run = self._runs.get((session, job_id))
        if run is None:
            raise NotFound(
                f"Nothing is known about a run {session[:80]}/{job_id[:80]}.",
                "GET /api/v1/runs lists the runs. A job is added once it has ended.",
                what="run_summary",
                session=session[:80],
                job=job_id[:80],
            )
        return run

    def functions(self, keys: Iterable[tuple[str, str]]) -> list[list[FunctionSummary]]:
        """The functions of runs, those with the most time first. Raises StoreError."""
        with self._lock:
            try:
                return [self._functions(*key) for key in keys]
            except sqlite3.Error as error:
                raise _broken(error) from error

    def _functions(self, session: str, job_id: str) -> list[FunctionSummary]:
        found = self._db.execute(
            "SELECT functions FROM runs WHERE session = ? AND job_id = ?", (session, job_id)
        ).fetchone()
        return _FUNCTIONS.decode(found[0]) if found else []

    def add(self, summary: RunSummary, functions: Sequence[FunctionSummary]) -> None:
        """Store a summary, replacing an older one of the run and keeping its marks. Raises StoreError."""
        with self._lock:
            self._add([(summary, functions)])

    def _add(self, additions: Sequence[tuple[RunSummary, Sequence[FunctionSummary]]]) -> None:
        """Store summaries, keeping the marks of their runs. The caller holds the lock."""
        encode = msgspec.json.encode
        self._write(
            "INSERT INTO runs (session, job_id, summary, functions) VALUES (?, ?, ?, ?) ON CONFLICT DO "
            "UPDATE SET summary = excluded.summary, functions = excluded.functions",
            [(one.session, one.job_id, encode(one), encode(functions)) for one, functions in additions],
        )
        for summary, _ in additions:
            key = (summary.session, summary.job_id)
            before = self._runs.get(key)
            self._runs[key] = Run(summary, NO_MARKS if before is None else before.marks)
        self.version += 1

    def merge(self, additions: Sequence[tuple[Run, Sequence[FunctionSummary]]]) -> None:
        """Take over other servers' summaries and marks of runs where they are newer. Raises StoreError.

        The baseline of a group that was set last stays.
        """
        with self._lock:
            newer = [
                (run.summary, functions)
                for run, functions in additions
                if (before := self._runs.get(run.key)) is None or run.summary.made_ns > before.summary.made_ns
            ]
            if newer:
                self._add(newer)
            marked = [
                self._runs[run.key]._replace(marks=run.marks)
                for run, _ in additions
                if run.marks.changed_ns > self._runs[run.key].marks.changed_ns
            ]
            self._replace(marked)
            if any(run.marks.is_baseline for run in marked):
                baselines = [run for run in self._runs.values() if run.marks.is_baseline]
                baselines.sort(key=lambda run: (run.marks.changed_ns, run.key))
                latest = {run.group: run.key for run in baselines}
                self._replace([_without_baseline(run) for run in baselines if latest[run.group] != run.key])

    def set_tags(self, session: str, tags: tuple[str, ...]) -> None:
        """Store the current tags of a session with its runs. Raises StoreError.

        If that moves a baseline into a group that has one, the newer one stays.
        """
        with self._lock:
            changed = {
                key: run._replace(summary=msgspec.structs.replace(run.summary, tags=tags))
                for key, run in self._runs.items()
                if key[0] == session and run.summary.tags != tags
            }
            newest: dict[tuple[str, str], Run] = {}
            for run in sorted({**self._runs, **changed}.values(), key=lambda run: run.begin_ns):
                if run.marks.is_baseline:
                    if (older := newest.get(run.group)) is not None:
                        changed[older.key] = _without_baseline(older)
                    newest[run.group] = run
            self._replace(changed.values())

    def mark(self, session: str, job_id: str, change: Callable[[Marks], Marks]) -> None:
        """Change the marks of a run. A new baseline replaces that of its group.

        Raises NotFound and StoreError.
        """
        with self._lock:
            before = self._get(session, job_id)
            run = before._replace(marks=_changed(change(before.marks), before.marks))
            changed = [run]
            if run.marks.is_baseline:
                changed += [
                    _without_baseline(other)
                    for other in self._runs.values()
                    if other.marks.is_baseline and other.group == run.group and other.key != run.key
                ]
            self._replace(changed)

    def _replace(self, runs: Collection[Run]) -> None:
        """Store runs in place of their earlier versions. The caller holds the lock."""
        self._write(
            "UPDATE runs SET summary = ?, marks = ? WHERE session = ? AND job_id = ?",
            [(msgspec.json.encode(run.summary), msgspec.json.encode(run.marks), *run.key) for run in runs],
        )
        self._runs.update((run.key, run) for run in runs)
        self.version += bool(runs)

    def set_complete(self, session: str, *, is_complete: bool) -> None:
        """Remember whether further summaries of a session are due. Raises StoreError."""
        statement = "INSERT OR IGNORE INTO complete VALUES (?)"
        with self._lock:
            self._write(statement if is_complete else "DELETE FROM complete WHERE session = ?", [(session,)])
            (self.complete.add if is_complete else self.complete.discard)(session)

    def remove(self, keys: Sequence[tuple[str, str]]) -> None:
        """Remove runs. Raises StoreError."""
        with self._lock:
            self._write("DELETE FROM runs WHERE session = ? AND job_id = ?", keys)
            for key in keys:
                self._runs.pop(key, None)
            self.version += bool(keys)

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Execute a statement for all rows in one transaction. The caller holds the lock."""
        if not rows:
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany(statement, rows)
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):  # such as when it is closed
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
            raise _broken(error) from error
