"""The page of Ray Tune in Chromium: 20 real trials under ASHA, while they run and once their cluster is gone."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from rayscope.cli.recording import child_env
from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.cluster import RAY_ENV, start_in_turn
from tests.waiting import TIMEOUT_S, wait_until

pytestmark = [pytest.mark.e2e]

#: Trials wait in their third iteration until a file allows them to continue; then one of width 1 fails.
PROGRAM = """
import json, os, sys, time
import ray

folder = sys.argv[1]
ray.init(num_cpus=4, include_dashboard=True, _temp_dir=folder, log_to_driver=False)
from ray import tune
from ray.tune.schedulers import ASHAScheduler

def train(config):
    for step in range(6):
        while step == 2 and not os.path.exists(os.path.join(folder, "go_on")):
            time.sleep(0.1)
        if step == 3 and config["width"] == 1 and config["lr"] == 0.01:
            raise ValueError("the width is unlucky")
        tune.report({"loss": config["lr"] + config["width"] / (step + 1), "step": step})

results = tune.Tuner(
    tune.with_resources(train, {"CPU": 1}),
    param_space={
        "lr": tune.grid_search([0.01, 0.1, 1, 10]),
        "width": tune.grid_search([1, 2, 3, 4, 5]),
        "api_key": "hush",
    },
    tune_config=tune.TuneConfig(
        metric="loss", mode="min", scheduler=ASHAScheduler(max_t=6, grace_period=3), reuse_actors=True
    ),
    run_config=tune.RunConfig(name="digits", storage_path=os.path.join(folder, "results"), verbose=0),
).fit()
best = results.get_best_result()
print(
    json.dumps(
        {
            "best": best.metrics["trial_id"],
            "loss": best.metrics["loss"],
            "trials": sorted(one.trial_id for one in results._experiment_analysis.trials),
            "steps": max(one.last_result["step"] for one in results._experiment_analysis.trials),
            "errors": [one.trial_id for one in results._experiment_analysis.trials if one.status == "ERROR"],
        }
    )
)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(Settings(data_dir=tmp_path / "data", port=0, push_interval_s=0.5))
    made.start()
    yield made
    made.stop()


def test_an_experiment_while_it_runs_and_after_its_cluster(
    server: Server, page: Page, tmp_path: Path
) -> None:
    program = tmp_path / "digits.py"
    program.write_text(PROGRAM)
    environment = child_env(server.ingest_url) | RAY_ENV | {"RAY_AUTH_MODE": "disabled"}
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        process = start_in_turn(
            [sys.executable, str(program), folder],
            Path(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        try:
            session = _running(server, page)
            (Path(folder) / "go_on").touch()
            out, err = process.communicate(timeout=TIMEOUT_S)
        finally:
            process.kill()
    assert process.returncode == 0, err[-4000:]
    theirs = json.loads(out.strip().splitlines()[-1])
    # The page that was open all the time, and the same page reloaded.
    _check_finished(page, theirs)
    page.goto(f"{server.url}/s/{session}/overview")
    expect(page.get_by_test_id("panel-libraries")).to_contain_text("Finished: 1")
    page.get_by_test_id("nav-tune").click()
    _check_finished(page, theirs)
    _one_trial(page, theirs)


def _running(server: Server, page: Page) -> str:
    """Check the page of the experiment while four of its trials wait. Returns the session."""
    sessions = wait_until(lambda: httpx.get(f"{server.url}/api/v1/sessions").json()["items"], "a session")
    session = str(sessions[0]["session"])
    wait_until(lambda: _results(server) == 8, "two results of each trial")
    page.goto(f"{server.url}/s/{session}/overview")
    page.get_by_test_id("nav-tune").click()
    expect(page.get_by_test_id("tune-name")).to_have_text("digits")
    expect(page.get_by_test_id("tune-experiment")).to_contain_text("Running")
    expect(page.get_by_test_id("tune-summary")).to_contain_text("4 running")
    expect(page.get_by_test_id("tune-line")).to_have_count(4)
    expect(page.get_by_test_id("tune-best")).to_contain_text("Best so far: loss")
    return session


def _results(server: Server) -> int:
    items = httpx.get(f"{server.url}/api/v1/tune").json()["items"]
    return int(items[0]["results"]) if items else 0


def _check_finished(page: Page, theirs: dict[str, Any]) -> None:
    expect(page.get_by_test_id("tune-experiment")).to_contain_text("Finished")
    expect(page.get_by_test_id("tune-experiment")).to_contain_text("20 of 20")
    expect(page.get_by_test_id("tune-summary")).to_contain_text("20 of 20 trials created: 19 terminated")
    expect(page.get_by_test_id("tune-summary")).to_contain_text("1 failed")
    expect(page.get_by_test_id("tune-best")).to_contain_text(theirs["best"])
    expect(page.get_by_test_id("tune-best")).to_contain_text("api_key = <redacted>")
    expect(page.get_by_test_id("tune-trial")).to_have_count(20)
    expect(page.get_by_test_id("tune-trial").first).to_contain_text(theirs["best"])
    expect(page.get_by_test_id("tune-line")).to_have_count(20)
    expect(page.get_by_test_id("tune-coordinates")).to_have_count(20)
    assert sorted(
        row.get_by_role("button").first.inner_text() for row in page.get_by_test_id("tune-trial").all()
    ) == sorted(theirs["trials"])


def _one_trial(page: Page, theirs: dict[str, Any]) -> None:
    (failed,) = theirs["errors"]
    page.get_by_test_id("tune-trials").get_by_role("button", name="State").click()
    page.get_by_test_id("tune-trial").filter(has_text=failed).get_by_role("button").first.click()
    drawer = page.get_by_test_id("tune-drawer")
    expect(drawer).to_contain_text(f"Trial {failed}")
    expect(drawer.get_by_test_id("tune-error")).to_contain_text("ValueError: the width is unlucky")
    drawer.get_by_test_id("tune-gantt").click()
    expect(page.get_by_test_id("gantt-chart")).to_be_visible()
    page.go_back()
    expect(drawer).to_be_visible()
    drawer.get_by_test_id("drawer-close").click()
    # For another metric the better direction is unknown until the user chooses it.
    page.get_by_test_id("tune-metric").select_option("step")
    expect(page.get_by_test_id("tune-best")).to_have_count(0)
    page.get_by_test_id("tune-mode").get_by_text("Higher is better").click()
    expect(page.get_by_test_id("tune-best")).to_contain_text(f"Best: step {theirs['steps']}")
