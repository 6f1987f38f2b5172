"""What people give as a cluster's address, and what they should have given."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection

from rayscope.errors import RayscopeError
from rayscope.ray.discovery import local_gcs_addresses

_HOST_PORT = re.compile(r"^(\[[0-9a-fA-F:.%]+\]|[^\s:/\[\]]+):(\d{1,5})$")
_REMEDY = "Use the GCS address of the head node as host:port, for example 10.0.0.1:6379, or `auto`."


class AddressError(RayscopeError):
    """The text cannot be a GCS address."""

    remedy = _REMEDY


def resolve(address: str, sessions_meant: Callable[[], Collection[str]] = tuple) -> str:
    """``address`` as ``host:port``; ``auto`` and ``local`` look for a cluster on this machine.

    ``sessions_meant`` is asked where several run here: the cluster of the only one of its sessions is taken.
    Raises :class:`AddressError` for anything else, saying what it seems to be.
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
    """``RAY_ADDRESS`` if it names a GCS, else the one cluster whose processes run here."""
    named = os.environ.get("RAY_ADDRESS", "").strip()
    if named and named not in ("auto", "local"):
        return resolve(named)
    found = local_gcs_addresses()
    addresses = set(found.values())
    if not addresses:
        raise AddressError("No Ray cluster is running on this machine.", f"Start one. Otherwise: {_REMEDY}")
    if len(addresses) > 1:
        meant = sessions_meant()
        addresses = {address for session, address in found.items() if session in meant}
    if len(addresses) != 1:
        listed = "".join(f"\n  {address}  {session}" for session, address in sorted(found.items()))
        raise AddressError(
            f"Several Ray clusters are running on this machine:{listed}",
            f"Add the address of the one you mean to the command: {min(found.values())}",
        )
    return addresses.pop()
