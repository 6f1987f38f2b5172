"""Schemas of the warehouse's part of the health."""

from __future__ import annotations

from typing_extensions import TypedDict


class FleetServer(TypedDict):
    """A server that shares the warehouse, last seen ``age_s`` ago, with the ``sessions`` that it records."""

    server: str
    url: str
    is_alive: bool
    age_s: float
    sessions: int


class WarehouseStatus(TypedDict):
    """The warehouse, this server's name, its number of unpublished rows, and the other servers."""

    url: str
    server: str
    waiting_rows: int
    servers: list[FleetServer]
