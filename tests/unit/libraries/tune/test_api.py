"""Ray Tune's experiments of a record with known results: counted and cut-off trials."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.story import DRIVER, JOB, MS, ORIGIN_NS, Story
from tests.waiting import wait_until

from rayscope.model import Entity, Span

S = 1_000 * MS


def result(story: Story, trial: str, iteration: int, when: int, metrics: dict[str, Any]) -> None:
    extra = {"experiment": "e1", "trial": trial, "iteration": iteration, "seconds": 1.5, "metrics": metrics}
    span(story, when, msgspec.json.encode(extra).decode())


def span(story: Story, when: int, extra: str, name: str = "tune.result") -> None:
    at = ORIGIN_NS + when * MS
    story.batch.spans.append(Span(DRIVER, 0, name, at, at, extra))


def trial(number: int, state: str, **observed: Any) -> Entity:
    fields: dict[str, Any] = {"experiment_id": "e1", "trial_id": f"t{number}", "job_id": JOB}
    parameters = msgspec.json.encode({"lr": number / 10, "opt": "sgd"}).decode()
    known = {"state": state, "parameters": parameters, "metrics": "{}", "iterations": 0, **observed}
    return Entity("tune_trial", f"e1/t{number}", fields, {}, ORIGIN_NS, known)


@pytest.fixture
def server(fresh: Any) -> Any:
    story = Story()
    fields = {"name": "asha", "job_id": JOB, "metric": "loss", "mode": "min", "path": "/r/asha"}
    observed: dict[str, Any] = {"state": "RUNNING", "start_ns": ORIGIN_NS}
    story.batch.entities += [
        Entity("tune_experiment", "e1", fields, {}, ORIGIN_NS, observed),
        trial(0, "RUNNING", start_ns=ORIGIN_NS),
        trial(1, "TERMINATED", start_ns=ORIGIN_NS, end_ns=ORIGIN_NS + S, end_reason="early"),
        trial(2, "PENDING", name="asha_t2"),
        # As it was restored: its last result came before there was a record.
        trial(3, "TERMINATED", metrics='{"loss":0.25}', iterations=9),
    ]
    result(story, "t0", 1, 10, {"loss": 3, "acc": 0.5})
    result(story, "t0", 2, 20, {"loss": 2, "acc": 0.75})
    result(story, "t0", 2, 30, {"loss": 1, "acc": "nan"})  # again, from a checkpoint
    result(story, "t1", 1, 40, {"loss": "nan"})
    result(story, "t1", 2, 50, {"loss": 4})
    span(story, 60, "{")
    span(story, 60, msgspec.json.encode({"user": {"experiment": "e1", "trial": "t0"}}).decode())
    span(story, 60, msgspec.json.encode({"calls": 7}).decode(), "rayscope.tune_result")
    fresh.record(story)
    return fresh


def test_the_best_so_far_is_by_the_last_result_of_each_trial(server: Any) -> None:
    (item,) = server.get("/api/v1/tune")["items"]
    assert (item["best_trial_id"], item["best_value"], item["results"]) == ("t3", 0.25, 4)
    assert (item["trial_count"], item["stopped_early"]) == (4, 1)
    answer = server.get("/api/v1/tune/e1")
    zero, one, two, three = answer["trials"]
    assert (zero["iterations"], zero["value"], zero["best_value"], zero["results"]) == (2, 1, 1, 2)
    assert (one["value"], one["best_value"], one["end_reason"]) == (4, 4, "early")
    assert (two["value"], two["start_ns"]) == (None, None)
    assert (three["value"], three["iterations"], three["results"]) == (0.25, 9, 0)
    assert answer["lines"] == [
        {"trial_id": "t0", "points": [[1, 3], [2, 1]]},
        {"trial_id": "t1", "points": [[2, 4]]},
    ]
    assert answer["metrics"] == ["loss", "acc"]
    assert answer["results_left_out"] == 7
    assert [(one["name"], one["varies"]) for one in answer["parameters"]] == [("lr", True), ("opt", False)]


def test_any_metric_can_be_chosen_and_whether_less_of_it_is_better(server: Any) -> None:
    answer = server.get("/api/v1/tune/e1", metric="acc")
    # Whether more of it is better is not known: there is no best one.
    assert (answer["shown_mode"], answer["shown_best_trial_id"]) == (None, None)
    assert answer["lines"] == [{"trial_id": "t0", "points": [[1, 0.5]]}]
    assert answer["trials"][0]["metrics"]["acc"] == "nan"
    most = server.get("/api/v1/tune/e1", metric="loss", mode="max")
    assert most["shown_best_trial_id"] == "t1"
    assert server.get("/api/v1/tune/e1", metric="no such")["lines"] == []
    server.error(server.client.get("/api/v1/tune/none"), 404)


def test_a_search_finds_experiments_and_trials(server: Any) -> None:
    found = {group["kind"]: group["items"] for group in server.get("/api/v1/find", q="asha")["groups"]}
    assert [(one["id"], one["name"], one["state"]) for one in found["tune_experiment"]] == [
        ("e1", "asha", "RUNNING")
    ]
    assert [one["id"] for one in found["tune_trial"]] == ["e1/t2"]


def test_running_trials_are_cut_off_with_their_job(server: Any) -> None:
    story = Story()
    end = ORIGIN_NS + 9 * S
    story.batch.entities.append(Entity("job", JOB, {}, {(end, "FINISHED"): {"end_ns": end}}))
    server.record(story)
    (item,) = server.get("/api/v1/tune")["items"]
    assert (item["state"], item["end_known_by"], item["end_ns"]) == ("CUT_OFF", "job", end)
    assert item["trial_states"] == {"CUT_OFF": 2, "TERMINATED": 2}
    running, _, pending, _ = server.get("/api/v1/tune/e1")["trials"]
    assert (running["end_ns"], pending["end_ns"]) == (end, None)


def test_running_trials_of_an_interrupted_experiment_are_cut_off(server: Any) -> None:
    story = Story()
    end = ORIGIN_NS + 9 * S
    observed = {"state": "INTERRUPTED", "start_ns": ORIGIN_NS, "end_ns": end}
    experiment = Entity("tune_experiment", "e1", {}, {}, ORIGIN_NS + 1, observed)
    # Ray Tune terminates it to clean up.
    stopped = trial(0, "TERMINATED", start_ns=ORIGIN_NS, end_ns=end - S)
    stopped.observed_ns += 1
    story.batch.entities += [experiment, stopped]
    server.record(story)
    (item,) = server.get("/api/v1/tune")["items"]
    assert (item["state"], item["trial_states"]) == ("INTERRUPTED", {"CUT_OFF": 2, "TERMINATED": 2})
    zero, one, two, three = server.get("/api/v1/tune/e1")["trials"]
    assert (zero["state"], zero["end_ns"], two["state"], two["end_ns"]) == (
        "CUT_OFF",
        end - S,
        "CUT_OFF",
        None,
    )
    # Ended by itself; restored as it was.
    assert (one["state"], one["end_reason"], three["state"]) == ("TERMINATED", "early", "TERMINATED")


def test_a_score_that_is_no_number_is_neither_best_nor_worst(server: Any) -> None:
    story = Story()
    story.batch.entities.append(trial(4, "RUNNING", start_ns=ORIGIN_NS))
    result(story, "t4", 1, 40, {"loss": 0.125})
    result(story, "t4", 2, 50, {"loss": "nan"})
    result(story, "t3", 10, 50, {"loss": "-inf"})
    server.record(story)
    (item,) = server.get("/api/v1/tune")["items"]
    assert (item["best_trial_id"], item["best_value"]) == ("t0", 1)
    for mode, best, value in (("min", "t0", 0.125), ("max", "t1", 0.125)):
        answer = server.get("/api/v1/tune/e1", mode=mode)
        last = answer["trials"][4]
        assert answer["shown_best_trial_id"] == best
        assert (last["value"], last["best_value"], last["best_iteration"]) == (None, value, 1)


def test_trials_without_the_tracer_are_a_problem(fresh: Any) -> None:
    story = Story()
    story.task("f", 0, 1, 2)
    actor = Entity("actor", "c" * 24 + JOB, {"class_name": "ImplicitFunc", "job_id": JOB, "start_ns": 1})
    story.batch.entities.append(actor)
    fresh.record(story)
    page = fresh.get("/api/v1/tune")
    assert page["items"] == []
    assert "1 actor ran a trial" in page["problem"]["message"]
    assert "rayscope run" in page["problem"]["remedy"]
    wait_until(lambda: "tune" in fresh.get("/api/v1/cluster")["libraries"], "the libraries in use")


def test_a_session_without_ray_tune_does_not_mention_it(fresh: Any) -> None:
    story = Story()
    story.task("f", 0, 1, 2)
    fresh.record(story)
    assert fresh.get("/api/v1/tune")["problem"] is None
    assert "tune" not in fresh.get("/api/v1/cluster")["libraries"]
