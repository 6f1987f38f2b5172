"""Queries Serve's applications, deployments, replicas, proxies and controllers."""

from __future__ import annotations

from typing import Literal, cast

import msgspec

from rayscope.libraries.serve import schemas
from rayscope.model import Kind
from rayscope.storage.errors import NotFound
from rayscope.storage.rows import decode_entity
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.error_text import error_parts
from rayscope.storage.sql.execution import IS_USERS_SPAN
from rayscope.storage.sql.pages import Row, rows_of

#: Maximum number of changes of state per object. Only the newest are shown.
_MAX_CHANGES = 50
_MAX_DEPLOYMENTS = 5_000
_MAX_PROXIES = 2_000
_MAX_CONTROLLERS = 20
#: Maximum number of request hops in one answer.
_MAX_HOPS = 10_000
#: Maximum number of pairs of calling and called deployments in one answer.
_MAX_EDGES = 1_000
_DOCUMENTS = (
    "calls",
    "required_resources",
    "config",
    "autoscaling",
    "http_options",
    "grpc_options",
    "health",
)

#: A replica whose actor is dead has stopped, even if the controller's report of that was missed.
_REPLICAS = """
SELECT r.* EXCLUDE (doc, state, end_ns), CASE WHEN a.state = 'DEAD' THEN 'STOPPED' ELSE r.state END AS state,
    CASE WHEN a.state = 'DEAD' THEN coalesce(a.end_ns, r.end_ns) ELSE r.end_ns END AS end_ns,
    CASE WHEN a.state = 'DEAD' THEN a.death_reason END AS death_reason,
    CASE WHEN a.state = 'DEAD' THEN a.death_cause END AS death_cause
FROM serve_replica_rows r LEFT JOIN actor_rows a ON a.id = r.actor_id
"""

#: Errors raised by the constructors of replicas. Serve calls a constructor in a method of its own, and kills
#: the replica if that fails, so Ray reports only the kill as the cause of death.
_START_ERRORS = f"""
SELECT actor_id, start_error, {error_parts("start_error")}['headline'] AS headline
FROM (
    SELECT actor_id, arg_max(error_message, failed_ns) AS start_error FROM attempts
    WHERE state = 'FAILED' AND error_message IS NOT NULL
        AND starts_with(coalesce(module_name, ''), 'ray.serve.') AND (type = 'ACTOR_CREATION_TASK'
            OR ends_with(func_name, '.initialize_and_get_metadata'))
    GROUP BY actor_id)
"""

#: Spans that the tracer recorded in Serve's actors, attached to the creation task of the recording actor
#: (:mod:`rayscope.tracer.serve`).
_SPANS = f"""
SELECT task_lo AS actor_id, name, begin_ns, end_ns, CASE WHEN json_valid(extra) THEN extra END AS extra
FROM span_rows WHERE name IN ('serve.hop', 'serve.calls', 'serve.left_out') AND NOT {IS_USERS_SPAN}
"""
#: A request's time and application are those of its proxy, or else of its longest hop.
_REQUESTS = f"""
SELECT request, arg_max(application, rank) AS application, arg_max(begin_ns, rank) AS begin_ns,
    arg_max(end_ns, rank) - arg_max(begin_ns, rank) AS total_ns, bool_or(failed) AS failed
FROM (SELECT begin_ns, end_ns, extra ->> '$.request' AS request, extra ->> '$.application' AS application,
        (extra ->> '$.failed') = 'true' AS failed,
        [((extra ->> '$.deployment') = '')::BIGINT, end_ns - begin_ns] AS rank
    FROM ({_SPANS}) WHERE name = 'serve.hop')
WHERE request IS NOT NULL AND application IS NOT NULL AND rank[1] IS NOT NULL GROUP BY request
"""
Order = Literal["slowest", "newest", "failed"]
#: The column by which each order sorts, in descending order.
_ORDERS: dict[Order, str] = {"slowest": "total_ns", "newest": "begin_ns", "failed": "begin_ns"}


def applications(file: SessionFile, limit: int) -> tuple[list[schemas.ServeApplicationItem], int]:
    """The applications, existing ones first, then newest first; and the number of all applications."""
    found, total = _read_applications(file, limit)
    shown = schemas.ServeApplicationItem.__annotations__
    for row in found:
        for deployment in row["deployments"]:
            for name in deployment.keys() - schemas.ServeDeploymentItem.__annotations__.keys():
                del deployment[name]
    items = [{name: row[name] for name in shown} for row in found]
    return cast(list[schemas.ServeApplicationItem], items), total


def application(file: SessionFile, name: str) -> schemas.ServeApplication:
    """The application with a given name. Raises NotFound."""
    found, _ = _read_applications(file, 1, name)
    if not found:
        raise NotFound(
            f"Application {name[:80]!r} not found in this session.", what="application", id=name[:80]
        )
    return cast(schemas.ServeApplication, found[0])


