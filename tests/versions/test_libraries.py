"""Programs of PyTorch and RLlib, which need more than our own environment has: the record equals what Ray says.

Not part of the usual run, since it installs torch: ``make test-versions``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from rayscope.cli.recording import child_env
from rayscope.server.runner import Server
from tests.cluster import env_without_ray, turn_to_start
from tests.versions.environments import ENVIRONMENTS, install_wheel, uv
from tests.waiting import TIMEOUT_S, wait_until

RAY, TORCH = "2.60.0", "2.13.0"
HERE = Path(__file__).parent
#: Nodes of the logical graph that are still readable.
MAX_NODES = 30

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(
        not os.environ.get("RAYSCOPE_TEST_LIBRARIES"), reason="RAYSCOPE_TEST_LIBRARIES is not set"
    ),
]


@pytest.fixture(scope="module")
def python(wheel: Path) -> Path:
    """The Python of an environment with all of Ray's libraries, torch and rayscope-agent."""
    found = ENVIRONMENTS / f"{RAY}-torch-{TORCH}" / "bin" / "python"
    if not found.exists():
        uv("venv", "-q", "--seed", "--python", sys.executable, str(found.parents[1]))
    libraries = f"ray[default,data,train,tune,rllib]=={RAY}"
    uv("pip", "install", "-q", "--python", str(found), libraries)
    # By pip, which knows of a wheel that lies on the disk: uv would get the one for CUDA, of some GB.
    subprocess.run([found, "-m", "pip", "install", "-q", f"torch=={TORCH}"], check=True)
    install_wheel(found, wheel)
    return found


