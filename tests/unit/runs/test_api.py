"""Runs over the API: summaries of jobs whose numbers are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.running import Running, start
from tests.story import JOB, MS, ORIGIN_NS, SESSION, Story
from tests.waiting import TIMEOUT_S, wait_until

from rayscope.model import Entity
from rayscope.runs import service
from rayscope.runs.summary import RunSummary
from rayscope.server.lifecycle import create_services
from rayscope.settings import Settings
from rayscope.storage.about import Label

OTHER = "02000000"


def job(
    story: Story, job: str, since: float, took: float, calls: int = 2, state: str = "SUCCEEDED", **fields: Any
) -> None:
    """A job with calls of one function after each other, which take the whole of its time."""
    each = took / calls
    for number in range(calls):
        begin = since + number * each
        story.task("step", begin, begin, begin + each, parent="f" * 40 + job, job=job)
    begin_ns, end_ns = (ORIGIN_NS + round(ms * MS) for ms in (since, since + took))
    fields = {"entrypoint": "python train.py --lr 1", "start_ns": begin_ns, "end_ns": end_ns, **fields}
    entity = Entity("job", job, fields)
    entity.transitions = {(begin_ns, "RUNNING"): {}, (end_ns, state): {}}
    story.batch.entities.append(entity)


def record(running: Running, durations: Sequence[float], **fields: Any) -> None:
    """Jobs of one session that took so long (ms), one after the other."""
    story = Story()
    for number, took in enumerate(durations):
        job(story, f"{number + 1:08x}", 10_000 * number, took, **fields)
    running.record(story)


def runs_of(running: Running, number: int, **params: Any) -> list[Any]:
    """The runs on the list, as soon as there are this many, the oldest first."""
    found: list[Any] = []

    def is_listed() -> bool:
        found[:] = running.get("/api/v1/runs", sort="begin_ns", **params)["items"]
        return len(found) >= number

    wait_until(is_listed, f"{number} runs")
    assert len(found) == number
    return found


def operator(running: Running) -> dict[str, str]:
    return {"X-Rayscope-Operator": (running.folder / "operator").read_text().strip()}


def mark(running: Running, run: Any, **marks: Any) -> Any:
    path = f"/api/v1/runs/{run['session']}/{run['job_id']}"
    answer = running.client.put(path, json=marks, headers=operator(running))
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_session_has_its_worst_outcome_and_its_slower_job(fresh: Running) -> None:
    story = Story()
    durations = [100, 101, 99, 100, 101, 150]
    for number, took in enumerate(durations):
        job(story, f"{number + 1:08x}", 10_000 * number, took)
    job(story, "000000aa", 90_000, 100, state="FAILED")
    fresh.record(story)
    (session,) = fresh.get("/api/v1/sessions")["items"]
    assert session["outcome"] is None or session["outcome"] == "FAILED"  # before and after the summaries
    runs = runs_of(fresh, len(durations) + 1)
    (session,) = fresh.get("/api/v1/sessions")["items"]
    assert session["outcome"] == "FAILED"
    (slow,) = (run for run in runs if run["verdict"] == "slower")
    assert session["slower"] == {
        "script": "train.py",
        "variant": "",
        "ratio": slow["ratio"],
        "usual": {"runs": slow["usual"]["runs"], "mid_ns": slow["usual"]["mid_ns"]},
    }


def test_a_summary_says_what_the_record_says(fresh: Running) -> None:
    story = Story()
    job(story, JOB, 100, 400, metadata='{"team": "search"}', versions='{"git_commit": "abc123"}')
    story.task("fails", 150, 160, 170, failed=True, resources='{"CPU": 1.0, "GPU": 2.0}')
    fresh.record(story)
    (run,) = runs_of(fresh, 1)
    assert (run["session"], run["job_id"], run["script"]) == (SESSION, JOB, "train.py")
    assert (run["name"], run["metadata"]) == ("train.py --lr 1", {"team": "search"})
    assert (run["begin_ns"], run["duration_ns"]) == (ORIGIN_NS + 100 * MS, 400 * MS)
    assert (run["outcome"], run["tasks"], run["attempts"], run["failed"]) == ("SUCCEEDED", 3, 3, 1)
    assert run["gpu_ns"] == 20 * MS  # two GPUs for 10 ms
    assert (run["cpu_ns"], run["peak_memory"]) == (None, None)  # the tracer was off
    assert (run["git_commit"], run["traced"]) == ("abc123", False)
    assert (run["verdict"], run["reason"], run["comparable"]) == ("unknown", "few_runs", 0)
    answer = fresh.get(f"/api/v1/runs/{SESSION}/{JOB}")
    assert answer["run"] == run
    assert [(one["name"], one["attempts"], one["total_ns"]) for one in answer["functions"]] == [
        ("step", 2, 400 * MS),
        ("fails", 1, 10 * MS),
    ]


@pytest.mark.parametrize(
    "metadata", ['{"a": "\\ud800"}', '{"a": "\\udc00"}', "[" * 100_000, '{"a": ' * 10_000]
)
def test_malformed_metadata_is_left_out(fresh: Running, metadata: str) -> None:
    story = Story()
    job(story, JOB, 100, 400, metadata=metadata)
    fresh.record(story)
    (run,) = runs_of(fresh, 1)
    assert run["metadata"] == {}


def test_an_error_of_one_session_does_not_affect_the_others(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any) -> Any:
        raise RuntimeError("a bug")

    assert fresh.server.services is not None
    runs = fresh.server.services.runs
    with monkeypatch.context() as patched:
        patched.setattr(service, "_read_jobs", fail)
        record(fresh, [100])
        wait_until(lambda: SESSION in runs._retry_s, "an error")
    later = Story()
    later.batch.session = "session_later"
    job(later, JOB, 0, 100)
    fresh.record(later)
    assert runs_of(fresh, 1)[0]["session"] == "session_later"


def test_a_run_is_judged_against_the_earlier_runs_of_its_script(fresh: Running) -> None:
    record(fresh, [100, 101, 99, 100, 102, 100, 130, 70])
    runs = runs_of(fresh, 8)
    verdicts = [run["verdict"] for run in runs]
    assert verdicts == ["unknown"] * 5 + ["as_usual", "slower", "faster"]
    slower = runs[6]
    assert slower["ratio"] == pytest.approx(1.3, abs=0.02)
    assert slower["comparable"] == 6
    assert slower["usual"]["low_ns"] < 100 * MS < slower["usual"]["high_ns"] < 130 * MS
    assert [run["job_id"] for run in runs_of(fresh, 1, verdict="slower")] == [slower["job_id"]]


def test_only_comparable_runs_count(fresh: Running) -> None:
    story = Story()
    for number in range(5):
        job(story, f"{number + 1:08x}", 1_000 * number, 100)
    job(story, "0a000000", 20_000, 100, state="FAILED")
    job(story, "0b000000", 21_000, 100, entrypoint="python other.py")
    job(story, "0c000000", 22_000, 100)
    fresh.record(story)
    failed, other, last = runs_of(fresh, 8)[5:]
    assert (failed["verdict"], failed["reason"]) == ("unknown", "outcome")
    assert (other["reason"], other["comparable"]) == ("few_runs", 0)
    assert (last["verdict"], last["comparable"]) == ("as_usual", 5)


def test_a_run_that_is_left_out_is_not_usual(fresh: Running) -> None:
    record(fresh, [100] * 6)
    first, *_, last = runs_of(fresh, 6)
    assert last["comparable"] == 5
    assert mark(fresh, first, left_out=True)["left_out"] is True
    last = runs_of(fresh, 6)[-1]
    assert (last["comparable"], last["reason"]) == (4, "few_runs")


def test_tags_with_an_equals_sign_make_a_group_of_their_own(fresh: Running) -> None:
    record(fresh, [100] * 6)
    last = runs_of(fresh, 6)[-1]
    last = mark(fresh, last, tags=["data=large", "nightly", " nightly "])
    assert (last["tags"], last["variant"], last["comparable"]) == (
        ["data=large", "nightly"],
        "data=large",
        0,
    )
    assert len(runs_of(fresh, 1, tag="data=large,nightly")) == 1
    assert fresh.get("/api/v1/runs", tag="data")["total"] == 0
    assert len(runs_of(fresh, 5, variant="none")) == 5
    groups = fresh.get("/api/v1/runs")["groups"]
    assert [(one["script"], one["variant"], one["runs"]) for one in groups] == [
        ("train.py", "", 5),
        ("train.py", "data=large", 1),
    ]


def test_a_run_has_the_tags_of_its_session_until_it_gets_its_own(fresh: Running) -> None:
    record(fresh, [100, 100])
    first, _ = runs_of(fresh, 2)
    mark(fresh, first, tags=["mine"])
    assert fresh.server.services is not None
    fresh.server.services.catalog.set_label(SESSION, Label(1, tags=("main",)))
    wait_until(lambda: [run["tags"] for run in runs_of(fresh, 2)] == [["mine"], ["main"]], "tags")


def test_marks_need_the_operator(fresh: Running) -> None:
    record(fresh, [100])
    (run,) = runs_of(fresh, 1)
    path = f"/api/v1/runs/{run['session']}/{run['job_id']}"
    assert fresh.client.put(path, json={"baseline": True}).status_code == 403
    error = fresh.client.put("/api/v1/runs/none/1", json={}, headers=operator(fresh))
    assert "Nothing is known about a run" in fresh.error(error, 404)["message"]


def test_a_group_has_one_baseline(fresh: Running) -> None:
    record(fresh, [100, 100])
    first, second = runs_of(fresh, 2)
    mark(fresh, first, baseline=True)
    mark(fresh, second, baseline=True)
    assert [run["baseline"] for run in runs_of(fresh, 2)] == [False, True]
    assert fresh.get("/api/v1/runs/trend", script="train.py")["baseline_ns"] == 100 * MS


def test_the_list_is_filtered_sorted_and_paged(fresh: Running) -> None:
    story = Story()
    job(story, JOB, 0, 100)
    job(story, OTHER, 1_000, 300, calls=3, entrypoint="python other.py", state="FAILED")
    fresh.record(story)
    runs_of(fresh, 2)

    def jobs(**params: Any) -> list[str]:
        return [run["job_id"] for run in fresh.get("/api/v1/runs", **params)["items"]]

    assert jobs() == [OTHER, JOB]
    assert jobs(sort="duration_ns") == [JOB, OTHER]
    assert jobs(script="other.py") == jobs(outcome="failed,stopped") == jobs(q="OTHER") == [OTHER]
    assert jobs(since_ns=ORIGIN_NS + 500 * MS) == [OTHER]
    assert jobs(until_ns=ORIGIN_NS) == [JOB]
    assert jobs(in_session="none") == jobs(cluster="none") == []
    page = fresh.get("/api/v1/runs", limit=1, sort="-tasks")
    assert (page["items"][0]["job_id"], page["total"]) == (OTHER, 2)
    page = fresh.get("/api/v1/runs", limit=1, sort="-tasks", cursor=page["next"])
    assert (page["items"][0]["job_id"], page["next"]) == (JOB, None)


def test_a_trend_shows_where_the_level_changed(fresh: Running) -> None:
    record(fresh, [100, 101, 99, 100, 120, 121, 119, 120])
    runs = runs_of(fresh, 8)
    trend = fresh.get("/api/v1/runs/trend", script="train.py")
    assert [point["job_id"] for point in trend["points"]] == [run["job_id"] for run in runs]
    (change,) = trend["changes"]
    assert (change["job_id"], change["ratio"]) == (runs[4]["job_id"], pytest.approx(1.2, abs=0.01))
    assert trend["usual"]["runs"] == 8  # four runs on the new level do not yet say what is usual
    (step,) = trend["functions"]
    assert (step["name"], step["values_ns"][0]) == ("step", 50 * MS)
    assert step["changes"][0]["ratio"] == pytest.approx(1.2, abs=0.01)
    of_step = fresh.get("/api/v1/runs/trend", script="train.py", function="step")
    assert of_step["points"][0]["value_ns"] == 50 * MS
    assert of_step["changes"] == step["changes"]
    error = fresh.client.get("/api/v1/runs/trend", params={"script": "none.py"})
    assert "No run of none.py" in fresh.error(error, 404)["message"]


def test_summaries_outlive_their_record_and_go_with_a_deletion(fresh: Running) -> None:
    record(fresh, [100])
    (run,) = runs_of(fresh, 1)
    assert run["has_record"] is True
    assert fresh.server.services is not None
    services = fresh.server.services
    assert services.writer.remove_session(SESSION)  # as retention does
    (kept,) = runs_of(fresh, 1)
    assert kept == {**run, "has_record": False}
    (point,) = fresh.get("/api/v1/runs/trend", script="train.py")["points"]
    assert point["has_record"] is False
    record(fresh, [100])
    wait_until(lambda: runs_of(fresh, 1)[0]["has_record"], "a record")
    services.deletion.delete(SESSION, force=True)
    assert fresh.get("/api/v1/runs")["total"] == 0


def test_runs_whose_record_is_gone_can_be_deleted(fresh: Running) -> None:
    record(fresh, [100])
    runs_of(fresh, 1)
    assert fresh.server.services is not None
    assert fresh.server.services.writer.remove_session(SESSION)
    path = f"/api/v1/sessions/{SESSION}"
    assert fresh.client.delete(path, headers=operator(fresh)).status_code == 200
    assert fresh.get("/api/v1/runs")["total"] == 0
    assert fresh.client.delete(path, headers=operator(fresh)).status_code == 404


def test_a_data_directory_is_read_without_a_server(tmp_path: Path) -> None:
    for running in start(tmp_path, []):
        record(running, [100, 100])
        first, _ = runs_of(running, 2)
        mark(running, first, left_out=True)
    file = tmp_path / "runs" / "runs.sqlite"

    def read() -> list[bool]:
        services = create_services(Settings(data_dir=tmp_path), read_only=True)
        runs = sorted(services.runs.runs(), key=lambda run: run.begin_ns)
        services.catalog.close()
        return [run.marks.is_left_out for run in runs]

    before = file.read_bytes()
    assert read() == [True, False]
    assert file.read_bytes() == before
    file.write_bytes(b"this is no database" * 1000)
    assert read() == [False, False]  # from the record
    file.unlink()
    assert read() == [False, False]
    assert not file.exists()


def test_an_old_data_directory_gets_its_summaries(tmp_path: Path) -> None:
    for running in start(tmp_path, []):
        record(running, [100, 100])
        first, _ = runs_of(running, 2)
        mark(running, first, baseline=True)
    for running in start(tmp_path, []):  # kept over a restart
        assert [run["baseline"] for run in runs_of(running, 2)] == [True, False]
    (tmp_path / "runs" / "runs.sqlite").write_bytes(b"this is no database" * 1000)
    for running in start(tmp_path, []):  # made again from the record
        assert [run["baseline"] for run in runs_of(running, 2)] == [False, False]
    assert list((tmp_path / "runs").glob("*damaged*"))


def test_the_oldest_runs_go(fresh: Running) -> None:
    record(fresh, [100] * 4)
    first, *_ = runs_of(fresh, 4)
    mark(fresh, first, baseline=True)
    assert fresh.server.services is not None
    fresh.server.services.runs._max_runs = 2
    wait_until(lambda: fresh.get("/api/v1/runs")["total"] == 2, "two runs")
    assert [run["begin_ns"] for run in runs_of(fresh, 2)] == [ORIGIN_NS, ORIGIN_NS + 30_000 * MS]


def test_runs_that_were_dropped_are_not_summarized_again(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(fresh, [100] * 4)
    runs_of(fresh, 4)
    assert fresh.server.services is not None
    runs = fresh.server.services.runs
    runs._max_runs = 2
    wait_until(lambda: len(runs.store.runs()) == 2, "two runs")
    looks: list[Any] = []

    def look(file: Any) -> Any:
        looks.append(file)
        return read_jobs(file)

    def fail(*_: Any) -> Any:
        raise AssertionError("a dropped run is summarized")

    read_jobs = service._read_jobs
    monkeypatch.setattr(service, "_read_jobs", look)
    monkeypatch.setattr(service, "summarize", fail)
    runs.store.set_complete(SESSION, is_complete=False)
    wait_until(lambda: len(looks) > 1 or runs.store.complete or runs._retry_s, "a look")
    assert runs._retry_s == {}


def test_a_session_that_is_deleted_while_it_is_summarized_leaves_no_runs(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fresh.server.services is not None
    services = fresh.server.services
    read, has_read, is_deleted = services.records.read, Event(), Event()

    def read_before_deletion(*args: Any, **options: Any) -> Any:
        found = read(*args, **options)
        if isinstance(found, tuple) and isinstance(found[0], RunSummary):
            has_read.set()
            assert is_deleted.wait(TIMEOUT_S)
        return found

    looks: list[list[str]] = []

    def due(runs: service.Runs) -> list[str]:
        looks.append(find_due(runs))
        return looks[-1]

    find_due = service.Runs._due
    monkeypatch.setattr(service.Runs, "_due", due)
    monkeypatch.setattr(services.records, "read", read_before_deletion)
    record(fresh, [100])
    assert has_read.wait(TIMEOUT_S)
    services.deletion.delete(SESSION, force=True)
    before = len(looks)
    is_deleted.set()
    wait_until(lambda: len(looks) > before, "the next look, before which this one ends")
    assert services.runs.store.runs() == []


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Summaries are due at once."""
    monkeypatch.setattr(service, "_LOOK_S", 0.1)
