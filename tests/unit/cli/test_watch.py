"""Which clusters of a program are attached to."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rayscope.cli.watch import Watch, clusters_in_reach, has_grown
from rayscope.client import RayscopeError


class FakeApi:
    """Sessions that the server knows, and the clusters that it was asked to attach to."""

    def __init__(self, sessions: dict[str, dict[str, Any]], refuse: bool = False) -> None:
        self.known = sessions
        self.refuse = refuse
        self.asked: list[str] = []
        self.drivers: dict[str, list[tuple[int, int]]] = {}

    def jobs(self, *, session: str) -> list[dict[str, Any]]:
        return [
            {"driver_pid": pid, "start_ns": at, "end_ns": at, "submission_id": None}
            for pid, at in self.drivers.get(session, [])
        ]

    def by_name(self) -> dict[str, dict[str, Any]]:
        return self.known

    def attach_cluster(self, address: str) -> str:
        self.asked.append(address)
        if self.refuse:
            raise RayscopeError("It wants a token.", "Set RAY_AUTH_TOKEN.", "gcs")
        return "session_a"


def _watch(api: FakeApi, drivers: set[int]) -> Watch:
    return Watch(
        api,  # type: ignore[arg-type]
        family=lambda: {10, 11},
        before={},
        find_clusters=lambda: {"session_a": "10.0.0.1:6379"},
        find_drivers=lambda _address, _since_ms: drivers,
    )


def test_a_silent_cluster_of_the_program_is_attached_once() -> None:
    api = FakeApi({})
    watch = _watch(api, {11})
    watch.look()
    assert api.asked == []  # its first events may be under way
    watch.look(timeout_s=0)
    watch.look(timeout_s=0)
    assert api.asked == ["10.0.0.1:6379"]
    assert watch.attached == {"session_a"}


def test_a_recorded_cluster_is_left_alone() -> None:
    api = FakeApi({"session_a": {"last_ns": 1}})
    watch = _watch(api, {11})
    watch.look(timeout_s=0)
    assert api.asked == []


def test_a_recorded_cluster_from_before_is_left_alone() -> None:
    api = FakeApi({"session_a": {"recording": "events", "attempts": 5}})
    watch = Watch(
        api,  # type: ignore[arg-type]
        family=lambda: {10},
        before=api.known,
        find_clusters=lambda: {"session_a": "10.0.0.1:6379"},
        find_drivers=lambda _address, _since_ms: {10},
    )
    watch.look(timeout_s=0)
    assert api.asked == []


def test_a_cluster_of_somebody_else_is_left_alone() -> None:
    api = FakeApi({})
    _watch(api, {99}).look(timeout_s=0)
    assert api.asked == []


def test_a_refusal_is_kept_for_the_end() -> None:
    api = FakeApi({}, refuse=True)
    watch = _watch(api, {10})
    watch.look(timeout_s=0)
    assert watch.refused == ["It wants a token. Set RAY_AUTH_TOKEN."]


def test_growth() -> None:
    before = {"s": {"attempts": 1, "last_ns": 1}}
    assert not has_grown("s", before, {})
    assert not has_grown("s", before, before)
    assert not has_grown("s", before, {"s": {"attempts": 1, "last_ns": 2}})  # it was only polled
    assert has_grown("s", before, {"s": {"attempts": 2, "last_ns": 2}})
    assert has_grown("new", before, {"new": {}})


def test_sessions_of_other_programs_that_run_at_the_same_time_are_left_out() -> None:
    api = FakeApi({})
    watch = _watch(api, set())
    watch.look()
    now = time.time_ns()
    api.drivers = {"joined": [(99, now), (11, now)], "used": [(11, now - 10**12)], "theirs": [(99, now)]}
    # To the cluster that nobody had a driver in lately, the program may have submitted a job.
    assert watch.choose(10, ["session_10", "joined", "used", "theirs"]) == ["session_10", "joined", "used"]
    assert watch.choose(10, ["theirs"]) == ["theirs"]
    assert watch.choose(10, []) == []


def test_a_session_of_the_program_is_announced_once_the_server_knows_it() -> None:
    api = FakeApi({})
    announced: list[str] = []
    watch = Watch(
        api,  # type: ignore[arg-type]
        family=lambda: {10, 11},
        before={},
        find_clusters=lambda: {"session_x_11": "10.0.0.1:6379", "session_x_99": "10.0.0.2:6379"},
        find_drivers=lambda _address, _since_ms: set(),
        announce=announced.append,
    )
    watch.look_and_announce()
    assert announced == []
    api.known = {"session_x_11": {}, "session_x_99": {}}
    watch.look_and_announce()
    watch.look_and_announce()
    assert announced == ["session_x_11"]


@pytest.mark.parametrize(
    ("named", "others"),
    [
        ("192.0.2.2:6379", []),
        ("127.0.0.1:6379", []),
        ("localhost:6379", []),
        ("127.0.0.1:6380", ["127.0.0.1:6380"]),
        ("192.0.2.3:6379", ["192.0.2.3:6379"]),
    ],
)
def test_the_named_cluster_is_found_among_those_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, named: str, others: list[str]
) -> None:
    local = {"session_a": "192.0.2.2:6379"}
    monkeypatch.setattr("rayscope.ray.discovery.local_gcs_addresses", local.copy)
    monkeypatch.setenv("RAY_ADDRESS", named)
    assert clusters_in_reach() == {**local, **{other: other for other in others}}
