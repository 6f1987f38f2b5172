"""Replaces API requests in the server's messages with methods of the client or commands."""

from __future__ import annotations

import re
from collections.abc import Mapping

_REQUEST = re.compile(r"`?(?:GET |POST )?(/api/[a-z/-]*[a-z]|/openapi\.json)`?")
_LISTS = ("sessions", "tasks", "jobs", "actors", "workers", "nodes", "functions", "failures", "events")
#: Path -> method of the client. A missing path has the name of its parent.
METHODS = {
    **{f"/api/{name}": f"`Client.{name}()`" for name in (*_LISTS, "alerts", "summary")},
    "/api/logs": "`Client.log_files()`",
    "/api/flow/physical": "`Client.physical()`",
    "/api/flow/flame": "`Client.flame()`",
    "/api/flow/stack": "`Client.stack()`",
    "/openapi.json": "the client's documentation",
}
#: Path -> command of the command line.
COMMANDS = {
    **{f"/api/{name}": f"`rayscope {name}`" for name in (*_LISTS, "logs")},
    "/api/alerts": "`rayscope alerts list`",
    "/api/summary": "`rayscope doctor`",
    "/api/flow/physical": "`rayscope nodes`",
    "/openapi.json": "`--help`",
}


def name_requests(text: str, names: Mapping[str, str]) -> str:
    """``text`` with ``GET /api/...`` replaced by its name in ``names``; unknown paths stay."""

    def name(match: re.Match[str]) -> str:
        path = match[1]
        while path not in names and "/" in path:
            path = path.rpartition("/")[0]
        return names.get(path, match[0])

    return _REQUEST.sub(name, text)
