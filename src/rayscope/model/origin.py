"""Whose a function is: the user's, or a library's. ``storage.sql.origins`` says the same as SQL."""

from __future__ import annotations

import sys

USER = "user"
#: Libraries that run their own tasks and actors on Ray, and Python's own, by the module at their top. (A
#: module ``test`` is more likely the user's than Python's.)
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
    """``user``, or the library that a module belongs to (``ray.data``); None if the module is not known."""
    if not module:
        return None
    top, _, rest = module.partition(".")
    if top == "ray":
        part = rest.partition(".")[0]
        return f"ray.{part}" if part and not part.startswith("_") else "ray"
    return top if top in LIBRARIES else USER
