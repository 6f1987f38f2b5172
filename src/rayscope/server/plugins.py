"""Routes of other packages: each entry point of the group ``rayscope.routers`` is a FastAPI router."""

from __future__ import annotations

import logging
import re
from importlib.metadata import entry_points

from fastapi import APIRouter, FastAPI

log = logging.getLogger("rayscope.server")

GROUP = "rayscope.routers"


def add_plugin_routes(app: FastAPI) -> None:
    """Add each installed router below ``/api/plugins/NAME``. Broken ones are logged."""
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        try:
            if not re.fullmatch(r"[\w-]+", entry.name):
                raise ValueError("its name may have letters, digits, - and _ only")
            router = entry.load()
            if not isinstance(router, APIRouter):
                raise TypeError("it is no fastapi.APIRouter")
            # Their schemas stay out of /openapi.json, where they could rename Rayscope's.
            app.include_router(router, prefix=f"/api/plugins/{entry.name}", include_in_schema=False)
        except Exception as error:  # importing a plug-in may raise anything
            log.warning(
                "The router %s (%s) is not used: %s: %s", entry.name, entry.value, type(error).__name__, error
            )
