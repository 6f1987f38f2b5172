"""Local clusters by their processes' command lines."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys

import psutil
import pytest
from tests.waiting import wait_until

from rayscope.ray.discovery import addresses_in, local_gcs_addresses

RAYLET = ["/x/raylet/raylet", "--node_ip_address=10.0.0.1", "--gcs-address=10.0.0.1:6379"]
GCS = ["/x/gcs/gcs_server", "--gcs_server_port=6380", "--node-ip-address=10.0.0.1"]


def test_a_raylet_names_its_cluster() -> None:
    assert addresses_in([[*RAYLET, "--session-name=session_a"]]) == {"session_a": "10.0.0.1:6379"}
    assert addresses_in([[*RAYLET, "--session_dir=/tmp/ray/session_b/"]]) == {"session_b": "10.0.0.1:6379"}


def test_a_gcs_without_raylet() -> None:
    assert addresses_in([[*GCS, "--session-name=session_a"]]) == {"session_a": "10.0.0.1:6380"}
    ipv6 = ["gcs_server", "--gcs_server_port=1", "--node-ip-address=::1", "--session-name=s"]
    assert addresses_in([ipv6]) == {"s": "[::1]:1"}


def test_the_raylets_word_counts() -> None:
    both = [[*GCS, "--session-name=s"], [*RAYLET, "--session-name=s"]]
    assert addresses_in(both) == addresses_in(both[::-1]) == {"s": "10.0.0.1:6379"}


def test_other_processes_are_not_ray() -> None:
    assert (
        addresses_in(
            [
                [],
                ["python", "raylet", "--gcs-address=1.2.3.4:5", "--session-name=s"],
                ["grep", "raylet"],
                ["/x/raylet", "--gcs-address=None", "--session-name=s"],
                ["/x/raylet", "--gcs-address=1.2.3.4:5"],
                ["/x/gcs_server", "--gcs_server_port=0", "--session-name=s"],
            ]
        )
        == {}
    )


def test_looking_at_the_real_processes_does_not_fail() -> None:
    assert isinstance(local_gcs_addresses(), dict)


@pytest.mark.parametrize("user", [None, "nobody"])
def test_clusters_of_another_user_are_not_ours(user: str | None) -> None:
    """Our own token would go wherever such a process says that its cluster is."""
    if user is not None and os.getuid() != 0:
        pytest.skip("only root can run a process as somebody else")
    session = f"session_of_{user}"
    flags = ["--gcs-address=192.0.2.1:6379", f"--session-name={session}"]
    # With `user`, Popen forks: then gRPC, whose threads other tests have started, may end the child.
    uid = os.getuid() if user is None else pwd.getpwnam(user).pw_uid
    become = f"import os, sys; os.setuid({uid}); os.execv('/bin/sh', sys.argv[1:])"
    fake = subprocess.Popen([sys.executable, "-c", become, "raylet", "-c", "sleep 30; true", *flags])
    try:
        wait_until(lambda: psutil.Process(fake.pid).cmdline()[:1] == ["raylet"], "its command line")
        assert local_gcs_addresses()[session] == "192.0.2.1:6379"
        assert (session in local_gcs_addresses(own=True)) == (user is None)
    finally:
        fake.kill()
        fake.wait()