class Ran:
    """A program that waits for its end, its printed results, and the server that records it."""

    def __init__(self, server: Server, process: subprocess.Popen[str], results: dict[str, Any]) -> None:
        self._server, self._process, self.results = server, process, results
        (self.session,) = (one["session"] for one in self.get("/sessions", session=None)["items"])

    def get(self, path: str, **params: Any) -> Any:
        """The server's answer about the session."""
        if "session" not in params:
            params["session"] = self.session
        answer = httpx.get(f"{self._server.url}/api/v1{path}", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def end(self) -> None:
        """Let it end, and wait until the server knows that its cluster is gone."""
        out, _ = self._process.communicate("\n", timeout=TIMEOUT_S)
        assert self._process.returncode == 0, out[-4000:]
        wait_until(lambda: self.get("/sessions")["items"][0]["state"] == "ended", "the end")


@contextmanager
def _running(python: Path, server: Server, program: str) -> Iterator[Ran]:
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as home:
        env = child_env(
            server.ingest_url, environ=env_without_ray() | {"HOME": home, "RAY_AUTH_MODE": "disabled"}
        )
        with turn_to_start():
            process = subprocess.Popen(
                [python, str(HERE / program), f"{home}/r"],
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        try:
            assert process.stdout is not None
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line.startswith("results "):
                    break
            else:
                raise AssertionError("".join(lines)[-8000:])
            yield Ran(server, process, json.loads(line.removeprefix("results ")))
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(TIMEOUT_S)


def test_a_training_with_pytorch(python: Path, server: Server) -> None:
    with _running(python, server, "train_program.py") as ran:
        _check_training(ran)
        _check_graph(ran, {"Data: ReadRange->MapBatches(scale)", "Train: workers"})
        ran.end()
        _check_training(ran)
        _check_graph(ran, {"Data: ReadRange->MapBatches(scale)", "Train: workers"})


def _finished(ran: Ran, path: str) -> dict[str, Any]:
    """The only run or experiment, once it is on record that it has finished."""

    def find_ended() -> dict[str, Any] | None:
        items = ran.get(path)["items"]
        assert len(items) <= 1
        return items[0] if [one["state"] for one in items] == ["FINISHED"] else None

    one: dict[str, Any] = wait_until(find_ended, f"the end of what {path} tells")
    return one


def _check_training(ran: Ran) -> None:
    results = ran.results
    (theirs,) = results["runs"]
    assert (theirs["status"], results["error"]) == ("FINISHED", None)

    ours = _finished(ran, "/train")
    assert (ours["run_id"], ours["name"], ours["job_id"]) == (theirs["id"], "line", results["job"])
    assert (ours["start_ns"], ours["end_ns"]) == (theirs["start_time_ns"], theirs["end_time_ns"])
    assert (ours["attempt_count"], ours["failed_attempts"], ours["worker_count"]) == (1, 0, 2)

    run = ran.get(f"/train/{ours['run_id']}")
    assert json.loads(run["settings"]["framework_versions"])["torch"].startswith(TORCH)
    (attempt,) = theirs["attempts"]
    assert [(one["attempt_id"], one["state"], one["reports"]) for one in run["attempts"]] == [
        (attempt["attempt_id"], "FINISHED", 2)
    ]
    for worker, their_worker in zip(run["workers"], attempt["workers"], strict=True):
        for name in ("world_rank", "local_rank", "actor_id", "node_id", "pid"):
            assert worker[name] == their_worker[name]
    lines = {
        (metric["name"], line["rank"]): [value for _, value in line["points"]]
        for metric in run["metrics"]
        for line in metric["lines"]
    }
    # The result has what rank 0 reported.
    for name in ("loss", "epoch", "rows"):
        assert lines[name, 0] == [metrics[name] for _, metrics in results["checkpoints"]]
        assert lines[name, 0][-1] == results["metrics"][name]
    assert lines["rows", 1] == [100, 100]
    assert lines["loss", 0][1] < lines["loss", 0][0]
    # Ours are the newest first.
    assert [one["path"] for one in run["checkpoints"]] == [path for path, _ in results["checkpoints"][::-1]]
    assert run["checkpoints"][0]["path"] == results["checkpoint"]

    # Each epoch executed the dataset, which both workers shared.
    datasets = ran.get("/data")["items"]
    assert [(one["state"], one["total_rows"]) for one in datasets] == [("FINISHED", 200)] * 2
    for one in datasets:
        names = {operator["operator_id"]: operator["name"] for operator in one["operators"]}
        feeds = {
            operator["name"]: [names[given] for given in operator["inputs"]] for operator in one["operators"]
        }
        assert feeds == {
            "Input": [],
            "ReadRange->MapBatches(scale)": ["Input"],
            "split(2, equal=True)": ["ReadRange->MapBatches(scale)"],
        }


def test_ppo_of_rllib(python: Path, server: Server) -> None:
    with _running(python, server, "rllib_program.py") as ran:
        _check_rllib(ran)
        ran.end()
        _check_rllib(ran)


def _check_rllib(ran: Ran) -> None:
    results, job = ran.results, ran.results["job"]
    operators = {"RLlib: env runners", "RLlib: learners", "RLlib: algorithms"}
    _check_graph(ran, operators)

    iterations = results["last"]["training_iteration"]

    def trained() -> dict[str, dict[str, Any]] | None:
        items = ran.get("/functions", job_id=job, limit=200)["items"]
        known = {row["func_name"]: row for row in items if row["func_name"]}
        return known if known["PPO.train"]["finished"] == iterations else None

    # (Workers report once a second what they ran.)
    functions = wait_until(trained, "a call for each iteration")
    assert {row["operator"] for row in functions.values()} >= operators
    for name in ("SingleAgentEnvRunner.apply", "PPO.train"):
        assert functions[name]["origin"] == "ray.rllib"
    # One each by hand and in the trial.
    for name in ("SingleAgentEnvRunner.__init__", "_WrappedExecutable.__init__"):
        assert functions[name]["attempts"] == 2

    item = _finished(ran, "/tune")
    assert (item["name"], item["results"]) == ("cart", iterations)
    assert (item["trial_states"], results["errors"]) == ({results["state"]: 1}, 0)
    experiment = ran.get(f"/tune/{item['experiment_id']}")
    (trial,) = experiment["trials"]
    assert (trial["trial_id"], trial["state"], trial["path"]) == (
        results["trial_id"],
        results["state"],
        results["path"],
    )
    assert (trial["iterations"], trial["end_reason"]) == (iterations, "criterion")
    assert trial["time_total_s"] == pytest.approx(results["last"]["time_total_s"])
    assert trial["metrics"] == {name: pytest.approx(results["last"][name]) for name in trial["metrics"]}
    assert trial["value"] == results["returns"][-1]
    (line,) = experiment["lines"]
    assert line["points"] == [[at, value] for at, value in enumerate(results["returns"], 1)]


def _check_graph(ran: Ran, operators: set[str]) -> None:
    """With its libraries folded the graph can be read, and names what they run."""

    def find_names() -> set[str] | None:
        graph = ran.get("/flow/logical", job_id=ran.results["job"], only="mine")
        assert len(graph["nodes"]) <= MAX_NODES
        # Ray may lose the definition of a call of a process that is killed.
        nodes = [one for one in graph["nodes"] if one["kind"] in ("library", "function") and one["name"]]
        names = {one["name"] for one in nodes}
        return names if names >= operators else None

    names = wait_until(find_names, f"{operators} in the graph")
    assert all(name in operators or name.endswith(": internals") for name in names)
