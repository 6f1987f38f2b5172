"""The page of Ray Train in Chromium: a run that fails, its second attempt, and the finished run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from rayscope.model import Entity, RecordBatch, Span
from rayscope.server.runner import Server
from rayscope.settings import Settings

pytestmark = [pytest.mark.e2e]

SESSION = "session_2026-01-02_03-04-05_000000_1"
RUN = "5" * 32
JOB = "01000000"
NODE = "a" * 56
CONTROLLER = "c" * 24 + JOB
ATTEMPTS = ("6" * 32, "7" * 32)
S, MS = 10**9, 10**6
ERROR = "[Rank 1 Error Snippet]:\nTraceback (most recent call last):\nValueError: the disk is full\n"


def _attempt(number: int, begin_ns: int, end_ns: int, steps: int) -> RecordBatch:
    """Two workers that each report ``steps`` times; rank 1 is slow in the second step."""
    failed, attempt_id = number == 0, ATTEMPTS[number]
    ended = {"state": "ERRORED" if failed else "FINISHED", "start_ns": begin_ns, "end_ns": end_ns}
    detail = {"status_detail": ERROR} if failed else {}
    batch = RecordBatch(SESSION)
    of: dict[str, str | int | float | bool] = {"run_id": RUN, "job_id": JOB}
    batch.entities.append(Entity("train_attempt", attempt_id, dict(of), {}, end_ns, {**ended, **detail}))
    for rank in (0, 1):
        actor = f"{number}{rank}" * 12 + JOB
        fields = of | {"attempt_id": attempt_id, "world_rank": rank, "local_rank": rank, "actor_id": actor}
        fields |= {"node_id": NODE, "pid": 100 + rank, "gpu_ids": json.dumps([rank])}
        fields["log_path"] = f"/tmp/ray/{SESSION}/logs/train/ray-train-app-worker-{number}{rank}.log"
        worker = f"{attempt_id}/{rank}"
        batch.entities.append(Entity("train_worker", worker, fields, {}, end_ns, {"state": "DEAD"}))
        since = begin_ns
        for step in range(steps):
            report = begin_ns + step * S + (900 if step == 1 and rank == 1 else 100) * MS
            values = {"step": step, "rank": rank, "metrics": {"loss": "nan" if step == 2 else 1 / (step + 1)}}
            values |= {"since_ns": since, "data_ns": 40 * MS}
            if step == 1 and rank == 0:
                values["checkpoint"] = "/mnt/results/checkpoint_1"
            since = begin_ns + step * S + 950 * MS
            batch.spans.append(Span("f" * 16 + actor, 0, "train.report", report, since, json.dumps(values)))
    return batch


def _run(now_ns: int, state: str) -> Entity:
    settings = {"train_loop_config": json.dumps({"lr": 0.1})}
    fields = {"name": "digits", "job_id": JOB, "controller_actor_id": CONTROLLER, **settings}
    observed: dict[str, str | int | float | bool] = {"state": state, "start_ns": now_ns - 30 * S}
    if state == "FINISHED":
        observed["end_ns"] = now_ns
    return Entity("train_run", RUN, dict(fields), {}, now_ns, observed)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(Settings(data_dir=tmp_path / "data", port=0, push_interval_s=0.5))
    made.start()
    yield made
    made.stop()


def _record(server: Server, *batches: RecordBatch) -> None:
    assert server.services is not None
    for batch in batches:
        server.services.writer.submit_records(batch, "events")
    server.services.writer.flush()


def test_a_run_from_its_restart_to_the_end_of_its_cluster(server: Server, page: Page) -> None:
    now = time.time_ns()
    first = _attempt(0, now - 28 * S, now - 20 * S, 1)
    _record(server, first, RecordBatch(SESSION, entities=[_run(now, "RESTARTING")]))
    page.goto(f"{server.url}/s/{SESSION}/overview")
    page.get_by_test_id("nav-train").click()
    expect(page.get_by_test_id("train-name")).to_have_text("digits")
    expect(page.get_by_test_id("train-run")).to_contain_text("Restarting")
    attempts = page.get_by_test_id("train-attempts")
    expect(attempts).to_contain_text("ValueError: the disk is full")
    expect(page.get_by_test_id("train-attempt")).to_have_count(1)
    expect(page.get_by_test_id("train-worker")).to_have_count(2)

    # The second attempt comes by itself, and is the one that is shown.
    _record(
        server,
        _attempt(1, now - 18 * S, now - 10 * S, 3),
        RecordBatch(SESSION, entities=[_run(now + S, "FINISHED")]),
    )
    _check_finished(page)

    assert server.services is not None
    server.services.writer.end_session(SESSION, now + 2 * S)
    server.services.writer.flush()
    page.reload()
    _check_finished(page)

    page.get_by_test_id("train-attempt").first.click()
    expect(page.get_by_test_id("train-attempt").first).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_test_id("train-stragglers")).to_have_text("No rank straggled.")


def _check_finished(page: Page) -> None:
    """Check the page of the finished run."""
    expect(page.get_by_test_id("train-run")).to_contain_text("Finished")
    expect(page.get_by_test_id("train-run")).to_contain_text("1 of 2 failed")
    expect(page.get_by_test_id("train-attempt")).to_have_count(2)
    expect(page.get_by_test_id("train-attempt").last).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_test_id("train-metric")).to_have_count(1)
    expect(page.get_by_test_id("train-metric")).to_contain_text("NaN or infinite from step 2 (rank 0)")
    expect(page.get_by_test_id("train-steps").locator("g")).to_have_count(6)
    expect(page.get_by_test_id("train-steps").locator("g[data-straggles]")).to_have_count(1)
    expect(page.get_by_test_id("train-stragglers")).to_have_text("rank 1 straggled in 1 of 3 steps.")
    expect(page.get_by_test_id("train-checkpoints")).to_contain_text("/mnt/results/checkpoint_1")
    page.get_by_text("Training loop configuration").click()
    expect(page.get_by_test_id("train-settings")).to_contain_text('"lr": 0.1')
