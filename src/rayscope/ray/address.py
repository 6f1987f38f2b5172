"""Parses the addresses that users enter for a cluster, and suggests the right one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection

from rayscope.errors import RayscopeError
from rayscope.ray.discovery import local_gcs_addresses

_HOST_PORT = re.compile(r"^(\[[0-9a-fA-F:.%]+\]|[^\s:/\[\]]+):(\d{1,5})$")
_REMEDY = "Use the GCS address of the head node as host:port, for example 10.0.0.1:6379, or `auto`."


class AddressError(RayscopeError):
    """The input cannot be a GCS address. The message says what it seems to be."""

    remedy = _REMEDY


def resolve(address: str, sessions_meant: Callable[[], Collection[str]] = tuple) -> str:
    """Return ``address`` as ``host:port``. ``auto`` and ``local`` look for a cluster on this machine.

    Args:
        address: what the user entered.
        sessions_meant: called if several clusters run on this machine. Returns the sessions that the user may
            mean. If all of them belong to one cluster, that cluster is chosen.

    Raises:
        AddressError: the address is invalid, or there is no single local cluster.
    """
    address = address.strip()
    if address in ("", "auto", "local"):
        return _only_local(sessions_meant)
    if address.startswith("ray://"):
        raise AddressError(f"{address} is a Ray Client address, not the GCS's.")
    if address.startswith(("http://", "https://")):
        raise AddressError(f"{address} is a web address, such as the dashboard's, not the GCS's.")
    match = _HOST_PORT.match(address)
    if match is None or not 0 < int(match[2]) < 65536:
        raise AddressError(f"{address!r} is not host:port.")
    return address


def _only_local(sessions_meant: Callable[[], Collection[str]]) -> str:
    """``RAY_ADDRESS`` if it names a GCS, otherwise the only cluster whose processes run here."""
    named = os.environ.get("RAY_ADDRESS", "").strip()
    if named and named not in ("auto", "local"):
        return resolve(named)
    clusters = local_gcs_addresses()
    addresses = set(clusters.values())
    if not addresses:
        raise AddressError("No Ray cluster is running on this machine.", f"Start one. Otherwise: {_REMEDY}")
    if len(addresses) > 1:
        meant = sessions_meant()
        addresses = {address for session, address in clusters.items() if session in meant}
    if len(addresses) != 1:
        choices = "".join(f"\n  {address}  {session}" for session, address in sorted(clusters.items()))
        raise AddressError(
            f"Several Ray clusters are running on this machine:{choices}",
            f"Add the address of the one you mean to the command: {min(clusters.values())}",
        )
    return addresses.pop()
