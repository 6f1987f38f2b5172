"""The process that parses and runs users' SQL, so that it can be killed.

Neither DuckDB's parser nor its functions on long strings respect limits of time or memory, and threads cannot
be killed. So the server runs this module as a separate process (see :mod:`rayscope.user_sql.run`)
and kills it after a timeout.

It works on a copy of the record, because DuckDB locks a file for the process that opened it. Before the first
query it gives up its access to the network, to other files, and to memory beyond its limit. Not every system
allows every user to do all of this. DuckDB's own restrictions always apply: no other files, no extensions,
frozen settings, a read-only file, and one SELECT in a read-only transaction.

Both directions of the pipe carry frames: eight bytes of length, then the content.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import re
import resource
import select
import sys
import threading
import time
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import duckdb
import msgspec

from rayscope.storage.copying import copy_record

#: Maximum size of a result and of a frame, in bytes. Larger results are refused.
MAX_ANSWER_BYTES = 64 << 20
#: The process ends after this many seconds without a query, to free its memory and its copy of the record.
IDLE_S = 60.0
#: Address space allowed beyond that used at startup, in bytes.
_HEADROOM_BYTES = 256 << 20
#: Additional address space allowed, as a multiple of DuckDB's memory limit.
_HEADROOM = 2
_THREADS = 2
_CHUNK_ROWS = 100
_MAX_MESSAGE_CHARS = 1000
_ALLOWED = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}
#: Functions that a SELECT could call although they do more than read.
_REFUSED = {"checkpoint", "force_checkpoint", "pg_sleep", "truncate_duckdb_logs"}
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
#: Flag of ``unshare`` for a new user namespace.
_CLONE_NEWUSER = 0x10000000
#: Flag of ``unshare`` for a new network namespace.
_CLONE_NEWNET = 0x40000000
HELP = "SHOW TABLES lists the tables; DESCRIBE tasks lists the columns of one."


class Job(msgspec.Struct):
    """The record that the process opens. ``copy`` means that the record is in use and must be copied."""

    source: str
    copy: bool
    memory_limit: str


class Question(msgspec.Struct):
    """One query. If the server still runs after ``timeout_s``, it kills the process."""

    sql: str
    limit: int
    timeout_s: float


class SqlResult(msgspec.Struct):
    """The result of a query. ``columns`` are pairs of a name and a DuckDB type; ``rows`` have JSON types.

    ``truncated`` means that there are more rows. ``snapshot_ns`` is the time of the record's content.
    """

    columns: list[tuple[str, str]]
    rows: list[list[Any]]
    truncated: bool
    elapsed_ns: int
    snapshot_ns: int


class Refusal(msgspec.Struct):
    """Why there is no result. ``code`` is the code of a StoreError."""

    message: str
    remedy: str
    code: str = "bad_query"
    params: dict[str, str | int] = {}


_decode_job = msgspec.json.Decoder(Job).decode
_decode_question = msgspec.json.Decoder(Question).decode
decode_refusal = msgspec.json.Decoder(Refusal).decode
decode_result = msgspec.json.Decoder(SqlResult).decode


class _Refused(Exception):
    def __init__(self, message: str, remedy: str, code: str = "bad_query", **params: str | int) -> None:
        super().__init__(message)
        self.refusal = Refusal(message, remedy, code, params)


def read_frame(descriptor: int, max_bytes: int) -> bytes:
    """Return the next frame. Raises EOFError at the end, and ValueError for one that is too large."""
    size = int.from_bytes(_read_exactly(descriptor, 8), "big")
    if size > max_bytes:
        raise ValueError(f"a frame of {size} bytes")
    return _read_exactly(descriptor, size)


def _read_exactly(descriptor: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def write_frame(descriptor: int, content: bytes) -> None:
    """Write a frame. Raises OSError."""
    for part in (len(content).to_bytes(8, "big"), content):
        view = memoryview(part)
        while view:
            view = view[os.write(descriptor, view) :]


def open_record(job: Job) -> duckdb.DuckDBPyConnection:
    """Open the record, or a copy of it in the current folder, and restrict DuckDB."""
    path = Path(job.source)
    zone = _prepare(job.memory_limit)
    if job.copy:
        copy_record(path, Path("record.duckdb"))
        _leave_file_system()
        path = Path("record.duckdb")
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": job.memory_limit,
        "threads": _THREADS,
        "temp_directory": "spill",
        "max_temp_directory_size": "2GB",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
        "preserve_insertion_order": "false",
    }
    connection = duckdb.connect(str(path), read_only=True, config=config)
    if job.copy:
        # The deleted copy stays readable while it is open, and nothing is left behind when this process ends.
        for name in ("record.duckdb", "record.duckdb.wal"):
            Path(name).unlink(missing_ok=True)
    else:
        _leave_file_system()
    connection.execute("SET TimeZone = ?", [zone])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _leave_network() -> None:
    """Move to an empty network namespace, which also allows chroot, if the system permits it."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).unshare(_CLONE_NEWUSER | _CLONE_NEWNET)


