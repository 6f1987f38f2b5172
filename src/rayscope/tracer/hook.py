"""The runtime environment hook: Ray calls it in every driver, and that is how we get into one.

It changes no runtime environment. It makes the driver wait for its last events (see
:mod:`rayscope.tracer.drain`), takes itself out of the environment, so that nothing which the cluster starts
in another interpreter inherits it, and hands over to the hook that was there before. (Under ``uv run`` Ray
calls no hook but its own, so there ours has nothing to chain.)
"""

from __future__ import annotations

import contextlib
import importlib
import os
from typing import Any

from rayscope.tracer import drain
from rayscope.tracer.settings import CHAINED_HOOK, HOOK, RUNTIME_ENV_HOOK


def runtime_env_hook(runtime_env: dict[str, Any] | None) -> dict[str, Any] | None:
    """``runtime_env`` unchanged, or what the hook before ours makes of it.

    Errors of ours are swallowed; those of the chained hook are the user's and pass.
    """
    chained = os.environ.pop(CHAINED_HOOK, "")
    if os.environ.get(RUNTIME_ENV_HOOK) == HOOK:
        if chained:
            os.environ[RUNTIME_ENV_HOOK] = chained
        else:
            del os.environ[RUNTIME_ENV_HOOK]
    with contextlib.suppress(Exception):
        drain.install()
    if not chained or chained == HOOK:
        return runtime_env
    module, _, name = chained.rpartition(".")
    result: dict[str, Any] | None = getattr(importlib.import_module(module), name)(runtime_env)
    return result
