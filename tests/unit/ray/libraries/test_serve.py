"""What Serve's controller lists becomes entities: all of it, what older Rays leave out, and what is not as it
should be.
"""

from __future__ import annotations

import copy
import json
from typing import Any, cast

import pytest
from tests.conftest import SAMPLES

from rayscope.model import Entity
from rayscope.model.entity import merge_entities
from rayscope.ray.dashboard import Dashboard, DashboardError
from rayscope.ray.gcs.client import GcsClient
from rayscope.ray.libraries import serve
from rayscope.ray.libraries.poller import LIBRARIES, LibraryPoller, pause_s

SAMPLE = json.loads((SAMPLES / "serve-2.60.json").read_text())
NODE = "8801f111d78a88f121595aaae84a71f54d48e9c6a4b94cfed249972b"


class FakeDashboard(Dashboard):
    """Returns prepared answers, without a network."""

    def __init__(self, answer: Any) -> None:
        super().__init__("http://dashboard")
        self.answer = answer

    def get(self, path: str, timeout_s: float | None = None) -> Any:
        assert path == "/api/serve/applications/"
        return self.answer


def read(answer: Any) -> dict[tuple[str, str], Entity]:
    found = serve.read(FakeDashboard(answer), cast("GcsClient", None), 5)
    return {(entity.kind, entity.id): entity for entity in found}


@pytest.fixture
def sample() -> Any:
    return copy.deepcopy(SAMPLE)


def test_all_that_is_listed(sample: Any) -> None:
    found = read(sample)
    assert sorted(kind for kind, _ in found) == [
        "serve_application",
        "serve_controller",
        *["serve_deployment"] * 2,
        "serve_proxy",
        *["serve_replica"] * 5,
    ]
    model = found["serve_deployment", "shop#Model"]
    assert model.fields == {"name": "Model", "application": "shop"}
    assert (model.observed["state"], model.observed["target_replicas"]) == ("UPSCALING", 3)
    assert serve.reason(model) == {"trigger": "AUTOSCALING", "reason": "Upscaling from 1 to 3 replicas."}
    front = found["serve_deployment", "shop#Front"].observed
    assert (front["is_ingress"], front["calls"]) == (True, '["shop#Model"]')
    replica = found["serve_replica", "shop#Model#u8i9alax"]
    assert replica.observed == {
        "state": "RUNNING",
        "node_id": NODE,
        "node_ip": "192.0.2.2",
        "worker_id": "8a692de2d933319cbf1e3cd1b0b966b8d821909ddf70fa1572e7689e",
        "actor_id": "361758f2ec721ddc79c4751d01000000",
        "pid": 26414,
        "log_file": "serve/replica_shop_Model_u8i9alax.log",
        "start_ns": pytest.approx(1795633140752523700, abs=1000),
    }
    assert found["serve_replica", "shop#Model#dead0001"].observed["state"] == "STOPPED"
    assert found["serve_proxy", NODE].observed["state"] == "HEALTHY"
    controller = found["serve_controller", "1c5fef1efc073fea6539c5d401000000"].observed
    assert json.loads(str(controller["health"]))["loop_duration_s_max"] == 0.76


def test_secrets_are_left_out(sample: Any) -> None:
    config = str(read(sample)["serve_deployment", "shop#Model"].observed["config"])
    assert "s3cret" not in config
    assert json.loads(config)["ray_actor_options"]["runtime_env"] == {"env_vars": {"TOKEN": "<redacted>"}}


def test_values_missing_in_older_versions_are_unknown(sample: Any) -> None:
    del sample["controller_health_metrics"]
    del sample["applications"]["shop"]["deployment_topology"]
    for deployment in sample["applications"]["shop"]["deployments"].values():
        del deployment["recent_dead_replicas"]
    found = read(sample)
    front = found["serve_deployment", "shop#Front"].observed
    assert "calls" not in front
    assert "is_ingress" not in front
    assert all("health" not in entity.observed for entity in found.values())
    assert len(found) == len(read(SAMPLE)) - 1


