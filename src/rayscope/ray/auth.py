"""Finds Ray's authentication token in the same places as Ray. The token is never logged."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

#: Ray's setting: "token" or "disabled". If unset, `ray start --head` uses a token if one exists, `ray.init()`
#: always uses one for a cluster that it starts, and processes that join by address never do.
AUTH_MODE = "RAY_AUTH_MODE"


def ray_token(environ: Mapping[str, str] | None = None) -> str | None:
    """The token for Ray's gRPC and HTTP services. None if there is none or authentication is disabled.

    The order of lookup is Ray's (``authentication_token_loader.cc``): ``RAY_AUTH_TOKEN``, the file named by
    ``RAY_AUTH_TOKEN_PATH``, then ``~/.ray/auth_token``. ``RAY_AUTH_MODE=disabled`` disables it. A file that
    is missing, unreadable or empty counts as no token. The cluster then refuses us, and the error has a
    remedy: see :class:`rayscope.ray.gcs.client.GcsError`.
    """
    env = os.environ if environ is None else environ
    if env.get(AUTH_MODE, "").lower() == "disabled":
        return None
    token = env.get("RAY_AUTH_TOKEN", "").strip()
    if token:
        return token
    path = env.get("RAY_AUTH_TOKEN_PATH", "").strip()
    if path:
        return _read(path)
    return _read(os.path.join(env.get("HOME") or "~", ".ray", "auth_token"))


class RayToken:
    """The token for one cluster, shared by all connections to it. Thread-safe.

    Ray's processes keep the token that they started with. So a token stays in use until a service refuses it,
    even if its file has changed.

    Args:
        read: returns the current token. It is called again after a refusal.
    """

    def __init__(self, read: Callable[[], str | None]) -> None:
        self._read = read
        self.value = read()

    @classmethod
    def of(cls, token: RayToken | str | None) -> RayToken:
        """``token`` itself, or a text that cannot be read again."""
        return token if isinstance(token, RayToken) else cls(lambda: token)

    def renew(self, refused: str | None) -> bool:
        """Read the token again because a service refused ``refused``. Returns whether it is another one."""
        if self.value == refused:
            self.value = self._read()
        return self.value != refused

    def replace(self, other: RayToken) -> None:
        """Use the token of ``other`` from now on."""
        self._read, self.value = other._read, other.value


def bearer(token: str | None) -> dict[str, str]:
    """The HTTP header with ``token``, or an empty dict if there is none."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def _read(path: str) -> str | None:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError, RuntimeError):
        return None
