"""Ray Train's workers on record: which of them wait in a report."""

from __future__ import annotations

from typing import Any

from tests.story import JOB, MS, ORIGIN_NS, SESSION, Story, at

from rayscope.libraries.train import sql
from rayscope.model import Edge, Entity, Span

CONTROLLER = "c" * 24
RANKS = ["a" * 24, "b" * 24, "d" * 24]
NODE = "5" * 56


def training() -> Story:
    """Three ranks of a run. The first two are in their second report; the third has made its first."""
    story = Story()
    run = {"name": "hangs", "job_id": JOB, "controller_actor_id": CONTROLLER + JOB}
    running = {"state": "RUNNING", "start_ns": ORIGIN_NS}
    story.batch.entities += [
        Entity("train_run", "r1", dict(run), {}, ORIGIN_NS, dict(running)),
        Entity("train_attempt", "a1", {"run_id": "r1", "job_id": JOB}, {}, ORIGIN_NS, dict(running)),
    ]
    story.task("TrainController.run", 0, 10, actor=CONTROLLER, worker="e" * 56)
    for rank, actor in enumerate(RANKS):
        fields: dict[str, Any] = {"run_id": "r1", "attempt_id": "a1", "job_id": JOB, "world_rank": rank}
        fields |= {"actor_id": actor + JOB, "node_id": NODE, "pid": 1000 + rank}
        story.batch.entities.append(
            Entity("train_worker", f"a1/{rank}", fields, {}, ORIGIN_NS, {"state": "ALIVE"})
        )
        story.entity("actor", actor + JOB, 0, class_name="RayTrainWorker", worker_id=f"{rank}" * 56)
        task = "f" * 16 + actor + JOB
        for step in range(1 if rank == 2 else 2):
            begin = at(100 + 100 * step)
            story.batch.edges.append(
                Edge(task, 0, "blocked:train.report", task, 2**32 - 1, None, begin, begin + MS)
            )
            if step == 0:
                extra = f'{{"step":{step},"rank":{rank},"metrics":{{}}}}'
                story.batch.spans.append(Span(task, 0, "train.report", begin, begin + 5 * MS, extra))
    return story


def test_the_ranks_that_wait_in_a_report_are_those_that_the_last_one_holds_up(fresh: Any) -> None:
    fresh.record(training())
    answer = fresh.get("/api/v1/train/r1")
    waiting = [(one["world_rank"], one["reporting_since_ns"]) for one in answer["workers"]]
    assert waiting == [(0, at(200)), (1, at(200)), (2, None)]
    assert answer["steps"] == 1


def test_a_worker_that_is_gone_waits_no_more(fresh: Any) -> None:
    story = training()
    story.batch.entities.append(Entity("train_worker", "a1/0", {}, {}, ORIGIN_NS + 1, {"state": "DEAD"}))
    fresh.record(story)
    gone, waiting, _ = fresh.get("/api/v1/train/r1")["workers"]
    assert (gone["state"], gone["reporting_since_ns"]) == ("DEAD", None)
    assert waiting["reporting_since_ns"] == at(200)


def test_the_progress_of_a_run_is_known_after_several_reports(fresh: Any) -> None:
    story = training()
    fresh.record(story)

    def progress() -> list[Any]:
        rows: list[Any] = fresh.server.services.records.read(SESSION, lambda file: sql.progress(file, 9))
        return rows

    def report(rank: int, step: int, begin: float, end: float) -> None:
        extra = f'{{"step":{step},"rank":{rank},"metrics":{{}},"since_ns":{at(begin)}}}'
        task = "f" * 16 + RANKS[rank] + JOB
        later = Story()
        later.batch.spans.append(Span(task, 0, "train.report", at(begin), at(end), extra))
        fresh.record(later)

    for step in range(1, 6):
        assert progress() == []
        for rank in range(3):
            report(rank, step, 200 * step, 200 * step + 100 + rank)
    assert progress() == [
        {"run_id": "r1", "name": "hangs", "job_id": JOB, "longest_ns": 102 * MS, "silent_ns": 0}
    ]
    # Other data arrive, and a worker that is gone has counted.
    other = Story()
    other.batch.entities.append(Entity("train_worker", "a1/2", {}, {}, ORIGIN_NS + 1, {"state": "DEAD"}))
    other.batch.spans.append(Span("", 0, "rayscope.samples", at(5000), at(6000), "{}"))
    fresh.record(other)
    (row,) = progress()
    assert (row["longest_ns"], row["silent_ns"]) == (102 * MS, (6000 - 1101) * MS)
