"""The way into Ray's agent: taken there and nowhere else, and only where everything looks as known."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ray.dashboard.modules.aggregator import aggregator_agent

from rayscope.agent import entry, report, shape
from rayscope.agent.settings import EVENT_TYPES, EXPORT_ADDR, EXPOSABLE_TYPES, FAST_LANE

SETTINGS = {
    FAST_LANE: "1",
    EXPORT_ADDR: "http://127.0.0.1:9/api/ingest/k/ray-events",
    EXPOSABLE_TYPES: ",".join(EVENT_TYPES),
}


def loaded(script: Path, **env: str) -> str:
    """Run ``script`` and return which parts of Rayscope it loads: "nothing", "entry" or "entry watches"."""
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(
        "import sys\n"
        "ours = 'rayscope.agent.entry' in sys.modules\n"
        "watches = any(type(f).__module__ == 'rayscope.importing' for f in sys.meta_path)\n"
        "print('nothing' if not ours else 'entry watches' if watches else 'entry')\n"
    )
    base = {k: v for k, v in os.environ.items() if not k.startswith(("RAY", "PYTHON"))}
    done = subprocess.run(
        [sys.executable, "-u", str(script), "--node-id=1"],
        env=base | env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    return done.stdout.strip()


def test_only_an_agent_that_was_started_with_the_settings_is_entered(tmp_path: Path) -> None:
    agent, other = tmp_path / "ray" / "dashboard" / "agent.py", tmp_path / "train.py"
    assert loaded(agent, **SETTINGS) == "entry watches"
    assert loaded(other, **SETTINGS) == "nothing"
    assert loaded(agent) == "nothing"
    assert loaded(agent, **SETTINGS | {FAST_LANE: "0"}) == "nothing"
    assert loaded(agent, **{FAST_LANE: "1"}) == "entry"  # there is nowhere to send to


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def module(**changes: Any) -> SimpleNamespace:
    """Ray's module with some names replaced."""
    return SimpleNamespace(**{**vars(aggregator_agent), **changes})


def test_the_installed_ray_is_known(settings: pytest.MonkeyPatch) -> None:
    assert shape.unknown(aggregator_agent) is None
    settings.setenv(EXPOSABLE_TYPES, "all")
    assert shape.unknown(aggregator_agent) is None


class OtherSignature(aggregator_agent.AggregatorAgent):  # type: ignore[misc]
    async def AddEvents(self, request: Any, context: Any, urgent: bool) -> Any:
        """As a later Ray might have it."""


class OtherWay(aggregator_agent.AggregatorAgent):  # type: ignore[misc]
    async def AddEvents(self, request: Any, context: Any) -> Any:
        await self._event_store.append(request.events_data)
        return aggregator_agent.events_event_aggregator_service_pb2.AddEventsReply()


class NotAsync(aggregator_agent.AggregatorAgent):  # type: ignore[misc]
    def AddEvents(self, request: Any, context: Any) -> Any:
        """As a later Ray might have it."""


class Bare:
    """Has none of the methods."""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"AggregatorAgent": OtherSignature}, "other signatures"),
        ({"AggregatorAgent": OtherWay}, "works in another way"),
        ({"AggregatorAgent": NotAsync}, "other signatures"),
        ({"AggregatorAgent": Bare}, "lacks something"),
        ({"AsyncHttpPublisherClient": Bare}, "lacks something"),
        ({"RayEventPublisher": OtherSignature}, "lacks something"),
    ],
)
def test_a_collector_that_is_not_known_is_left_alone(
    settings: pytest.MonkeyPatch, changes: dict[str, Any], reason: str
) -> None:
    changed = module(**changes)
    found = shape.unknown(changed)
    assert found is not None
    assert reason in found
    before = changed.AggregatorAgent
    methods = dict(vars(before))
    entry.enter(changed)
    assert changed.AggregatorAgent is before
    assert dict(vars(before)) == methods


def test_a_choice_of_kinds_is_the_users(settings: pytest.MonkeyPatch) -> None:
    settings.setenv(EXPOSABLE_TYPES, "TASK_DEFINITION_EVENT,TASK_LIFECYCLE_EVENT")
    reason = shape.unknown(aggregator_agent)
    assert reason is not None
    assert "TASK_PROFILE_EVENT" in reason
    assert "TASK_LIFECYCLE_EVENT" not in reason


def test_whatever_goes_wrong_the_agent_starts(settings: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("injected")

    reasons: list[str] = []
    settings.setattr(report.Reporter, "start", lambda self: reasons.append(self.report()["reason"]))
    settings.setattr(shape, "unknown", fails)
    entry.enter(module())
    assert reasons == ["a fault of Rayscope: RuntimeError: injected"]
    settings.setattr(report, "Reporter", fails)
    entry.enter(module())
    settings.setattr(entry, "after_import", fails)
    settings.delitem(sys.modules, entry.MODULE)
    entry.install()


def test_no_report_contains_the_key() -> None:
    said = report.Reporter()
    said.refused("ClientResponseError: 400, url='http://h/api/ingest/s3cret/ray-events'")
    assert "s3cret" not in said.report()["trouble"]
    assert "/api/ingest/.../ray-events" in said.report()["trouble"]
    said.leave("fault at http://h/api/ingest/s3cret/ray-events")
    assert "s3cret" not in said.report()["reason"]
    assert said.report()["trouble"] == ""


def test_the_report_goes_to_a_url_next_to_that_of_events() -> None:
    assert report.report_url("http://h:1/api/ingest/key/ray-events") == "http://h:1/api/ingest/key/agent"
    assert report.report_url("http://h:1/elsewhere") == ""
    assert report.report_url("") == ""