def _read_applications(file: SessionFile, limit: int, name: str | None = None) -> tuple[list[Row], int]:
    """Rows of :class:`schemas.ServeApplication`, for all applications or the one with ``name``; and the
    number of all applications.
    """
    with file.reader() as reader:
        total = reader.execute("SELECT count(*) FROM serve_application_rows").fetchone()
        found = rows_of(
            reader.execute(
                "SELECT * EXCLUDE (id) FROM serve_application_rows WHERE $name IS NULL OR id = $name "
                "ORDER BY state = 'DELETED', deployed_ns DESC NULLS LAST, id LIMIT $limit",
                {"name": name, "limit": limit},
            )
        )
        deployments = rows_of(
            reader.execute(
                "SELECT id AS deployment_id, * EXCLUDE (id) FROM serve_deployment_rows "
                f"WHERE list_contains(?, application) ORDER BY name LIMIT {_MAX_DEPLOYMENTS}",
                [[row["name"] for row in found]],
            )
        )
        counts = reader.execute(
            f"SELECT application, deployment, coalesce(state, 'UNKNOWN'), count(*) FROM ({_REPLICAS}) "
            "WHERE list_contains(?, application) GROUP BY ALL ORDER BY ALL",
            [[row["name"] for row in found]],
        ).fetchall()
    by_application: dict[str, list[Row]] = {row["name"]: [] for row in found}
    by_deployment: dict[tuple[str, str], dict[str, int]] = {}
    for application, deployment, state, count in counts:
        by_deployment.setdefault((application, deployment), {})[state] = count
    for row in deployments:
        row["replicas"] = by_deployment.get((row["application"], row["name"]), {})
        _with_history("serve_deployment", row["deployment_id"], row)
        row["running_replicas"] = row["replicas"].get("RUNNING", 0)
        by_application[row["application"]].append(row)
    for row in found:
        row["deployments"] = by_application[_with_history("serve_application", row["name"], row)["name"]]
    return found, int(total[0]) if total else 0


def replicas(file: SessionFile, application: str, limit: int) -> tuple[list[schemas.ServeReplica], int]:
    """The replicas of an application, live ones first, then newest first; and the number of all its
    replicas.

    ``death_reason`` and ``death_cause``: why its actor died, in Ray's words. ``start_error``: the exception
    of its constructor, with the traceback; ``death_reason`` is then the line that names the exception.
    """
    with file.reader() as reader:
        found = rows_of(
            reader.execute(
                "SELECT id AS replica_id, r.* EXCLUDE (id) REPLACE (coalesce(e.headline, death_reason) AS "
                f"death_reason), e.start_error, count(*) OVER () AS total FROM ({_REPLICAS}) r "
                f"LEFT JOIN ({_START_ERRORS}) e USING (actor_id) "
                "WHERE application = ? ORDER BY state = 'STOPPED', deployment, start_ns DESC NULLS LAST, id "
                f"LIMIT {int(limit)}",
                [application],
            )
        )
    total = int(found[0]["total"]) if found else 0
    for row in found:
        del row["total"]
    return cast(list[schemas.ServeReplica], found), total


def requests(file: SessionFile, application: str, limit: int, order: Order) -> tuple[list[Row], int]:
    """The hops of an application's requests, grouped by request; and the number of all these requests.

    Each hop has its ``request``, the tracer's data (``extra``), and the log of its actor.
    """
    with file.reader() as reader:
        found = rows_of(
            reader.execute(
                f"""
                WITH chosen AS (
                    SELECT request, count(*) OVER () AS total,
                        row_number() OVER (ORDER BY {_ORDERS[order]} DESC, request) AS place
                    FROM ({_REQUESTS}) WHERE application = $application AND (failed OR $order <> 'failed')
                    ORDER BY place LIMIT {int(limit)})
                SELECT c.request, c.total, h.actor_id, h.begin_ns, h.end_ns, h.extra,
                    coalesce(r.node_id, p.id) AS node_id, coalesce(r.log_file, p.log_file) AS log_file
                FROM ({_SPANS}) h JOIN chosen c ON (h.extra ->> '$.request') = c.request
                LEFT JOIN serve_replica_rows r ON r.actor_id = h.actor_id
                LEFT JOIN serve_proxy_rows p ON p.actor_id = h.actor_id
                WHERE h.name = 'serve.hop' ORDER BY c.place, h.begin_ns, h.end_ns DESC, h.actor_id
                LIMIT {_MAX_HOPS}
                """,
                {"application": application, "order": order},
            )
        )
    total = int(found[0]["total"]) if found else 0
    return found, total


