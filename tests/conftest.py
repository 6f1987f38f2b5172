"""Shared fixtures: recorded events, events made from them, real servers, and whole records to compare."""

from __future__ import annotations

import faulthandler
import functools
import json
import os
import random
import re
import signal
import sys
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

import duckdb
import httpx
import psutil
import pytest
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from httpx._transports import default as httpx_default
from hypothesis import HealthCheck, settings

from rayscope.ingest.writer import Writer
from rayscope.server import runner
from rayscope.server.app import create_app
from rayscope.server.runner import Server
from rayscope.settings import Settings
from rayscope.storage.catalog import Catalog, Retention
from rayscope.storage.schema import ENTITY_COLUMNS
from rayscope.storage.session_file import SessionFile
from rayscope.storage.spool import Spool
from tests import answers
from tests.cluster import RAY_ENV
from tests.flow_tree import tree  # noqa: F401 - a fixture
from tests.live import live  # noqa: F401 - a fixture
from tests.recorded import cluster  # noqa: F401 - a fixture
from tests.serving import serving  # noqa: F401 - a fixture
from tests.waiting import TIMEOUT_S, wait_until

os.environ |= RAY_ENV
# The tests' own environment is the active one, whichever it is in the shell.
os.environ |= {"VIRTUAL_ENV": sys.prefix, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
_FAULT = pytest.StashKey[TextIO]()
# A shell ignores Ctrl-C for tests that run in the background. Their own processes must not.
signal.signal(signal.SIGINT, signal.default_int_handler)
# One for all: else each `httpx.get` reads the machine's certificates again, which takes 50 ms.
httpx_default.create_ssl_context = functools.cache(httpx.create_ssl_context)
# The 5 s that a request may take otherwise are too few on a busy machine.
for _part in ("connect", "read", "write", "pool"):
    setattr(DEFAULT_TIMEOUT_CONFIG, _part, TIMEOUT_S)
# Likewise the 10 s in which a flush that a test waits for has to be done.
Writer.flush.__defaults__ = (TIMEOUT_S,)


def _empty_record() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        SessionFile(path := Path(folder, "record")).close()
        return path.read_bytes()


def _connect_to_copy(
    file: SessionFile,
    memory_limit: str,
    *,
    connect: Any = SessionFile._connect,
    empty: bytes = _empty_record(),
) -> duckdb.DuckDBPyConnection:
    """Connect to a copy of an empty record where there is none yet.

    Creating its tables and views takes 75 ms, and thousands of tests begin a record.
    """
    exists = any(path.exists() for path in (file.path, file.path.with_name(f"{file.path.name}.wal")))
    if not exists and not file.read_only:
        try:
            file.path.write_bytes(empty)
        except OSError:  # the disk is full, which DuckDB then finds out itself
            file.path.unlink(missing_ok=True)
    return connect(file, memory_limit)


SessionFile._connect = _connect_to_copy

# How long an example takes depends on how busy the machine is: there is no deadline.
settings.register_profile(
    "thorough", deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow]
)
# `make test` runs the same examples everywhere. `make test-long` draws new ones: --hypothesis-profile=thorough.
settings.register_profile(
    "rayscope", parent=settings.get_profile("thorough"), max_examples=20, derandomize=True, database=None
)
settings.load_profile("rayscope")


def _group(item: pytest.Item) -> str:
    """The session fixture by which ``item`` shares a cluster with tests of other files, or else its file."""
    fixtures = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    for name in ("cluster", "live", "recorded", "serving", "tree"):
        if name in fixtures and fixtures[name][-1].scope == "session":
            return name
    return item.path.relative_to(Path(__file__).parent).with_suffix("").as_posix()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Make `make test-py` run tests that share a cluster in one process."""
    item.add_marker(pytest.mark.xdist_group(_group(item)))


#: The groups that take longest, in the order in which they begin; the others fill the remaining time.
#: Groups that start many workers come before the clusters that tests share: so they take half as long.
_LONGEST = [
    *(
        "integration/test_equals_ray",
        "recorded",
        "integration/test_tracer",
        "integration/test_run",
        "integration/test_snapshot",
        "integration/test_fast_lane",
        "tree",
    ),
    "cluster",
]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort groups into the order in which the processes take them."""
    place = {group: number for number, group in enumerate(_LONGEST)}
    items.sort(key=lambda item: place.get(_group(item), len(place)))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End a shared cluster after the last of its tests: until the end of the run it would need CPU of others."""
    group = _group(item)
    if isinstance(item, pytest.Function) and nextitem is not None and _group(nextitem) != group:
        for definition in item._fixtureinfo.name2fixturedefs.get(group, ()):
            definition.finish(item._request)


def _fault_path(pid: int) -> Path:
    return Path(tempfile.gettempdir(), f"rayscope-tests-fault-{pid}")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let a process that crashes write its threads' stacks where `make test-py` reads them."""
    if hasattr(config, "workerinput"):
        config.stash[_FAULT] = _fault_path(os.getpid()).open("w")
        faulthandler.enable(config.stash[_FAULT])


