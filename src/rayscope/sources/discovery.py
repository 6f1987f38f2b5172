"""Ray clusters on this machine, found by their processes, as Ray's ``find_gcs_addresses`` does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import psutil


def local_gcs_addresses() -> dict[str, str]:
    """Session name -> GCS address (``host:port``) for every Ray node that runs on this machine.

    Processes that vanish meanwhile or that we may not look at are left out. A raylet knows the address
    that its cluster uses; a GCS without a raylet is found by its own port.
    """
    return addresses_in(_command_lines())


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


def _command_lines() -> Iterable[list[str]]:
    process: Any
    for process in psutil.process_iter(["cmdline"]):
        # process_iter leaves out what vanished, and gives None where access is denied.
        yield process.info.get("cmdline") or []


def _flags(command: Sequence[str]) -> dict[str, str]:
    """``--name=value`` arguments, with Ray's mix of ``_`` and ``-`` in names evened out."""
    flags: dict[str, str] = {}
    for argument in command[1:]:
        if argument.startswith("--") and "=" in argument:
            name, _, value = argument[2:].partition("=")
            flags.setdefault(name.replace("_", "-"), value)
    return flags
