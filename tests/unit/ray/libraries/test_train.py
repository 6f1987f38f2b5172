"""Ray Train's state, as the dashboard reports it, as records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from rayscope.model import Entity
from rayscope.ray.dashboard import Dashboard, DashboardError
from rayscope.ray.gcs.client import GcsClient
from rayscope.ray.libraries import train

SAMPLE = json.loads((Path(__file__).parents[1] / "samples" / "train-2.60.json").read_text())


class _Dashboard(Dashboard):
    """One with a fixed answer."""

    def __init__(self, answer: Any) -> None:
        super().__init__("http://dashboard:1")
        self._answer = answer

    def get(self, path: str, timeout_s: float | None = None) -> Any:
        assert path == "/api/train/v2/runs/v1"
        return self._answer


def read(answer: Any) -> list[Entity]:
    return train.read(_Dashboard(answer), cast("GcsClient", None), 7)


def test_a_run_its_attempt_and_its_workers() -> None:
    run, attempt, first, second = read(SAMPLE)
    assert (run.kind, run.id) == ("train_run", "95f687ac7af44cb9b0814aa443e6cdea")
    assert run.observed == {
        "state": "FINISHED",
        "start_ns": 1795633269653380161,
        "end_ns": 1795633363185230691,
    }
    assert run.has_ended
    assert (run.fields["name"], run.fields["job_id"]) == ("exp", "01000000")
    assert json.loads(str(run.fields["scaling_config"]))["num_workers"] == 2
    assert json.loads(str(run.fields["datasets"])) == ["train"]
    assert (attempt.kind, attempt.fields["run_id"], attempt.has_ended) == ("train_attempt", run.id, True)
    assert [one.id for one in (first, second)] == [f"{attempt.id}/0", f"{attempt.id}/1"]
    assert (second.fields["world_rank"], second.fields["pid"], second.fields["node_rank"]) == (1, 1663, 0)
    assert str(first.fields["log_path"]).endswith(".log")
    assert first.observed == {"state": "DEAD", "end_ns": attempt.observed["end_ns"]}


def test_an_older_ray_has_no_settings() -> None:
    old = json.loads(json.dumps(SAMPLE))
    del old["train_runs"][0]["run_settings"], old["train_runs"][0]["framework_versions"]
    assert "run_config" not in read(old)[0].fields


def test_secrets_stay_out_of_the_settings() -> None:
    odd = json.loads(json.dumps(SAMPLE))
    settings = odd["train_runs"][0]["run_settings"]
    settings["train_loop_config"] = {"max_tokens": 5, "hf_token": "hush", "in": [{"API-KEY": "hush"}]}
    settings["run_config"] = {
        "worker_runtime_env": {"env_vars": {"A": "hush"}},
        "storage_path": "s3://me:hush@bucket/x",
    }
    run = read(odd)[0]
    assert "hush" not in json.dumps(run.fields)
    assert json.loads(str(run.fields["train_loop_config"]))["max_tokens"] == 5


@pytest.mark.parametrize("answer", [None, [], "text", {}, {"train_runs": {}}])
def test_an_invalid_answer_is_a_problem(answer: Any) -> None:
    with pytest.raises(DashboardError, match="no list of training runs"):
        read(answer)


def test_hostile_answers_make_no_harm() -> None:
    deep: Any = {}
    for _ in range(5_000):
        deep = {"in": deep}
    worker = {"world_rank": 2**80}, {"world_rank": True}, {"world_rank": -1}, "text", None
    attempts = [{"attempt_id": "b" * 9_999, "workers": [*worker, {"world_rank": 1, "gpu_ids": "x"}]}, 5]
    answer = {
        "train_runs": [
            None,
            {"id": 5},
            {
                "id": "a",
                "name": "n" * 10**6,
                "status": ["RUNNING"],
                "status_detail": "e" * 10**6,
                "start_time_ns": "now",
                "end_time_ns": 1e300,
                "run_settings": {"run_config": deep, "datasets": "\ud800", "scaling_config": 5},
                "attempts": attempts,
            },
        ]
    }
    run, attempt, one = read(answer)
    assert (run.id, len(str(run.fields["name"])), len(str(run.observed["status_detail"]))) == (
        "a",
        2_000,
        60_000,
    )
    assert set(run.observed) == {"status_detail"}
    assert not {"run_config", "datasets"} & run.fields.keys()
    assert len(attempt.id) == 200
    assert one.fields["world_rank"] == 1
    assert "gpu_ids" not in one.fields