def left_out(file: SessionFile, application: str) -> int:
    """The number of slow hops that were only counted, in the deployment with the most of them."""
    with file.reader() as reader:
        row = reader.execute(
            f"""
            SELECT max(hops) FROM (
                SELECT sum(TRY_CAST(t.extra ->> '$.hops' AS BIGINT)) AS hops
                FROM ({_SPANS}) t JOIN serve_replica_rows r USING (actor_id)
                WHERE t.name = 'serve.left_out' AND r.application = ? GROUP BY r.deployment)
            """,
            [application],
        ).fetchone()
    return int(row[0]) if row and row[0] is not None else 0


def calls(file: SessionFile, application: str) -> list[Row]:
    """The calls of an application's deployments: ``caller``, ``callee``, ``calls`` (their number), and
    ``errors``.

    ``latency``: a histogram, see :func:`rayscope.tracer.serve.latency_bucket`.
    """
    with file.reader() as reader:
        return rows_of(
            reader.execute(
                f"""
                WITH spans AS (
                    SELECT extra ->> '$.caller' AS caller, extra ->> '$.callee' AS callee, extra
                    FROM ({_SPANS}) WHERE name = 'serve.calls' AND starts_with(caller, ?)),
                sums AS (
                    SELECT caller, callee, sum(TRY_CAST(extra ->> '$.calls' AS BIGINT))::BIGINT AS calls,
                        sum(TRY_CAST(extra ->> '$.errors' AS BIGINT))::BIGINT AS errors
                    FROM spans GROUP BY ALL),
                buckets AS (
                    SELECT caller, callee, TRY_CAST(entry.key AS BIGINT) AS bucket,
                        sum(entry.value)::BIGINT AS calls
                    FROM (SELECT caller, callee, unnest(map_entries(
                        json_transform(extra -> '$.latency', '"MAP(VARCHAR, BIGINT)"'))) AS entry FROM spans)
                    GROUP BY ALL)
                SELECT s.*, (SELECT list([b.bucket, b.calls] ORDER BY b.bucket) FROM buckets b
                    WHERE b.caller = s.caller AND b.callee = s.callee) AS latency
                FROM sums s WHERE s.callee <> '' ORDER BY s.caller, s.callee LIMIT {_MAX_EDGES}
                """,
                [f"{application}#"],
            )
        )


def proxies(file: SessionFile) -> list[schemas.ServeProxy]:
    """The proxies, one per node, running ones first."""
    with file.reader() as reader:
        found = rows_of(
            reader.execute(
                "SELECT id AS node_id, * EXCLUDE (id) FROM serve_proxy_rows "
                f"ORDER BY state = 'STOPPED', node_ip, id LIMIT {_MAX_PROXIES}"
            )
        )
    with_history = [_with_history("serve_proxy", row["node_id"], row) for row in found]
    return cast(list[schemas.ServeProxy], with_history)


def controllers(file: SessionFile) -> list[schemas.ServeController]:
    """The controllers, newest first. There is one for each time that Serve was started."""
    with file.reader() as reader:
        found = rows_of(
            reader.execute(
                "SELECT id AS actor_id, * EXCLUDE (id) FROM serve_controller_rows "
                f"ORDER BY state = 'STOPPED', end_ns DESC NULLS FIRST, id LIMIT {_MAX_CONTROLLERS}"
            )
        )
    with_history = [_with_history("serve_controller", row["actor_id"], row) for row in found]
    return cast(list[schemas.ServeController], with_history)


def _with_history(kind: Kind, identity: str, row: Row) -> Row:
    """Decode the documents of a row, and add ``since_ns`` and ``last_state`` from its transitions.

    ``last_state``: the last state reported by Serve, if a later one was inferred from the end of the cluster.
    """
    transitions = sorted(decode_entity(kind, identity, row.pop("doc")).transitions.items())
    # A restarted server receives the current state again, which is not a change.
    before = [None, *(state for (_, state), _ in transitions)]
    transitions = [one for one, last in zip(transitions, before, strict=False) if one[0][1] != last]
    row["history"] = [
        {
            "time_ns": time_ns,
            "state": state,
            "trigger": _text(extra.get("trigger")),
            "reason": _text(extra.get("reason")),
        }
        for (time_ns, state), extra in transitions[-_MAX_CHANGES:]
    ]
    last = row["history"][-1] if row["history"] else None
    row["last_state"] = last["state"] if last else None
    inferred = row["end_known_by"] is not None
    row["since_ns"] = row["end_ns"] if inferred else last["time_ns"] if last else None
    for name in _DOCUMENTS:
        if name in row:
            row[name] = msgspec.json.decode(row[name]) if row[name] else None
    return row


def _text(value: object) -> str | None:
    return None if value is None else str(value)
