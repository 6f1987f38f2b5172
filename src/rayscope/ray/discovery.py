"""Finds Ray clusters on this machine by their processes, like Ray's ``find_gcs_addresses``."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import psutil


class LocalCluster(NamedTuple):
    """The GCS address of a cluster on this machine.

    ``is_own``: whether a process of the current user has this address. Send a token only to such clusters: a
    process of another user could claim any address.
    """

    address: str
    is_own: bool


def local_clusters() -> dict[str, LocalCluster]:
    """Session name -> cluster, for every Ray node that runs on this machine.

    Processes that vanish or are not accessible are skipped. The address comes from a raylet's arguments, or
    from a GCS's port if there is no raylet.
    """
    commands = list(_command_lines())
    own = set(addresses_in(command for command, is_own in commands if is_own).values())
    found = addresses_in(command for command, _ in commands)
    return {session: LocalCluster(address, address in own) for session, address in found.items()}


def local_gcs_addresses(*, own: bool = False) -> dict[str, str]:
    """Session name -> GCS address (``host:port``). ``own``: only clusters of the current user."""
    return {
        session: cluster.address for session, cluster in local_clusters().items() if cluster.is_own or not own
    }


def addresses_in(command_lines: Iterable[Sequence[str]]) -> dict[str, str]:
    """Like :func:`local_gcs_addresses`, for the given command lines."""
    found: dict[str, str] = {}
    from_gcs: dict[str, str] = {}
    for command in command_lines:
        executable = os.path.basename(command[0]) if command else ""
        if executable not in ("raylet", "gcs_server"):
            continue
        flags = _flags(command)
        session = flags.get("session-name") or os.path.basename(flags.get("session-dir", "").rstrip("/"))
        if not session:
            continue
        address = flags.get("gcs-address", "")
        if executable == "raylet" and address and address != "None":
            found[session] = address
        elif executable == "gcs_server" and flags.get("gcs-server-port", "0") != "0":
            host = flags.get("node-ip-address") or "127.0.0.1"
            from_gcs[session] = (
                f"[{host}]:{flags['gcs-server-port']}"
                if ":" in host
                else (f"{host}:{flags['gcs-server-port']}")
            )
    return {**from_gcs, **found}


def _command_lines() -> Iterable[tuple[list[str], bool]]:
    """The arguments of every process, and whether it belongs to the current user."""
    process: Any
    user = getpass.getuser() if sys.platform == "win32" else None
    for process in psutil.process_iter(["cmdline", "username" if user else "uids"]):
        # process_iter skips processes that vanished, and returns None for fields that it may not read.
        uids = process.info.get("uids")
        is_own = (
            process.info.get("username") == user if user else uids is not None and uids.real == os.getuid()
        )
        yield process.info.get("cmdline") or [], is_own


def _flags(command: Sequence[str]) -> dict[str, str]:
    """Arguments of the form ``--name=value``. Ray mixes ``_`` and ``-`` in names; both become ``-``."""
    flags: dict[str, str] = {}
    for argument in command[1:]:
        if argument.startswith("--") and "=" in argument:
            name, _, value = argument[2:].partition("=")
            flags.setdefault(name.replace("_", "-"), value)
    return flags