def pytest_unconfigure(config: pytest.Config) -> None:
    if _FAULT in config.stash:
        faulthandler.disable()
        config.stash[_FAULT].close()
        _fault_path(os.getpid()).unlink()


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, report: Any, sched: Any) -> None:
    """Say how a process of `make test-py` ended, and where: pytest-xdist says only that it did."""
    process = report.node.gateway._io.popen
    status = process.wait()
    memory = psutil.virtual_memory()
    fault = _fault_path(process.pid)
    said = fault.read_text(errors="replace")
    fault.unlink()
    where = re.search(r"^Current thread.*(\n  File .*){0,15}", said, re.MULTILINE)
    report.longrepr += (
        f"\nstatus {status}, {memory.available >> 20} of {memory.total >> 20} MiB of memory available\n"
        f"{said.partition(chr(10))[0] or 'It said nothing: something killed it, or it called os._exit.'}\n"
        f"{where[0] if where else ''}"
    )


SAMPLES = Path(__file__).parent / "unit" / "ray" / "samples"
Events = list[dict[str, Any]]
Tables = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="session", autouse=True)
def _compare_answers() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "create_app", lambda services: answers.compare_answers(create_app(services)))
        yield


@pytest.fixture(autouse=True)
def _answers_are_of_their_shape() -> Iterator[None]:
    """Whatever a server answers in a test has the fields that its route promises, and no others."""
    answers.wrong.clear()
    yield
    assert not answers.wrong, "\n".join(answers.wrong)[:4000]


@pytest.fixture(scope="session")
def sample() -> Callable[[str], list[Events]]:
    """Batches that a real Ray of that version sent: ``sample("2.60")``."""
    return lambda version: json.loads((SAMPLES / f"ray-{version}.json").read_text())


def body(events: Events) -> bytes:
    return json.dumps(events).encode()


@pytest.fixture(scope="session")
def bodies(sample: Callable[[str], list[Events]]) -> list[bytes]:
    """The sample of Ray 2.60 as it was sent."""
    return [body(batch) for batch in sample("2.60")]


@pytest.fixture(scope="session")
def to_binary() -> Callable[[bytes], bytes]:
    """A batch of the sample of Ray 2.60 (JSON) as that Ray's own ``RayEventsData``."""
    from google.protobuf import json_format
    from ray.core.generated import events_event_aggregator_service_pb2 as service

    def convert(batch: bytes) -> bytes:
        data = service.RayEventsData()
        for event in json.loads(batch):
            json_format.ParseDict(event, data.events.add())
        return data.SerializeToString()  # type: ignore[no-any-return]

    return convert


_TIMESTAMP = re.compile(r'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.?(\d*)Z"')
_NANOSECONDS = re.compile(r'"(?:startTime|endTime)": "(\d{19})"')


def _iso(time_ns: int) -> str:
    seconds, rest = divmod(time_ns, 10**9)
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def _ns(text: str, decimals: str) -> int:
    return int(datetime.fromisoformat(text + "+00:00").timestamp()) * 10**9 + int(decimals.ljust(9, "0"))


def _task_of(event: dict[str, Any]) -> str | None:
    return next(
        (value["taskId"] for value in event.values() if isinstance(value, dict) and "taskId" in value), None
    )


@pytest.fixture(scope="session")
def make_batches(sample: Callable[[str], list[Events]]) -> Callable[..., list[bytes]]:
    """``make_batches(tasks)``: real events of one finished task, copied for ``tasks`` tasks, 1,000 per batch.

    Task ``i`` begins ``i`` µs after the sample's. The parts of a task are up to ``spread`` tasks apart, as
    those of its owner and its executor are.
    """

    def make(tasks: int, *, size: int = 1000, seed: int = 0, spread: int = 1000) -> list[bytes]:
        events = [event for batch in sample("2.60") for event in batch]
        of_task: dict[str, Events] = {}
        for event in events:
            if task := _task_of(event):
                of_task.setdefault(task, []).append(event)
        task, group = next(
            (task, group)
            for task, group in of_task.items()
            if {"TASK_DEFINITION_EVENT", "TASK_PROFILE_EVENT"} <= {e["eventType"] for e in group}
            and all(text in json.dumps(group) for text in ('"taskName": "inner"', '"FINISHED"'))
        )
        tail = b64decode(task)[8:]
        parts = [re.split(_TIMESTAMP, json.dumps(event)) for event in group]
        rng = random.Random(seed)
        made: list[tuple[float, str]] = []
        for number in range(tasks):
            new = b64encode(rng.randbytes(8) + tail).decode()
            for order, part in enumerate(parts):
                pieces = list(part[::3])
                times = [
                    f'"{_iso(_ns(a, b) + number * 1000)}"'
                    for a, b in zip(part[1::3], part[2::3], strict=True)
                ]
                text = "".join(x for pair in zip(pieces, [*times, ""], strict=True) for x in pair)
                text = _NANOSECONDS.sub(
                    lambda match: match.group(0).replace(
                        match.group(1), str(int(match.group(1)) + number * 1000)
                    ),
                    text.replace(task, new),
                )
                made.append((number + order * rng.random() * spread, text))
        made.sort()
        texts = [text for _, text in made]
        return [f"[{','.join(texts[i : i + size])}]".encode() for i in range(0, len(texts), size)]

    return make


