"""Schemas of the warehouse's part of ``/api/health``."""

from __future__ import annotations

from typing_extensions import TypedDict


class FleetServer(TypedDict):
    """A server that shares the warehouse, last seen ``age_s`` ago. ``sessions``: how many it records."""

    server: str
    url: str
    is_alive: bool
    age_s: float
    sessions: int


class WarehouseStatus(TypedDict):
    """The warehouse, this server's name, its number of unpublished rows, and all servers that share it."""

    url: str
    server: str
    waiting_rows: int
    servers: list[FleetServer]
