"""``rayscope env``: prints the settings for a Ray cluster that is not started by Rayscope."""

from __future__ import annotations

import json
import shlex
import textwrap
from enum import Enum
from typing import Annotated

import typer

from rayscope.cli import recording
from rayscope.cli.console import warn
from rayscope.cli.options import (
    DataDir,
    NoExitWatch,
    NoFastLane,
    NoGpuWatch,
    NoPeakMemory,
    NoProfile,
    NoServeEvents,
    NoTrace,
    NoTrainState,
    Samples,
    ServerUrl,
)
from rayscope.cli.server_address import ingest_url_for
from rayscope.ray.auth import AUTH_MODE, ray_token

#: Ray's variable that makes the dashboard collect Kubernetes' events.
PLATFORM_EVENTS = "RAY_DASHBOARD_INGEST_PLATFORM_EVENTS"
#: What Ray's dashboard needs besides.
_ROLE = """\
# For Kubernetes' events (Ray 2.56 and later), the head's image also needs `pip install kubernetes`, and its
# pod `serviceAccountName: ray-events` with this role:
#   kubectl create serviceaccount ray-events
#   kubectl create role ray-events --verb=get,list,watch --resource=events,pods,rayclusters.ray.io
#   kubectl create rolebinding ray-events --role=ray-events --serviceaccount=NAMESPACE:ray-events
# With autoscaling, add the permissions of KubeRay's own service account, which this one replaces.
"""


class Shell(str, Enum):
    """The format of the settings."""

    sh = "sh"
    fish = "fish"
    json = "json"
    k8s = "k8s"


def env(
    server: ServerUrl = None,
    data_dir: DataDir = None,
    shell: Annotated[Shell, typer.Option("--shell", help="Target to print the settings for.")] = Shell.sh,
    no_profile: NoProfile = False,
    no_fast_lane: NoFastLane = False,
    no_trace: NoTrace = False,
    no_peak_memory: NoPeakMemory = False,
    samples: Samples = None,
    no_exit_watch: NoExitWatch = False,
    no_gpu_watch: NoGpuWatch = False,
    no_serve_events: NoServeEvents = False,
    no_train_state: NoTrainState = False,
) -> None:
    """Print the environment variables and `ray start` flags that make Ray record itself."""
    url, _ = ingest_url_for(server, data_dir)
    if shell is Shell.k8s and recording.is_loopback_url(url):
        warn(
            "pods cannot reach a server on loopback: start it with rayscope serve --host 0.0.0.0 "
            "--generate-token, and pass its address with --server."
        )
    typer.echo(
        render(
            shell,
            url,
            recording.Parts.without(
                no_profile,
                no_fast_lane,
                no_trace,
                no_serve_events,
                no_train_state,
                no_peak_memory,
                no_exit_watch,
                no_gpu_watch,
            )._replace(samples_hz=samples),
        ),
        nl=False,
    )


def render(shell: Shell, url: str, parts: recording.Parts = recording.ALL_PARTS) -> str:
    """Return the settings in the format ``shell``, ending in a newline."""
    variables = recording.node_env(url, parts)
    config = json.dumps(recording.system_config(parts.profile), separators=(",", ":"))
    flag = f"ray start --head --system-config={shlex.quote(config)}"
    if shell is Shell.json:
        return json.dumps({"env": variables, "system_config": json.loads(config)}, indent=2) + "\n"
    if shell is Shell.k8s:
        return _kuberay(variables, config)
    assign = "set -gx {} {}" if shell is Shell.fish else "export {}={}"
    lines = [assign.format(name, shlex.quote(value)) for name, value in variables.items()]
    lines += [
        "# This is enough where every node and every driver has these variables. Drivers without them get",
        "# the settings from the head node, if that starts with:",
        f"#   {flag}",
    ]
    if ray_token() is not None:
        lines += [
            "# Ray has a token here: `ray start --head` makes the cluster ask for it. What joins it by",
            "# address, drivers and nodes, needs the following. (It is not exported: drivers that have it",
            "# cannot use a cluster without a token.)",
            "#   " + assign.format(AUTH_MODE, "token"),
        ]
    return "\n".join(lines) + "\n"


def _kuberay(variables: dict[str, str], config: str) -> str:
    """Return a fragment of a RayCluster.

    The inner quotes are needed because KubeRay puts rayStartParams into a shell command.
    """
    pod = _env_list(variables)
    head = _env_list({**variables, PLATFORM_EVENTS: "1"})
    quoted = json.dumps(f"'{config}'")
    return (
        "# Merge into your RayCluster: flags at the head, environment at every container that runs Ray.\n"
        "spec:\n"
        "  headGroupSpec:\n"
        "    rayStartParams:\n"
        f"      system-config: {quoted}\n"
        f"{_template('ray-head', head, 4)}\n"
        "  workerGroupSpecs:\n"
        "    - groupName: workers\n"
        f"{_template('ray-worker', pod, 6)}\n"
        f"{_ROLE}"
    )


def _env_list(variables: dict[str, str]) -> str:
    return "\n".join(f"- name: {name}\n  value: {json.dumps(value)}" for name, value in variables.items())


def _template(container: str, env_list: str, spaces: int) -> str:
    head = f"template:\n  spec:\n    containers:\n      - name: {container}\n        env:\n"
    return textwrap.indent(head + textwrap.indent(env_list, " " * 10), " " * spaces)