@pytest.fixture(scope="session")
def make_chain(sample: Callable[[str], list[Events]]) -> Callable[[int], list[bytes]]:
    """``make_chain(n)``: definitions of n tasks, each a batch of its own, each the parent of the next."""

    def make(length: int) -> list[bytes]:
        definitions = [e for batch in sample("2.60") for e in batch if "taskDefinitionEvent" in e]
        driver = "f" * 40 + "01000000"
        ids = [bytes.fromhex(driver)]
        ids += [bytes([number]) * 8 + bytes.fromhex(driver)[8:] for number in range(1, length + 1)]
        made = []
        for number in range(1, length + 1):
            event = json.loads(json.dumps(definitions[0]))
            event["taskDefinitionEvent"] |= {
                "taskId": b64encode(ids[number]).decode(),
                "parentTaskId": b64encode(ids[number - 1]).decode(),
                "taskName": f"level_{number}",
            }
            made.append(body([event]))
        return made

    return make


@pytest.fixture(scope="session")
def dump() -> Callable[[Path], Tables]:
    """Everything in a session's DuckDB file, sorted; call paths as names from the driver down."""

    def read(path: Path) -> Tables:
        with duckdb.connect(str(path), read_only=True) as connection:
            found: Tables = {
                table: connection.execute(f"FROM {table} ORDER BY ALL").fetchall()
                for table in ("attempts", "span_rows", "edge_rows", "annotation_rows", "paths", "drops")
            }
            found["call_paths"] = connection.execute(
                "WITH RECURSIVE way AS (SELECT path_id, parent_path_id, name AS path FROM paths UNION ALL "
                "SELECT w.path_id, p.parent_path_id, p.name || ' / ' || w.path "
                "FROM way w JOIN paths p ON p.path_id = w.parent_path_id) "
                "SELECT task_id, attempt, path FROM tasks JOIN way USING (path_id) WHERE parent_path_id = 0 "
                "ORDER BY ALL"
            ).fetchall()
            for kind in ENTITY_COLUMNS:
                rows = connection.execute(f"FROM {kind}_rows ORDER BY ALL").fetchall()
                # The document is JSON, whose keys may come in any order.
                found[kind] = sorted(
                    (row[0], json.dumps(json.loads(row[1]), sort_keys=True), *row[2:]) for row in rows
                )
        return found

    return read


def sql_rows(url: str, sql: str, session: str) -> list[dict[str, Any]]:
    """All rows of a query of a server, by column."""
    question = {"sql": sql, "session": session, "limit": 1_000_000}
    answer = httpx.post(f"{url}/api/v1/sql", json=question).raise_for_status().json()
    assert not answer["truncated"]
    names = [name for name, _ in answer["columns"]]
    return [dict(zip(names, row, strict=True)) for row in answer["rows"]]


def read_rows(data_dir: Path, sql: str, session: str | None = None) -> list[list[Any]]:
    """All rows of a query on a record that no server has open. By default, the newest session's record."""
    with closing(Catalog(data_dir, read_only=True)) as catalog:
        name = session or catalog.names()[0]
        with catalog.reading(name) as file, file.reader() as connection:
            return [list(row) for row in connection.execute(sql).fetchall()]


@pytest.fixture(scope="session", name="wait_for")
def wait_for_fixture() -> Callable[..., Any]:
    return wait_until


@pytest.fixture
def start_writer(tmp_path: Path) -> Iterator[Callable[..., Writer]]:
    """Starts writers; ``start_writer(folder)`` on a data directory (again, after ``stop``)."""
    with ExitStack() as stack:

        def start(folder: Path = tmp_path, *, retention: Retention | None = None, **spool: Any) -> Writer:
            made = Writer(Catalog(folder), Spool(folder / "spool", **spool), retention or Retention())
            made.start()
            stack.callback(made.stop)
            return made

        yield start


@pytest.fixture
def record(start_writer: Callable[..., Writer], tmp_path: Path) -> Callable[..., Path]:
    """``record(bodies)`` puts batches through a writer; returns the session's file, closed."""
    count = iter(range(1000))

    def put(batches: Sequence[bytes], *, flush_after: Callable[[int], bool] = lambda _: False) -> Path:
        folder = tmp_path / f"record-{next(count)}"
        made = start_writer(folder)
        for number, batch in enumerate(batches):
            made.submit(batch)
            if flush_after(number):
                assert made.flush()
        made.stop()
        (session,) = made.catalog.names()
        return made.catalog.path(session)

    return put


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers on free loopback ports: ``serve(token=...)``; each is stopped at the end."""
    with ExitStack() as stack:

        def start(folder: Path | None = None, **settings: Any) -> Server:
            server = Server(Settings(data_dir=folder or tmp_path / "data", **{"port": 0, **settings}))
            server.start()
            stack.callback(server.stop)
            return server

        yield start


def aside(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call it in a thread of its own: a browser of other tests may run a loop in this one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(function, *arguments).result()
