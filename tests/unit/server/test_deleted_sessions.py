"""The server keeps nothing in memory about a deleted session."""

from __future__ import annotations

import gc
import types
import urllib.parse

from tests.running import Running
from tests.story import Story
from tests.waiting import wait_until

from rayscope.model import RecordBatch

_PAGES = (
    *(
        "summary",
        "cluster",
        "recording",
        "jobs",
        "nodes",
        "actors",
        "workers",
        "tasks",
        "failures",
        "functions",
    ),
    *("events", "logs", "memory", "alerts", "insights", "scheduling", "metrics/names"),
    *("flow/logical", "flow/physical", "flow/gantt", "flow/stack", "flow/flame", "flow/critical-path"),
)


def _name(number: int) -> str:
    """The name of a session. Tests hold its number, so that they are not found as holders of the name."""
    return f"session_2025-10-09_08-53-20_{number:06}_99"


def _record(running: Running, number: int) -> None:
    """Put a session on record, and fill what the server remembers by session."""
    session = _name(number)
    story = Story(RecordBatch(session))
    story.get(story.task("main", 0, 10, 900), story.task("work", 20, 30, 800), 40, 800)
    running.record(story)
    for page in _PAGES:
        running.get(f"/api/v1/{page}", session=session)
    services = running.server.services
    assert services is not None
    log = services.logs.store(session, make=True)
    assert log is not None
    log.append("a" * 56, "worker.out", 0, b"a line\n", 1)
    services.logs.homes(session, ["b" * 56])
    services.clusters._unreadable.add(session)
    services.runs._retry_s[session] = 0.0


def _holders(number: int) -> list[str]:
    """The types of the objects that hold a string with the session's name."""
    name = _name(number)
    urllib.parse.urlsplit.cache_clear()  # type: ignore[attr-defined]  # the last 128 URLs of the process
    gc.unfreeze()
    gc.collect()
    found = []
    for one in gc.get_objects():
        for part in () if isinstance(one, types.FrameType) else gc.get_referents(one):
            if (
                isinstance(part, str) and name in part
            ):  # in no comprehension, whose closure would hold the name
                found.append(type(one).__qualname__)
    return found


def test_nothing_is_kept_of_a_deleted_session(fresh: Running) -> None:
    _record(fresh, 1)
    assert len(_holders(1)) > 10
    operator = {"X-Rayscope-Operator": (fresh.folder / "operator").read_text().strip()}
    url = f"/api/v1/sessions/{_name(1)}"
    status = fresh.client.delete(url, params={"force": "true"}, headers=operator).status_code
    del url
    assert status == 200

    def is_forgotten() -> bool:
        fresh.get("/api/v1/sessions")  # a connection keeps its last request
        return not _holders(1)

    wait_until(is_forgotten, "the server forgets the deleted session")
