"""``rayscope start``: runs `ray start` with recording enabled."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Sequence
from typing import Annotated

import typer

from rayscope.cli import recording
from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.child import Child
from rayscope.cli.console import fail, say, warn
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
    Token,
    settings_from,
)
from rayscope.cli.server_address import ingest_url_for
from rayscope.cli.target import ray_version
from rayscope.ray.auth import AUTH_MODE, ray_token
from rayscope.ray.versions import version_note

_DEFAULT_PORT = "6379"
_SECRETS = ("RAYSCOPE_TOKEN", "RAYSCOPE_OPERATOR")
#: Interval at which to look for the new head node, in seconds.
_LOOK_S = 1.0
#: How long to look for the new head node after `ray start` has returned, in seconds.
_GRACE_S = 15.0


def start(
    ray_args: Annotated[
        list[str],
        typer.Argument(metavar="-- RAY_START_ARGS...", help="Arguments for `ray start`.", show_default=False),
    ],
    server: ServerUrl = None,
    data_dir: DataDir = None,
    token: Token = None,
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
    """Start a Ray node that records itself: rayscope start -- --head --port=6379."""
    args = ray_args[1:] if ray_args and ray_args[0] == "--" else list(ray_args)
    url, server_url = ingest_url_for(server, data_dir)
    head = "--head" in args
    if server_url is None:
        warn(
            "no server is running on this data directory. The node's agent keeps the newest events "
            "until you start one: rayscope serve" + (f" --data-dir {data_dir}" if data_dir else "")
        )
    elif not head and recording.is_loopback_url(url) and not _is_local(option(args, "--address") or ""):
        warn(
            f"the server's address {server_url} is local to this machine, but the head node is "
            "elsewhere: start the server with --host 0.0.0.0 --generate-token, and pass its ingest URL "
            "with --server."
        )
    if head:
        try:
            args = recording.merge_system_config(args, recording.system_config(not no_profile))
        except ValueError as error:
            fail(f"Could not parse --system-config: {error}.", "Use a JSON object.")
    known = _addresses() if head and server_url else {}
    env = recording.node_env(
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
    )
    # Remove secrets, because all jobs inherit the environment of their node.
    own = {name: value for name, value in os.environ.items() if name not in _SECRETS}
    command = _ray_start()
    if note := version_note(ray_version(command)):
        warn(note)
    child = Child([*command, *args], recording.with_py_spy({**own, **env}))
    if not head or server_url is None:
        status = child.wait()
        if status and not head and AUTH_MODE not in os.environ and ray_token() is not None:
            warn(
                "if the cluster uses Ray's token authentication, a node that joins it needs "
                f"{AUTH_MODE}=token."
            )
        raise typer.Exit(status)
    ended = threading.Event()
    settings = settings_from(data_dir, token=token)
    api = Api(server_url, settings.token, folder=settings.folder)
    introducing = threading.Thread(
        target=_introduce, args=(api, option(args, "--port") or _DEFAULT_PORT, set(known), ended), daemon=True
    )
    introducing.start()
    status = child.wait()
    ended.set()
    if status == 0:
        introducing.join(timeout=_GRACE_S + 1)
    raise typer.Exit(status)


def _ray_start() -> list[str]:
    """Return the command `ray start`.

    It is the one on PATH, because users expect that version of Ray, or else that of our own environment.
    """
    ray = shutil.which("ray")
    return [ray, "start"] if ray else [sys.executable, "-m", "ray.scripts.scripts", "start"]


def option(args: Sequence[str], name: str) -> str | None:
    """Return the value of ``--name value`` or ``--name=value`` in ``args``, or None if it is missing."""
    for position, argument in enumerate(args):
        if argument == name and position + 1 < len(args):
            return args[position + 1]
        if argument.startswith(f"{name}="):
            return argument.partition("=")[2]
    return None


def _addresses() -> dict[str, str]:
    from rayscope.ray.discovery import local_gcs_addresses

    return local_gcs_addresses()


def _is_local(address: str) -> bool:
    """Return whether ``address`` belongs to this machine."""
    import socket

    import psutil

    host = address.rpartition(":")[0].strip("[]")
    if address in ("auto", "local") or host in ("localhost", "127.0.0.1", "::1"):
        return True
    own = {one.address for found in psutil.net_if_addrs().values() for one in found}
    try:
        return bool({info[4][0] for info in socket.getaddrinfo(host, None)} & own)
    except OSError:
        return False


def _asks_for_token(address: str) -> bool:
    """Return whether the GCS at ``address`` requires Ray's token."""
    from rayscope.ray.gcs.client import GcsClient, GcsError

    try:
        with GcsClient(address) as gcs:
            gcs.session_name()
    except GcsError as error:
        return error.code == "unauthenticated"
    return False


def _introduce(api: Api, port: str, known: set[str], ended: threading.Event) -> None:
    """Register the new head node with the server, which then also reads from the node's GCS."""
    problem = ""
    looks_left = int(_GRACE_S / _LOOK_S)
    while looks_left > 0:
        new = {session: address for session, address in _addresses().items() if session not in known}
        for address in new.values():
            if address.rpartition(":")[2] != port and port != "0":
                continue
            try:
                say(f"recording {api.attach_cluster(address)} at {api.url}")
                if _asks_for_token(address):
                    say(
                        "this cluster uses Ray's token authentication: drivers and nodes that join it "
                        f"by address need {AUTH_MODE}=token."
                    )
                return
            except RayscopeError as error:
                problem = f"{error.message} {error.remedy}"
                if error.code == "needs_operator":
                    warn(f"could not register the new cluster with the server: {problem}")
                    return
        if ended.wait(_LOOK_S):
            looks_left -= 1
            threading.Event().wait(_LOOK_S if looks_left else 0)
    warn(f"could not register the new cluster with the server: {problem or 'its GCS was not found'}")
