"""Sessions with one event of a kind, or of two kinds, on record: what every new session is for a moment."""

from __future__ import annotations

import itertools
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tests.conftest import SAMPLES
from tests.running import Running, start

from rayscope.ray_api.fields import RESOURCES
from rayscope.storage import catalog

#: Requests besides all GET paths.
POSTS: dict[str, dict[str, Any]] = {
    "/api/v1/what-if": {"changes": [{"kind": "no_startup"}]},
    "/api/v1/sql": {"sql": "SELECT count(*) FROM tasks"},
    "/api/v1/flow/stack/frames": {},
}
#: Paths of Ray's own API below that of a session, besides its lists.
RAYS = (
    *("api/jobs/", "nodes?view=summary", "nodes/{node_id}", "logical/actors", "logical/actors/{actor_id}"),
    *("events", "events?job_id={job_id}", "api/cluster_status", "api/cluster_status?format=1"),
    *("api/v0/tasks/timeline", "api/v0/tasks/summarize?summary_by=lineage", "api/v0/platform_events"),
    *("api/serve/applications/", "api/data/datasets/{job_id}", "api/train/v2/runs/v1"),
)
#: Parameters of GET paths that need some, in addition to ``session``.
NEEDED: dict[str, dict[str, str]] = {
    "/api/v1/compare": {"b": "/"},
    "/api/v1/compare/findings": {"a": "/", "b": "/"},
    "/api/v1/compare/lines": {"a": "/", "b": "/", "function": "f"},
    "/api/v1/deaths": {"kind": "actor"},
    "/api/v1/find": {"q": "a"},
    "/api/v1/logs/of": {"task_id": "a" * 48},
    "/api/v1/logs/file": {"node_id": "a" * 56, "name": "raylet.out"},
    "/api/v1/logs/download": {"node_id": "a" * 56, "name": "raylet.out"},
    "/api/v1/logs/search": {"q": "error"},
    "/api/v1/metrics/query": {"expr": "up"},
    "/api/v1/metrics/label-values": {"label": "node_ip"},
    "/api/v1/realtime": {"topic": "cluster"},
    "/api/v1/export": {"format": "perfetto"},
    "/api/v1/lines/export": {"format": "pprof"},
    "/api/v1/memory-lines": {"profile": "a" * 16},
    "/api/v1/flow/physical/node": {"on_node": "a" * 56},
}
#: Answers that are the same for all sessions.
OTHERS = (
    "/api/v1/alerts",
    "/api/v1/dashboards",
    "/api/health",
    "/api/v1/operator",
    "/api/v1/prometheus",
    "/api/v1/runs",
    "/docs",
    "/metrics",
)
#: Cases in one run, besides those of :data:`ALWAYS`; all of them with `--hypothesis-profile=thorough`.
CHOSEN = 6
#: The first events of a session, and those without a time.
ALWAYS = [("taskDefinitionEvent",), ("taskLifecycleEvent",), ("actorTaskDefinitionEvent",)]


