"""Replaces API requests in the server's messages by methods of the client or by commands."""

from __future__ import annotations

import re
from collections.abc import Mapping

_REQUEST = re.compile(r"`?(?:GET |POST )?(/api/[a-z0-9/-]*[a-z0-9]|/openapi\.json)`?")
_LISTS = (
    "sessions",
    "tasks",
    "jobs",
    "actors",
    "workers",
    "nodes",
    "functions",
    "failures",
    "events",
    "lines",
)
#: Maps paths to methods of the client. A path that is not listed has the name of its parent.
METHODS = {
    **{f"/api/v1/{name}": f"`Client.{name}()`" for name in (*_LISTS, "alerts", "summary")},
    "/api/v1/logs": "`Client.log_files()`",
    "/api/v1/profiles": "`Client.profiles()`",
    "/api/v1/paused-tasks": "`Client.paused_tasks()`",
    "/api/v1/flow/physical": "`Client.physical()`",
    "/api/v1/flow/flame": "`Client.flame()`",
    "/api/v1/flow/stack": "`Client.stack()`",
    "/openapi.json": "the client's documentation",
}
#: Maps paths to commands.
COMMANDS = {
    **{f"/api/v1/{name}": f"`rayscope {name}`" for name in (*_LISTS, "logs")},
    "/api/v1/alerts": "`rayscope alerts list`",
    "/api/v1/paused-tasks": "`rayscope debug`",
    "/api/v1/summary": "`rayscope doctor`",
    "/api/v1/flow/physical": "`rayscope nodes`",
    "/openapi.json": "`--help`",
}


def name_requests(text: str, names: Mapping[str, str]) -> str:
    """Return ``text`` with each ``GET /api/...`` replaced by its name in ``names``, if it has one."""

    def name(match: re.Match[str]) -> str:
        path = match[1]
        while path not in names and "/" in path:
            path = path.rpartition("/")[0]
        return names.get(path, match[0])

    return _REQUEST.sub(name, text)
