"""Dashboards created by users. Each is a JSON file in DATA_DIR/dashboards with the dashboard's name."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Annotated

import msgspec

from rayscope.api.provide import provide
from rayscope.files import replace_file
from rayscope.metrics import query_schemas
from rayscope.storage.errors import BadQuery, NotFound, StoreError

NAME = "[a-z0-9][a-z0-9-]{0,63}"
MAX_DASHBOARDS = 200
_MAX_BYTES = 256 << 10


class StoredQuery(msgspec.Struct):
    expr: str
    legend: str | None = None
    bold: bool = False


class StoredChart(msgspec.Struct):
    title: str
    queries: list[StoredQuery]
    unit: str = ""
    width: int = 1
    stacked: bool = False


class StoredDashboard(msgspec.Struct):
    """The content of a dashboard's file."""

    title: str
    charts: list[StoredChart]


_decode_dashboard = msgspec.json.Decoder(StoredDashboard).decode


def encode(dashboard: StoredDashboard) -> bytes:
    """Encode a dashboard for its file. Raises BadQuery if it is too large."""
    body = msgspec.json.format(msgspec.json.encode(dashboard), indent=2)
    if len(body) > _MAX_BYTES:
        raise BadQuery(
            f"The dashboard is larger than {_MAX_BYTES} bytes.",
            "Split it in two.",
            what="dashboard_size",
            limit=_MAX_BYTES,
        )
    return body


class Dashboards:
    """The dashboards of a data directory. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def all(self) -> tuple[list[query_schemas.DashboardInShort], list[str]]:
        """Summaries of all dashboards, sorted by name, and the names of files that cannot be read."""
        found, unreadable = [], []
        for name in self._names():
            try:
                found.append(self._in_short(name))
            except NotFound:
                continue
            except StoreError:
                unreadable.append(f"{name}.json")
        return found, unreadable

    def get(self, name: str) -> query_schemas.Dashboard:
        """A dashboard. Raises NotFound, and StoreError if its file is invalid."""
        return _info(name, self._read(name)[0])

    def put(self, name: str, dashboard: StoredDashboard) -> query_schemas.Dashboard:
        """Store a dashboard, replacing its file atomically. Raises BadQuery or StoreError."""
        path = self._path(name)
        body = encode(dashboard)
        with self._lock:
            if not path.exists() and len(self._names()) >= MAX_DASHBOARDS:
                raise BadQuery(
                    f"There are already {MAX_DASHBOARDS} dashboards.",
                    "Delete one first.",
                    what="dashboard_limit",
                    limit=MAX_DASHBOARDS,
                )
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                replace_file(path, body)
            except OSError as error:
                raise StoreError(
                    f"Could not write {path}: {error}",
                    "Free some disk space.",
                    what="write_file",
                    file=path.name,
                    reason=str(error),
                ) from error
        return _info(name, dashboard)

    def delete(self, name: str) -> None:
        """Delete a dashboard. Raises NotFound or StoreError."""
        with self._lock:
            try:
                self._path(name).unlink()
            except FileNotFoundError:
                raise _missing(name) from None
            except OSError as error:
                raise StoreError(
                    f"Could not delete the dashboard: {error}",
                    "Check its file.",
                    what="delete_dashboard",
                    reason=str(error),
                ) from error

    def _in_short(self, name: str) -> query_schemas.DashboardInShort:
        kept, changed_ns = self._read(name)
        return {
            "name": name,
            "title": kept.title,
            "charts_total": len(kept.charts),
            "changed_ns": changed_ns,
        }

    def _read(self, name: str) -> tuple[StoredDashboard, int]:
        """A dashboard, and when its file was written (ns). Raises NotFound or StoreError."""
        path = self._path(name)
        try:
            about = path.stat()
            if about.st_size > _MAX_BYTES:
                raise _unreadable(path, f"it is larger than {_MAX_BYTES} bytes")
            return _decode_dashboard(path.read_bytes()), about.st_mtime_ns
        except FileNotFoundError:
            raise _missing(name) from None
        except (OSError, ValueError, RecursionError) as error:
            raise _unreadable(path, str(error)) from error

    def _names(self) -> list[str]:
        if not self._folder.is_dir():
            return []
        stems = [path.stem for path in self._folder.glob("*.json")]
        return sorted(stem for stem in stems if re.fullmatch(NAME, stem))

    def _path(self, name: str) -> Path:
        """The path of a dashboard's file, which is always inside the folder."""
        if not re.fullmatch(NAME, name):
            raise BadQuery(
                f"{name[:80]!r} is not a valid dashboard name.",
                "Use up to 64 lowercase letters, digits, and hyphens, not starting with a hyphen.",
                what="dashboard_name",
                name=name[:80],
            )
        return self._folder / f"{name}.json"


def _info(name: str, dashboard: StoredDashboard) -> query_schemas.Dashboard:
    return {
        "name": name,
        "title": dashboard.title,
        "charts": [
            {
                "title": chart.title,
                "queries": [
                    {"expr": each.expr, "legend": each.legend, "bold": each.bold} for each in chart.queries
                ],
                "unit": chart.unit,
                "width": chart.width,
                "stacked": chart.stacked,
            }
            for chart in dashboard.charts
        ],
    }


def _missing(name: str) -> NotFound:
    return NotFound(
        f"Dashboard {name} not found.", "GET /api/v1/dashboards lists them.", what="dashboard", id=name
    )


def _unreadable(path: Path, why: str) -> StoreError:
    return StoreError(
        f"{path} is not a dashboard: {why[:300]}",
        "Fix or delete the file.",
        "unreadable",
        what="dashboard",
        file=str(path),
        reason=why[:300],
    )


CurrentDashboards = Annotated[Dashboards, provide(Dashboards)]
