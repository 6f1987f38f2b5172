"""The runtime environment hook, which Ray calls in every driver.

It leaves the runtime environment unchanged and

- makes the driver wait for its last events (see :mod:`rayscope.tracer.drain`),
- removes itself from the environment variables, so that interpreters started by the cluster do not inherit
  it,
- calls the hook that was configured before, if any. (Under ``uv run`` Ray calls only its own hook.)
"""

from __future__ import annotations

import contextlib
import importlib
import os
from typing import Any

from rayscope.tracer import drain
from rayscope.tracer.settings import CHAINED_HOOK, HOOK, RUNTIME_ENV_HOOK


def runtime_env_hook(runtime_env: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return ``runtime_env`` unchanged, or the result of the hook configured before ours.

    Our own errors are swallowed. Those of the chained hook are raised.
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
