"""Attributes functions to the user or a library. ``storage.sql.origins`` does the same in SQL."""

from __future__ import annotations

import sys

USER = "user"
#: Top-level modules of libraries that run their own tasks and actors on Ray, and of Python's standard
#: library. ``test`` is excluded, because a module of that name is more likely the user's than Python's.
LIBRARIES = frozenset(
    {
        *(sys.stdlib_module_names - {"__main__", "test"}),
        "daft",
        "dask",
        "deepspeed",
        "fugue",
        "lightgbm_ray",
        "lightning",
        "mars",
        "modin",
        "openrlhf",
        "prefect_ray",
        "pytorch_lightning",
        "ray_lightning",
        "raydp",
        "sglang",
        "skyrl",
        "torch",
        "transformers",
        "verl",
        "vllm",
        "xgboost_ray",
        "xoscar",
    }
)


def origin(module: str) -> str | None:
    """``user``, or the library of a module (``ray.data``). None if the module is unknown."""
    if not module:
        return None
    top, _, rest = module.partition(".")
    if top == "ray":
        part = rest.partition(".")[0]
        return f"ray.{part}" if part and not part.startswith("_") else "ray"
    return top if top in LIBRARIES else USER
