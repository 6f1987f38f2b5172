"""Gives routes access to the server's services."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import Depends
from starlette.requests import HTTPConnection


@cache
def provide(kind: type) -> Any:
    """Return a route's dependency on a service, as in ``Annotated[Clusters, provide(Clusters)]``."""

    async def find(connection: HTTPConnection) -> Any:
        return connection.app.state.services[kind]

    return Depends(find)
