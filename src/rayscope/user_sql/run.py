"""Users' read-only SQL on one session, with hard limits of time, memory, size, and concurrency.

Queries run in separate processes (:mod:`rayscope.user_sql.worker`), each on a copy of a record; see
docs/explanation/decisions/0010.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import msgspec

from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import BadQuery, NotFound, StoreError
from rayscope.storage.interruption import current_work
from rayscope.storage.session_file import MEMORY_LIMIT, explain
from rayscope.storage.session_names import find_session
from rayscope.storage.slots import Slots
from rayscope.user_sql.worker import (
    IDLE_S,
    MAX_ANSWER_BYTES,
    Job,
    Question,
    SqlResult,
    decode_refusal,
    decode_result,
    read_frame,
    write_frame,
)

log = logging.getLogger("rayscope.storage")

DEFAULT_LIMIT = 10_000
MAX_LIMIT = 1_000_000
MAX_SQL_CHARS = 100_000
#: Maximum number of concurrent queries, and of processes kept for later queries.
AT_A_TIME = 2
#: A copy of a live record is reused for a while if making it took longer than this, in seconds.
_SLOW_COPY_S = 1.0
#: Such a copy is reused for this many times the time that copying took.
_STALE_FACTOR = 10
#: Maximum time for which such a copy is reused, in seconds.
_MAX_STALE_S = 60.0
#: Time limit for copying and opening a record, in seconds.
_OPEN_TIMEOUT_S = 120.0


class SqlError(BadQuery):
    """The query was refused, failed, or exceeded its limits."""


#: Key of the step that took too long -> message.
_TOO_LONG = {
    "sql_open": "The record took longer than {} s to copy and open.",
    "sql_time": "The query took longer than {} s and was stopped.",
}


class SqlRunner:
    """Runs queries in processes that it starts, reuses, and ends. Thread-safe.

    ``folder`` holds the copies while they are being opened, and data that queries spill to disk.
    """

    def __init__(
        self,
        folder: Path,
        *,
        memory_limit: str = MEMORY_LIMIT,
        timeout_s: float = 30.0,
        min_free_bytes: int = 0,
    ) -> None:
        self._folder = folder
        self._memory_limit = memory_limit
        self._timeout_s = timeout_s
        self._min_free_bytes = min_free_bytes
        self._slots = Slots(AT_A_TIME, f"{AT_A_TIME} SQL queries are already running.")
        self._lock = threading.Lock()
        self._workers: list[_Worker] = []
        self._closed = False
        shutil.rmtree(folder, ignore_errors=True)  # left by a server that was killed

    def query(
        self, source: Path, sql: str, *, version: object, limit: int = DEFAULT_LIMIT, copy: bool = True
    ) -> bytes:
        """Return the result as JSON of :class:`SqlResult`. Raises SqlError, StoreError, or Busy.

        ``version`` must change whenever the content of ``source`` does. ``copy`` means that ``source`` must
        be copied, because another process has it open.
        """
        if len(sql) > MAX_SQL_CHARS:
            raise SqlError(
                f"The query is longer than {MAX_SQL_CHARS} characters.",
                "Shorten it.",
                what="long_sql",
                limit=MAX_SQL_CHARS,
            )
        if not 1 <= limit <= MAX_LIMIT:
            raise SqlError(
                f"limit must be 1 to {MAX_LIMIT}.", "Aggregate in SQL instead of fetching more rows."
            )
        with (
            self._slots.take(),
            self._worker(source, version, copy) as worker,
            _killed_if_abandoned(worker),
        ):
            return worker.ask(Question(sql, limit, self._timeout_s), self._timeout_s)

    @contextlib.contextmanager
    def _worker(self, source: Path, version: object, copy: bool) -> Iterator[_Worker]:
        """Provide a process for one query: one that has the record open, or a new one."""
        with self._lock:
            if self._closed:
                raise StoreError(
                    "The server is stopping.", "Try again once it has restarted.", "busy", what="stopping"
                )
            idle = [worker for worker in self._workers if not worker.busy]
            fits = [worker for worker in idle if worker.fits(source, version)]
            if fits:
                worker = fits[0]
            else:
                # This query has a slot, but no worker yet. So fewer workers are busy than there are slots.
                for old in idle[: max(0, len(self._workers) + 1 - AT_A_TIME)]:
                    self._end(old)
                if copy:
                    self._check_space(source)
                worker = _Worker(self._folder, Job(str(source), copy, self._memory_limit), version)
                self._workers.append(worker)
            worker.busy = True
        try:
            if not fits:
                worker.open(_OPEN_TIMEOUT_S)
            yield worker
        finally:
            with self._lock:
                worker.busy = False
                if not worker.is_alive or self._closed:
                    self._end(worker)

    def _check_space(self, source: Path) -> None:
        with contextlib.suppress(OSError):
            needed = source.stat().st_size
            folder = self._folder if self._folder.exists() else self._folder.parent
            if shutil.disk_usage(folder).free - needed < self._min_free_bytes:
                raise StoreError(
                    f"Not enough disk space for the copy of the record that SQL reads ({needed >> 20} MB).",
                    "Free some space, or stop the server: rayscope sql then reads the record directly.",
                    "full",
                    what="sql",
                    mb=needed >> 20,
                )

    def _end(self, worker: _Worker) -> None:
        worker.close()
        with contextlib.suppress(ValueError):
            self._workers.remove(worker)

    def close(self) -> None:
        """End all processes, including busy ones."""
        with self._lock:
            self._closed = True
            for worker in list(self._workers):
                if worker.busy:
                    worker.kill()  # the thread that waits for its result removes the worker
                else:
                    self._end(worker)
        shutil.rmtree(self._folder, ignore_errors=True)


class _Worker:
    """A process with a record open. Used by one thread at a time."""

    def __init__(self, folder: Path, job: Job, version: object) -> None:
        self.busy = False
        self._job, self._version = job, version
        self._opened = self._used = 0.0
        self._open_cost_s = 0.0
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._folder = Path(tempfile.mkdtemp(dir=folder))
            self._log = (self._folder / "log").open("w+b")
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rayscope.user_sql.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                cwd=self._folder,
                env=worker_environment(),
                start_new_session=True,  # Ctrl-C reaches only the server, which ends this process
                bufsize=0,
            )
        except OSError as error:
            raise StoreError(
                f"Could not start the process for SQL: {error.strerror}.",
                "Free some memory or disk space and try again.",
                "unusable",
                what="sql_process",
                reason=error.strerror or str(error),
            ) from error
        self.is_alive = True

    def fits(self, source: Path, version: object) -> bool:
        """Return whether the process has this record open, in this version or a slightly older one."""
        now = time.monotonic()
        if (
            self._job.source != str(source)
            or now - self._used > IDLE_S - 5
            or self._process.poll() is not None
        ):
            return False
        if self._version == version:
            return True
        usable_s = min(_MAX_STALE_S, _STALE_FACTOR * self._open_cost_s)
        return self._open_cost_s > _SLOW_COPY_S and now - self._opened < usable_s

    def open(self, timeout_s: float) -> None:
        """Copy and open the record. Raises StoreError."""
        took = self._exchange(msgspec.json.encode(self._job), timeout_s, "sql_open")
        self._open_cost_s = float(took)
        self._opened = self._used = time.monotonic()

    def ask(self, question: Question, timeout_s: float) -> bytes:
        """Return the JSON result of a query. Raises StoreError."""
        answer = self._exchange(msgspec.json.encode(question), timeout_s, "sql_time")
        self._used = time.monotonic()
        return answer

    def _exchange(self, content: bytes, timeout_s: float, what: str) -> bytes:
        """Write a frame and read the reply. After the timeout the process is killed, which ends the wait."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the process has no pipes")
        timed_out = threading.Event()

        def kill() -> None:
            timed_out.set()
            self._process.kill()

        timer = threading.Timer(timeout_s, kill)
        timer.daemon = True
        timer.start()
        try:
            write_frame(stdin.fileno(), content)
            frame = read_frame(stdout.fileno(), MAX_ANSWER_BYTES)
        except (EOFError, OSError, ValueError) as error:
            self.is_alive = False
            work = current_work()
            if work is not None:
                work.check()
            if timed_out.is_set():
                raise SqlError(
                    _TOO_LONG[what].format(f"{timeout_s:g}"),
                    "Narrow it with WHERE, or give more time (RAYSCOPE_SQL_TIMEOUT_S).",
                    what=what,
                    seconds=f"{timeout_s:g}",
                ) from error
            raise self._death() from error
        finally:
            timer.cancel()
        if frame[:1] == b"+":
            return frame[1:]
        refusal = decode_refusal(frame[1:])
        if refusal.code == "bad_query":
            raise SqlError(refusal.message, refusal.remedy).with_params(refusal.params)
        self.is_alive = False  # to free the memory that it used
        if refusal.code == "memory":
            raise SqlError(refusal.message, refusal.remedy).with_params(refusal.params)
        if refusal.code == "unreadable":
            raise explain(Path(self._job.source), duckdb.Error(refusal.message))
        raise StoreError(refusal.message, refusal.remedy, refusal.code).with_params(refusal.params)

    def _death(self) -> StoreError:
        """Return the error for a process that ended on its own, usually because an allocation failed."""
        self._process.kill()
        code = self._process.wait()
        with contextlib.suppress(OSError):
            self._log.seek(0)
            log.warning(
                "the process for SQL ended with %s: %s",
                code,
                self._log.read()[-2000:].decode(errors="replace"),
            )
        return SqlError(
            "The query crashed the process that ran it, most likely because it ran out of memory.",
            "Narrow it or aggregate (RAYSCOPE_MEMORY_LIMIT raises the limit). The server is not affected.",
            what="sql_crash",
        )

    def kill(self) -> None:
        """Kill the process, which ends the wait for its result."""
        self._process.kill()

    def close(self) -> None:
        """Kill the process and remove its files."""
        self.is_alive = False
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                stream.close()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextlib.contextmanager
def _killed_if_abandoned(worker: _Worker) -> Iterator[None]:
    """End the query if its client leaves while the context is active."""
    lock = threading.Lock()
    is_asked = True

    def kill() -> None:
        with lock:
            if is_asked:
                worker.kill()

    work = current_work()
    if work is not None:
        work.when_abandoned(kill)
    try:
        yield
    finally:
        with lock:
            is_asked = False


