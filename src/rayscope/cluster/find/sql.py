"""Searches functions, attempts, actors, nodes and other entities by name or by the beginning of their ID."""

from __future__ import annotations

from rayscope.cluster.find.schemas import FoundEntity, FoundGroup, FoundItem
from rayscope.model.node_title import node_title
from rayscope.model.program import program_name
from rayscope.storage.schema import ENTITY_VIEWS, SHOWN_NAME
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.entities import EntityFilters, list_entities
from rayscope.storage.sql.execution import CREATED, NOT_DRIVER, TASK_ID, function_name
from rayscope.storage.sql.filters import TaskFilters, attempt_filters
from rayscope.storage.sql.pages import Row, like, rows_of

#: The kinds in the order of the answer. For each kind: the columns of its name, and those of its description.
_ENTITIES: dict[FoundEntity, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "actor": (("name", "class_name"), ("class_name",)),
    "node": (("node_name", "hostname", "node_ip"), ("node_ip",)),
    "worker": ((), ("worker_type", "pid")),
    "job": (("entrypoint", "submission_id"), ()),
    "placement_group": (("name",), ("strategy",)),
    "dataset": (("name",), ("job_id",)),
    "serve_application": (("name",), ("route_prefix",)),
    "train_run": (("name",), ("job_id",)),
    "tune_experiment": (("name",), ("job_id",)),
    "tune_trial": (("name", "trial_id"), ("job_id",)),
}


def hit(
    id: str,
    name: str | None,
    detail: str | None = None,
    *,
    state: str | None = None,
    attempt: int | None = None,
    node_id: str | None = None,
) -> FoundItem:
    """A hit. Fields that do not apply to its kind are None."""
    return {
        "id": id,
        "name": name,
        "detail": detail,
        "state": state,
        "attempt": attempt,
        "node_id": node_id,
    }


def find_in_record(file: SessionFile, text: str, limit: int) -> list[FoundGroup]:
    """Up to ``limit`` hits of each kind whose name contains ``text`` or whose ID begins with it."""
    return [
        _functions(file, text, limit),
        _attempts(file, text, limit),
        *(_entities(file, kind, text, limit) for kind in _ENTITIES),
    ]


def _functions(file: SessionFile, text: str, limit: int) -> FoundGroup:
    """Matching functions. Those whose name begins with the text come first, then those with the most
    attempts.
    """
    with file.reader() as reader:
        rows = rows_of(
            reader.execute(
                f"SELECT {function_name('attempts')} AS id, count(*) OVER () AS total FROM attempts "
                f"WHERE {NOT_DRIVER} GROUP BY id HAVING id ILIKE $1 ESCAPE '\\' "
                "ORDER BY starts_with(lower(id), lower($2)) DESC, count(*) DESC, id LIMIT $3",
                [like(text), text, limit],
            )
        )
    items = [hit(row["id"], row["id"]) for row in rows]
    return {"kind": "function", "items": items, "total": _total(rows)}


def _attempts(file: SessionFile, text: str, limit: int) -> FoundGroup:
    """Matching attempts of tasks: failed ones first, then the newest."""
    where = attempt_filters(TaskFilters(q=text))
    with file.reader() as reader:
        rows = rows_of(
            reader.execute(
                f"SELECT {TASK_ID} AS id, attempt, {SHOWN_NAME} AS name, {function_name('attempts')} AS "
                f"function, state, node_id, count(*) OVER () AS total FROM attempts{where.sql} "
                f"ORDER BY coalesce(state = 'FAILED', false) DESC, {CREATED} DESC, task_hi, task_lo LIMIT ?",
                [*where.values, limit],
            )
        )
    items = [
        hit(
            row["id"],
            row["name"] or row["function"],
            state=row["state"],
            attempt=row["attempt"],
            node_id=row["node_id"],
        )
        for row in rows
    ]
    return {"kind": "task", "items": items, "total": _total(rows)}


def _entities(file: SessionFile, kind: FoundEntity, text: str, limit: int) -> FoundGroup:
    """Matching actors, nodes or other entities, newest first. As in their lists, Ray's own are left out."""
    names, details = _ENTITIES[kind]
    page = list_entities(file, kind, EntityFilters(q=text), limit=limit)
    items = []
    for row in page.items:
        name = next((row[column] for column in names if row[column]), None)
        if kind == "node":
            name = node_title(row)
        elif name is not None and name == row.get("entrypoint"):
            name = program_name(name)
        detail = " ".join(str(row[column]) for column in details if row[column] not in (None, "", name))
        id = row[ENTITY_VIEWS[kind][1]]
        items.append(hit(id, name, detail or None, state=row["state"], node_id=row.get("node_id")))
    return {"kind": kind, "items": items, "total": page.total}


def _total(rows: list[Row]) -> int:
    return int(rows[0]["total"]) if rows else 0