def _leave_file_system() -> None:
    """Make the current folder the only visible one, if the system permits it."""
    with contextlib.suppress(OSError, AttributeError):
        os.chroot(".")


def _prepare(memory_limit: str) -> str:
    """Make DuckDB import its converters to Python values, then limit the address space.

    Returns the machine's time zone, which DuckDB cannot find once the file system is out of sight.
    """
    with duckdb.connect(config={"threads": 1, "memory_limit": memory_limit}) as connection:
        with contextlib.suppress(duckdb.Error):
            connection.execute(
                "SELECT now(), current_time, uuid(), 1.5::DECIMAL(3, 1), DATE '2020-01-01', TIME '10:00:00', "
                "INTERVAL 1 DAY, 'x'::BLOB, TIMESTAMP '2020-01-01', '10:00:00+01'::TIMETZ, '101'::BIT, "
                "[1], {'a': 1}, MAP {'a': 1}, 1::HUGEINT, '1.5'::JSON, 1e300, TIMESTAMP_NS '2020-01-01'"
            ).fetchall()
        (limit, zone) = connection.execute(
            "SELECT current_setting('memory_limit'), current_setting('TimeZone')"
        ).fetchall()[0]
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + _HEADROOM_BYTES + _HEADROOM * _bytes_of(limit)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return str(zone)


def _bytes_of(text: str) -> int:
    """Convert a size in DuckDB's format, such as ``305.1 MiB``, to bytes."""
    found = re.fullmatch(r"([\d.]+) ([KMGT]?)i?B|([\d.]+) bytes?", text)
    if not found:
        return 1 << 30
    return int(float(found[1] or found[3]) * _UNITS[found[2] or ""])