def kinds() -> dict[str, dict[str, Any]]:
    """An event of each kind in the samples: by the message that it holds, and by what our tracer reports."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(SAMPLES.glob("*-2.60*.json")) + sorted(SAMPLES.glob("ray-2.50.json")):
        batches = json.loads(path.read_text())
        for event in itertools.chain.from_iterable(
            batch if isinstance(batch, list) else [] for batch in batches
        ):
            part = next((name for name in event if name.endswith(("Event", "Events"))), None)
            if part is None:
                continue
            entries = (event[part].get("profileEvents") or {}).get("events") or [{}]
            name = str(entries[0].get("eventName", "")).partition("::")[0]
            found.setdefault(f"{part} {name}".strip(), event)
    return found


KINDS = kinds()


def cases() -> list[tuple[str, ...]]:
    others = [(kind,) for kind in KINDS if (kind,) not in ALWAYS] + list(itertools.combinations(KINDS, 2))
    is_thorough = settings().max_examples >= settings.get_profile("thorough").max_examples
    return ALWAYS + (others if is_thorough else random.sample(others, CHOSEN))


@pytest.fixture(scope="module")
def sessions(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Running, dict[str, tuple[str, ...]]]]:
    """A server, and its sessions by name with the kinds that each holds."""
    of = {f"session_2026-01-01_00-00-00_000000_{number}": case for number, case in enumerate(cases(), 1)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog, "_MAX_NEW", len(of) + 1)
        for running in start(tmp_path_factory.mktemp("data"), []):
            assert running.server.services is not None
            writer = running.server.services.writer
            for session, case in of.items():
                writer.submit(json.dumps([KINDS[kind] | {"sessionName": session} for kind in case]).encode())
            assert writer.flush(600)
            yield running, of


def requests_of(running: Running, session: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    ids = {}
    for path, name in (
        ("tasks", "task_id"),
        ("actors", "actor_id"),
        ("jobs", "job_id"),
        ("nodes", "node_id"),
    ):
        internal = {} if path == "tasks" else {"internal": True}
        items = running.get(f"/api/v1/{path}", session=session, **internal)["items"]
        ids[name] = items[0][name] if items else "a" * 48
    for path, methods in running.get("/openapi.json")["paths"].items():
        if "get" not in methods or path.startswith(OTHERS):
            continue
        kind = path.split("/")[3].removesuffix("s")
        known = ids | {"object_id": "a" * 56, "entity_id": ids.get(f"{kind}_id", "a" * 56)}
        filled = path.format_map(defaultdict(lambda: "a" * 48, known))
        has_session = any(one["name"] == "session" for one in methods["get"].get("parameters", ()))
        params = ({"session": session} if has_session else {}) | NEEDED.get(path, {})
        yield path, lambda filled=filled, params=params: running.client.get(filled, params=params)
    for name in [
        *RESOURCES,
        *(f"{name}/summarize" for name in ("tasks", "actors", "objects")),
    ]:
        path = f"/ray/{session}/api/v0/{name}"
        yield path, lambda path=path: running.client.get(path, params={"detail": "true"})
    for path in RAYS:
        path = f"/ray/{session}/{path.format(**ids)}"
        yield path, lambda path=path: running.client.get(path)
    for path, body in POSTS.items():
        yield path, lambda path=path, body=body: running.client.post(path, json=body | {"session": session})


def test_there_is_an_event_of_each_kind_of_task_event() -> None:
    parts = {kind.split()[0] for kind in KINDS}
    assert parts >= {
        "taskDefinitionEvent",
        "taskLifecycleEvent",
        "taskProfileEvents",
        "actorTaskDefinitionEvent",
    }
    assert len(parts) >= 10


def test_every_request_is_answered(sessions: tuple[Running, dict[str, tuple[str, ...]]]) -> None:
    """With what its route promises, or with an error that has a remedy."""
    running, of = sessions
    odd = []
    for session, case in of.items():
        for path, ask in requests_of(running, session):
            answer = ask()
            if answer.status_code not in (200, 400, 404, 409):
                odd.append((answer.status_code, path, case, answer.text[:200]))
            elif answer.status_code != 200:
                running.error(answer, answer.status_code)
    assert not odd


def test_looks_for_findings_log_nothing(
    sessions: tuple[Running, dict[str, tuple[str, ...]]], caplog: pytest.LogCaptureFixture
) -> None:
    running, _ = sessions
    assert running.server.services is not None
    findings = running.server.services.findings
    findings._written.clear()
    findings._evaluate_sessions()
    assert not [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")]


def test_an_error_that_nothing_foresaw_has_the_shape_of_all_errors(
    fresh: Running, bodies: list[bytes], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fresh.ingest(*bodies)
    assert fresh.server.services is not None
    records = fresh.server.services.records

    def fail(error: Exception) -> Callable[..., Any]:
        def raise_it(*_: Any, **__: Any) -> Any:
            raise error

        return raise_it

    monkeypatch.setattr(records, "read_with_age", fail(ZeroDivisionError("what")))
    answer = fresh.client.get("/api/v1/insights")
    assert fresh.error(answer, 500)["code"] == "internal"
    assert answer.headers["x-content-type-options"] == "nosniff"
    monkeypatch.setattr(records, "read_with_age", fail(MemoryError()))
    answer = fresh.client.get("/api/v1/insights")
    assert fresh.error(answer, 503)["code"] == "memory"
    assert int(answer.headers["retry-after"]) > 0
    assert "ZeroDivisionError: what" in caplog.text  # with its traceback


def test_a_body_without_memory_is_sent_again(
    fresh: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chunks of a body fit into memory, and the whole of it does not."""
    from rayscope.ingest import bodies as ingest_bodies

    class Chunks(list[bytes]):
        def __iter__(self) -> Iterator[bytes]:
            raise MemoryError

    class Body(ingest_bodies._Body):
        def __init__(self) -> None:
            super().__init__()
            self.chunks = Chunks()

    monkeypatch.setattr(ingest_bodies, "_Body", Body)
    answer = fresh.client.post(fresh.server.ingest_url, content=b"[]")
    assert fresh.error(answer, 503)["code"] == "memory"
    assert int(answer.headers["retry-after"]) > 0
    assert fresh.server.services is not None
    assert fresh.server.services.bodies._size == 0
