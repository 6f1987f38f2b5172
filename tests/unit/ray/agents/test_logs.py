"""Names of log files: their owners, and invalid ones."""

from __future__ import annotations

import pytest

from rayscope.ray.agents.logs import is_name, read_name

WORKER = "a1" * 28


def test_a_name_identifies_the_owner_of_a_file() -> None:
    out = read_name(f"worker-{WORKER}-01000000-123.out")
    assert out == ("worker_out", WORKER, "01000000", 123, None)
    assert read_name(f"old/worker-{WORKER}-ffffffff-7.err.1").kind == "worker_err"
    assert read_name("serve/replica_shop_Model_u8i9alax.log").kind == "serve_replica"
    assert read_name("serve/controller_7.log").kind == "other"
    assert read_name("job-driver-raysubmit_x.log").submission_id == "raysubmit_x"
    assert read_name(f"python-core-worker-{WORKER}_9.log")[:2] == ("core", WORKER)
    of_driver = read_name(f"python-core-driver-02000000{'f' * 48}_9.log")
    assert of_driver == ("core", None, "02000000", 9, None)
    kinds = {
        "raylet.out": "raylet",
        "gcs_server.err": "gcs",
        "log_monitor.log": "log_monitor",
        "monitor.log": "autoscaler",
        "dashboard_agent.log": "agent",
        "dashboard.log": "dashboard",
        "events/event_RAYLET.log": "event",
        "whatever": "other",
    }
    assert {name: read_name(name).kind for name in kinds} == kinds


@pytest.mark.parametrize(
    "name",
    [
        "",
        "../a",
        "/etc/passwd",
        "a/../b",
        "a//b",
        ".",
        "a/.",
        "~x",
        "a\0b",
        "a\nb",
        "a\\..\\b",
        "x" * 401,
        "a\u202eb",
    ],
)
def test_names_that_leave_the_folder_or_cannot_be_printed_are_invalid(name: str) -> None:
    assert not is_name(name)
