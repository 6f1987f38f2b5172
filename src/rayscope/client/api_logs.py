"""The requests about log files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rayscope.client.calls import Call, Time, params
from rayscope.client.methods import request
from rayscope.errors import RayscopeError

if TYPE_CHECKING:
    from rayscope.client import types as t

#: Parameters that name the owner of log lines.
_OWNERS = ("task_id", "actor_id", "job_id", "worker_id")


class LogsApi:
    """Requests for the lines of a session's log files."""

    session: str | None

    def _of(self, session: str | None) -> str | None:
        return session or self.session

    @request
    def log_files(
        self,
        *,
        node_id: str | None = None,
        kind: str | None = None,
        q: str | None = None,
        hide_empty: bool | None = None,
        limit: int | None = None,
        session: str | None = None,
    ) -> Call[t.LogFilesAnswer]:
        """Return log files, the newest first. ``hide_empty``: without files to which nothing was printed."""
        more: dict[str, Any] = {
            "node_id": node_id,
            "kind": kind,
            "q": q,
            "hide_empty": hide_empty,
            "limit": limit,
        }
        return Call("GET", "/api/v1/logs", params(session=self._of(session), **more))

    @request
    def log_page(
        self,
        node_id: str,
        name: str,
        *,
        offset: int | None = None,
        before: int | None = None,
        begin: int | None = None,
        end: int | None = None,
        q: str | None = None,
        regex: bool | None = None,
        level: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        limit: int | None = None,
        session: str | None = None,
    ) -> Call[t.LogPage]:
        """Return lines of a file: the last ones, those from ``offset`` on, or those before ``before``.

        Offsets are in bytes.
        """
        more: dict[str, Any] = {
            "offset": offset,
            "before": before,
            "begin": begin,
            "end": end,
            "q": q,
            "regex": regex,
        }
        more |= {"level": level, "limit": limit}
        query = params(session=self._of(session), node_id=node_id, name=name, since_ns=since, until_ns=until)
        return Call("GET", "/api/v1/logs/file", {**query, **params(**more)}, timeout_s=60)

    @request
    def logs(
        self,
        *,
        task_id: str | None = None,
        attempt: int | None = None,
        actor_id: str | None = None,
        job_id: str | None = None,
        worker_id: str | None = None,
        limit: int | None = None,
        session: str | None = None,
    ) -> Call[t.LogsOfAnswer]:
        """Return the last lines of a task's attempt, an actor, a job, or a worker, with their files."""
        owner: dict[str, Any] = dict(zip(_OWNERS, (task_id, actor_id, job_id, worker_id), strict=True))
        if sum(identity is not None for identity in owner.values()) != 1:
            raise RayscopeError(
                "No owner of the logs given.", f"Use one of {', '.join(_OWNERS)}.", "bad_request"
            )
        query = params(session=self._of(session), attempt=attempt, limit=limit, **owner)
        return Call("GET", "/api/v1/logs/of", query, timeout_s=60)

    @request
    def search_logs(
        self,
        q: str,
        *,
        regex: bool | None = None,
        case: bool | None = None,
        kind: str | None = None,
        node_id: str | None = None,
        level: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        limit: int | None = None,
        session: str | None = None,
    ) -> Call[t.LogSearchAnswer]:
        """Return the lines of all files that contain the text ``q``, or match ``q`` as an RE2 expression."""
        more: dict[str, Any] = {
            "regex": regex,
            "case": case,
            "kind": kind,
            "node_id": node_id,
            "level": level,
        }
        more |= {"since_ns": since, "until_ns": until, "limit": limit}
        return Call(
            "GET", "/api/v1/logs/search", params(session=self._of(session), q=q, **more), timeout_s=120
        )
