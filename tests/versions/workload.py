"""A small workload in a cluster of its own, on whatever Ray runs this; then what that Ray says of it.

``workload.py TEMP_DIR OUT``: writes its session and its whole task table, converted by its own
``protobuf_to_task_state_dict``, to OUT as JSON once nothing changes any more. Prints ``ready`` and ends with stdin.
"""

import contextlib
import json
import os
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import ray


@ray.remote(num_cpus=0.1)
def inner(x: int) -> int:
    return x


@ray.remote(num_cpus=0.1)
def outer(x: int) -> int:
    return sum(ray.get([inner.remote(i) for i in range(x)]))


@ray.remote(num_cpus=0.1, max_retries=2, retry_exceptions=True)
def fails() -> None:
    raise ValueError("as intended")


@ray.remote(num_cpus=0.1, runtime_env={"env_vars": {"PASSWORD": "s3cret"}})
def in_environment() -> str:
    return "x" * 10


@ray.remote(num_cpus=0.1)
class Counter:
    """A plain actor."""

    def __init__(self) -> None:
        self.n = 0

    def add(self, n: int) -> int:
        """Add to it."""
        self.n += n
        return self.n


@ray.remote(num_cpus=0.1)
class Asynchronous:
    """An actor with coroutines."""

    async def echo(self, x: int) -> int:
        """The argument."""
        return x


def task_table() -> list[dict[str, Any]]:
    """All attempts, as Ray's state API shows them."""
    from ray.util.state.common import protobuf_to_task_state_dict

    is_moved = os.environ.get("RAY_enable_task_events_to_dashboard_head") == "1"  # noqa: SIM112
    events = table_of_the_dashboard() if is_moved else table_of_the_gcs()
    rows = [protobuf_to_task_state_dict(event) for event in events]
    return sorted(rows, key=lambda row: (row["task_id"], row["attempt_number"]))


def table_of_the_gcs() -> list[Any]:
    """``TaskEvents`` in the GCS."""
    from ray._raylet import GcsClientOptions, GlobalStateAccessor
    from ray.core.generated import gcs_pb2

    address = ray.get_runtime_context().gcs_address
    accessor = GlobalStateAccessor(
        GcsClientOptions.create(address, None, allow_cluster_id_nil=True, fetch_cluster_id_if_nil=False)
    )
    accessor.connect()
    return [gcs_pb2.TaskEvents.FromString(one) for one in accessor.get_task_events()]


def table_of_the_dashboard() -> list[Any]:
    """``TaskEvents`` in the dashboard, where Ray 2.58 and later can keep them."""
    from ray.core.generated import gcs_service_pb2

    token = Path.home() / ".ray" / "auth_token"
    headers = {"Authorization": f"Bearer {token.read_text().strip()}"} if token.exists() else {}
    url = f"http://{ray._private.worker.global_worker.node.webui_url}/api/task_events/query"
    request = urllib.request.Request(url, gcs_service_pb2.GetTaskEventsRequest().SerializeToString(), headers)
    with urllib.request.urlopen(request) as response:
        return list(gcs_service_pb2.GetTaskEventsReply.FromString(response.read()).events_by_task)


def main() -> None:
    """Run, wait until nothing changes, write, wait."""
    temp, out = sys.argv[1:]
    ray.init(num_cpus=4, _temp_dir=temp, log_to_driver=False, include_dashboard=True)
    ray.get([outer.remote(3) for _ in range(20)])
    ray.get([inner.remote(i) for i in range(500)])
    for broken in [fails.remote() for _ in range(3)]:
        with contextlib.suppress(ray.exceptions.RayTaskError):
            ray.get(broken)
    ray.get(in_environment.remote())
    counter, echo = Counter.remote(), Asynchronous.remote()
    ray.get([counter.add.remote(i) for i in range(50)])
    ray.get([echo.echo.remote(i) for i in range(20)])
    # Workers and driver report each second, later on a busy machine.
    before: list[dict[str, Any]] = []
    for _ in range(60):
        time.sleep(2)
        now = task_table()
        names = [row["name"] for row in now if row["state"] == "FINISHED"]
        if now == before and (names.count("inner"), names.count("Counter.add")) == (20 * 3 + 500, 50):
            break
        before = now
    session = ray._private.worker.global_worker.node.session_name
    with open(out, "w") as file:
        json.dump({"version": ray.__version__, "session": session, "tasks": before}, file, default=str)
    print("ready", flush=True)
    sys.stdin.read()
    ray.shutdown()


if __name__ == "__main__":
    main()