def _limit_cpu(timeout_s: float) -> None:
    """Limit CPU time, so that the system ends the process if the server cannot.

    The process cannot end itself during a query, because DuckDB's parser blocks all threads.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime + _THREADS * timeout_s) + 10
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def run(connection: duckdb.DuckDBPyConnection, question: Question, snapshot_ns: int) -> bytes:
    """Return the result as JSON of :class:`SqlResult`. Raises _Refused."""
    began = time.monotonic_ns()
    _refuse_actions(question.sql)
    try:
        statements = duckdb.extract_statements(question.sql)
        if len(statements) != 1 or statements[0].type not in _ALLOWED:
            raise _Refused(
                "Only a single SELECT is allowed: the record is read-only.", HELP, what="sql_select"
            )
        connection.execute("BEGIN TRANSACTION READ ONLY")
        try:
            connection.execute(statements[0])
            columns = [(str(column[0]), str(column[1])) for column in connection.description or ()]
            rows, truncated = _rows(connection, question.limit)
        finally:
            with contextlib.suppress(duckdb.Error):
                connection.execute("ROLLBACK")
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        raise out_of_memory() from error
    except duckdb.Error as error:
        message = _message(error)
        if "bad_alloc" in message or "bad allocation" in message:
            raise out_of_memory() from error
        raise _Refused(message, HELP, what="sql", said=message) from error
    except (ValueError, OverflowError, RecursionError, ImportError) as error:
        raise _Refused(
            f"The result has a value that cannot be shown: {type(error).__name__}.",
            "Cast it to VARCHAR.",
            what="sql_value",
            error=type(error).__name__,
        ) from error
    head = msgspec.json.encode(
        {
            "columns": columns,
            "truncated": truncated,
            "elapsed_ns": time.monotonic_ns() - began,
            "snapshot_ns": snapshot_ns,
        }
    )
    return head[:-1] + b',"rows":[' + b",".join(rows) + b"]}"


def out_of_memory() -> _Refused:
    """Return the refusal of a query that needs too much memory."""
    return _Refused(
        "The query needs more memory than allowed.",
        "Narrow it or aggregate (RAYSCOPE_MEMORY_LIMIT raises the limit).",
        "memory",
        what="sql_memory",
    )


def _rows(connection: duckdb.DuckDBPyConnection, limit: int) -> tuple[list[bytes], bool]:
    """Return the rows, each as JSON, and whether there are more than ``limit``."""
    rows: list[bytes] = []
    size = 0
    while len(rows) <= limit:
        chunk = connection.fetchmany(min(_CHUNK_ROWS, limit + 1 - len(rows)))
        if not chunk:
            return rows, False
        for row in chunk:
            encoded = msgspec.json.encode([json_value(value) for value in row])
            size += len(encoded) + 1
            if size > MAX_ANSWER_BYTES - (1 << 20):
                raise _Refused(
                    f"The result is larger than {MAX_ANSWER_BYTES >> 20} MB.",
                    "Select fewer columns or rows (LIMIT), or aggregate.",
                    what="sql_size",
                    mb=MAX_ANSWER_BYTES >> 20,
                )
            rows.append(encoded)
    return rows[:limit], True


def _refuse_actions(sql: str) -> None:
    """Raise _Refused for calls of functions that do more than read."""
    text = sql.encode()
    tokens = duckdb.tokenize(sql)
    if not tokens:
        return
    ends = [offset for offset, _ in tokens[1:]] + [len(text)]
    pieces = [
        text[offset:end].decode(errors="replace").strip().strip('"').lower()
        for (offset, kind), end in zip(tokens, ends, strict=True)
        if kind != duckdb.token_type.comment
    ]
    for piece, following in itertools.pairwise(pieces):
        if piece in _REFUSED and following.startswith("("):
            raise _Refused(
                f"{piece}() is not allowed: the record is read-only.", HELP, what="sql_call", name=piece
            )


def _message(error: Exception) -> str:
    """Return DuckDB's message without its stack and traceback."""
    text = re.split(r"\n*(?:Stack Trace|Traceback)", str(error), maxsplit=1)[0]
    return text[:_MAX_MESSAGE_CHARS].rstrip() or type(error).__name__


def json_value(value: Any) -> Any:
    """Convert a value in a query's result to a JSON value."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)  # JSON has no NaN and no infinity
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    return value.hex() if isinstance(value, bytes) else str(value)


def main() -> None:
    """Open the record named in the first frame, then answer queries until the pipe ends."""
    _leave_network()
    with contextlib.suppress(OSError):
        os.nice(5)
        Path("/proc/self/oom_score_adj").write_text("1000")
    answers = os.dup(1)
    os.dup2(2, 1)  # output of libraries must not reach the pipe
    job = _decode_job(read_frame(0, 1 << 20))
    snapshot_ns, began = time.time_ns(), time.monotonic()
    try:
        connection = open_record(job)
    except TimeoutError:
        _answer(answers, Refusal("The record is being written.", "Try again in a few seconds.", "busy"))
        return
    except (OSError, duckdb.Error) as error:
        _answer(answers, Refusal(_message(error), "", "unreadable"))
        return
    write_frame(answers, b"+%f" % (time.monotonic() - began))
    questions: SimpleQueue[Question] = SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_listen, args=(questions, busy), daemon=True).start()
    while True:
        question = questions.get()
        _limit_cpu(question.timeout_s)
        try:
            write_frame(answers, b"+" + run(connection, question, snapshot_ns))
        except _Refused as refused:
            _answer(answers, refused.refusal)
        except MemoryError:
            _answer(answers, out_of_memory().refusal)
        busy.clear()


def _answer(descriptor: int, refusal: Refusal) -> None:
    write_frame(descriptor, b"-" + msgspec.json.encode(refusal))


def _listen(questions: SimpleQueue[Question], busy: threading.Event) -> None:
    """Pass on queries. Ends the process when the pipe closes, or after a while without queries."""
    while True:
        ready, _, _ = select.select([0], [], [], IDLE_S)
        if not ready and not busy.is_set():
            os._exit(0)
        if not ready:
            continue
        try:
            question = _decode_question(read_frame(0, 4 << 20))
        except (EOFError, ValueError):
            os._exit(0)
        busy.set()
        questions.put(question)


if __name__ == "__main__":
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        main()
    sys.stdout.flush()
    os._exit(0)  # skip the slow shutdown of DuckDB and its threads
