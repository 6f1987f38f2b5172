"""Ray's authentication token, found where Ray itself looks for it. It is never logged."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

#: Ray's: "token" or "disabled". Unset, `ray start --head` takes "token" where there is one, `ray.init()`
#: for a cluster of its own always does, and whoever joins by address never does.
AUTH_MODE = "RAY_AUTH_MODE"


def ray_token(environ: Mapping[str, str] | None = None) -> str | None:
    """The token for Ray's gRPC and HTTP services, or None if there is none (or it is switched off).

    The order is Ray's (``authentication_token_loader.cc``): ``RAY_AUTH_TOKEN``, the file named by
    ``RAY_AUTH_TOKEN_PATH``, then ``~/.ray/auth_token``. With ``RAY_AUTH_MODE=disabled`` none is sent.
    A file that is missing, unreadable or empty counts as no token: the cluster's refusal then says what
    to do, see :class:`rayscope.ray.gcs.client.GcsError`.
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


def bearer(token: str | None) -> dict[str, str]:
    """The HTTP header that carries ``token``; empty without one."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def _read(path: str) -> str | None:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError, RuntimeError):
        return None
