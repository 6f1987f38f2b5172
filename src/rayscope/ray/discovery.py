"""Ray clusters on this machine, found by their processes, as Ray's ``find_gcs_addresses`` does."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import psutil


class LocalCluster(NamedTuple):
    """Where the GCS of a cluster on this machine is, and whether a process of this user says so.

    A token may be sent to those alone: what another user's process says of itself can name any address.
    """

    address: str
    is_own: bool


def local_clusters() -> dict[str, LocalCluster]:
    """Session name -> the cluster, for every Ray node that runs on this machine.

    Processes that vanish meanwhile or that we may not look at are left out. A raylet knows the address
    that its cluster uses; a GCS without a raylet is found by its own port.
    """
    commands = list(_command_lines())
    own = set(addresses_in(command for command, is_own in commands if is_own).values())
    found = addresses_in(command for command, _ in commands)
    return {session: LocalCluster(address, address in own) for session, address in found.items()}


def local_gcs_addresses(*, own: bool = False) -> dict[str, str]:
    """Session name -> GCS address (``host:port``) of the clusters here; ``own``: of this user's alone."""
    return {
        session: cluster.address for session, cluster in local_clusters().items() if cluster.is_own or not own
    }


def addresses_in(command_lines: Iterable[Sequence[str]]) -> dict[str, str]:
    """Like :func:`local_gcs_addresses`, for command lines already at hand."""
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
    """Every process' arguments, and whether it is this user's."""
    process: Any
    user = getpass.getuser() if sys.platform == "win32" else None
    for process in psutil.process_iter(["cmdline", "username" if user else "uids"]):
        # process_iter leaves out what vanished, and gives None where access is denied.
        uids = process.info.get("uids")
        is_own = (
            process.info.get("username") == user if user else uids is not None and uids.real == os.getuid()
        )
        yield process.info.get("cmdline") or [], is_own


def _flags(command: Sequence[str]) -> dict[str, str]:
    """``--name=value`` arguments, with Ray's mix of ``_`` and ``-`` in names evened out."""
    flags: dict[str, str] = {}
    for argument in command[1:]:
        if argument.startswith("--") and "=" in argument:
            name, _, value = argument[2:].partition("=")
            flags.setdefault(name.replace("_", "-"), value)
    return flags