def worker_environment() -> dict[str, str]:
    """Return an environment with only the package paths and the time zone: no token, key, or settings."""
    kept = {name: os.environ[name] for name in ("TZ", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    paths = [os.path.abspath(path) for path in sys.path]
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(paths),
        "LC_ALL": "C.UTF-8",
        "HOME": "/",
        "MALLOC_ARENA_MAX": "2",
    }


def run_sql(
    data_dir: Path,
    sql: str,
    session: str | None = None,
    limit: int = DEFAULT_LIMIT,
    timeout_s: float = 30.0,
    memory_limit: str = MEMORY_LIMIT,
) -> SqlResult:
    """Run a query on a data directory that no server has open. Raises StoreError, including SqlError."""
    catalog = Catalog(data_dir, read_only=True)
    names = catalog.names()
    if not names:
        raise NotFound(f"No sessions recorded in {data_dir}.", "Record one: rayscope run SCRIPT")
    chosen = find_session(catalog, session) if session else names[0]
    source = catalog.path(chosen)
    if not source.exists():
        raise NotFound(f"Session {chosen} has no record yet.")
    with tempfile.TemporaryDirectory(prefix="rayscope-sql-") as folder:
        runner = SqlRunner(Path(folder) / "sql", memory_limit=memory_limit, timeout_s=timeout_s)
        with contextlib.closing(runner):
            answer = runner.query(source.absolute(), sql, version=None, limit=limit, copy=False)
    return decode_result(answer)