HOSTILE = [None, 0, -1.5, True, "", "x", [], {}, [None], {"": {}}, {"a": None}, [[]], 1e300, 10**30]


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_a_value_of_a_wrong_type_is_left_out(value: Any) -> None:
    """Each part of the answer in turn is something else; what is read must be what a record takes."""

    def places(node: Any, path: tuple[Any, ...] = ()) -> Any:
        for key in (
            list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        ):
            yield (*path, key)
            yield from places(node[key], (*path, key))

    for path in places(SAMPLE):
        answer = copy.deepcopy(SAMPLE)
        node = answer
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = value
        try:
            found = read(answer)
        except DashboardError:
            assert path[0] in ("applications", "controller_info")
            continue
        for entity in found.values():
            for one in (*entity.observed.values(), *entity.fields.values()):
                assert isinstance(one, str | int | float | bool)
                assert not isinstance(one, int) or abs(one) < 2**63


def test_huge_answers_stay_small(sample: Any) -> None:
    shop = sample["applications"]["shop"]
    model = shop["deployments"]["Model"]
    model["deployment_config"]["user_config"] = {"text": "x" * 100_000}
    model["autoscaling_detail"] = {"decisions": [{"reason": "busy"}] * 10_000}
    calls = [{"name": f"d{number}", "app_name": "shop"} for number in range(10_000)]
    shop["deployment_topology"]["nodes"]["Model"]["outbound_deployments"] = calls
    model["replicas"] = [{"replica_id": f"r{number}", "state": "RUNNING"} for number in range(60_000)]
    found = read(sample)
    assert len(found) == 50_000
    observed = found["serve_deployment", "shop#Model"].observed
    assert "characters" in json.loads(str(observed["config"]))["left_out"]
    assert all(len(str(value)) < 40_000 for value in observed.values())
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    model["deployment_config"] = deep
    assert "config" not in read(sample)["serve_deployment", "shop#Model"].observed
    while deep:  # else Python takes it apart by recursion
        deep = deep.pop("a")


@pytest.mark.parametrize("answer", [None, [], {}, {"applications": []}, {"applications": {}}])
def test_an_invalid_answer_is_an_error(answer: Any) -> None:
    with pytest.raises(DashboardError):
        read(answer)


def test_nothing_is_gone_while_the_dashboard_knows_no_controller(sample: Any) -> None:
    sample["controller_info"] = {"actor_id": None}
    sample["applications"] = {}
    with pytest.raises(DashboardError):
        read(sample)


class FakeClient:
    """A GCS with or without Serve's controller."""

    def __init__(self) -> None:
        self.actors = {serve.ACTOR}

    def named_actors(self) -> set[tuple[str, str]]:
        return self.actors


def test_removed_entities_are_deleted_and_may_come_back(sample: Any) -> None:
    dashboard, client = FakeDashboard(sample), FakeClient()
    record: dict[tuple[str, str], Entity] = {}

    def keep(batch: Any) -> None:
        for entity in batch.entities:
            known = record.setdefault((entity.kind, entity.id), Entity(entity.kind, entity.id))
            merge_entities(known, entity)

    def states(kind: str) -> set[Any]:
        return {entity.current()["state"] for (one, _), entity in record.items() if one == kind}

    libraries = {"serve": LIBRARIES["serve"]}
    poller = LibraryPoller(cast("GcsClient", client), lambda: dashboard, "session", keep, libraries)
    poller.poll_now()
    assert states("serve_application") == {"RUNNING"}
    application = sample["applications"].pop("shop")
    poller.poll_now()
    assert states("serve_application") == states("serve_deployment") == {"DELETED"}
    assert states("serve_replica") == {"STOPPED"}
    assert states("serve_proxy") == {"HEALTHY"}
    sample["applications"]["shop"] = application
    for deployment in application["deployments"].values():
        deployment["replicas"] = deployment["replicas"][:1]
        deployment["replicas"][0]["replica_id"] += "2"
    poller.poll_now()
    assert states("serve_application") == {"RUNNING"}
    assert "end_ns" not in record["serve_application", "shop"].current()
    assert record["serve_replica", "shop#Model#u8i9alax"].current()["state"] == "STOPPED"
    client.actors.clear()
    poller.poll_now()
    assert states("serve_application") == states("serve_deployment") == {"DELETED"}
    assert states("serve_proxy") == states("serve_controller") == states("serve_replica") == {"STOPPED"}


def test_a_slow_dashboard_is_asked_less_often_once_nothing_changes() -> None:
    assert pause_s(0.1, 0) == pause_s(0.1, 900) == 2
    assert [pause_s(16, unchanged_s) for unchanged_s in (0, 40, 64, 900)] == [4, 10, 16, 16]
    assert pause_s(60, 900) == 20
