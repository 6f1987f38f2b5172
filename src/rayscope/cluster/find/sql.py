"""Searches functions, attempts, actors, nodes and other entities by name or by the beginning of their ID."""

from __future__ import annotations

from rayscope.cluster.find.schemas import FoundEntity, FoundGroup, FoundItem
from rayscope.model.program import program_name
from rayscope.storage.schema import ENTITY_VIEWS, SHOWN_NAME
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.entities import EntityFilters, list_entities
from rayscope.storage.sql.execution import CREATED, FOREVER, NOT_DRIVER, TASK_ID, function_name
from rayscope.storage.sql.filters import TaskFilters, attempt_filters
from rayscope.storage.sql.function_names import by_function
from rayscope.storage.sql.node_names import unique_node_name
from rayscope.storage.sql.pages import like, rows_of

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
#: SQL for the kinds of which there are any. Listing an empty kind costs as much as searching a small one.
_RECORDED_KINDS = " UNION ALL ".join(f"SELECT '{kind}' WHERE EXISTS (FROM {kind}_rows)" for kind in _ENTITIES)


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
    """Up to ``limit`` hits of each recorded kind whose name contains ``text`` or whose ID begins with it."""
    with file.reader() as reader:
        recorded = {kind for (kind,) in reader.execute(_RECORDED_KINDS).fetchall()}
    return [
        _functions(file, text, limit),
        _attempts(file, text, limit),
        *(_entities(file, kind, text, limit) for kind in _ENTITIES if kind in recorded),
    ]


#: SQL for the number of attempts of each function.
_CALLED = (
    "SELECT func AS id, sum(attempts)::BIGINT AS attempts "
    f"FROM ({by_function('type', 'count(*) AS attempts', NOT_DRIVER)}) GROUP BY func"
)


def _functions(file: SessionFile, text: str, limit: int) -> FoundGroup:
    """Matching functions. Those whose name begins with the text come first, then those with the most
    attempts.
    """
    with file.reader() as reader:
        rows = rows_of(
            reader.execute(
                f"SELECT id, count(*) OVER () AS total FROM ({_CALLED}) WHERE id ILIKE $1 ESCAPE '\\' "
                "ORDER BY starts_with(lower(id), lower($2)) DESC, attempts DESC, id LIMIT $3",
                [like(text), text, limit],
            )
        )
    items = [hit(row["id"], row["id"]) for row in rows]
    return {"kind": "function", "items": items, "total": rows[0]["total"] if rows else 0}


def _attempts(file: SessionFile, text: str, limit: int) -> FoundGroup:
    """Matching attempts of tasks: failed ones first, then the newest."""
    where = attempt_filters(TaskFilters(q=text))
    order = f"CASE WHEN state = 'FAILED' THEN {FOREVER} ELSE 0 END + coalesce({CREATED}, 0)"
    with file.reader() as reader:
        total, places = reader.execute(
            f"SELECT count(*), max_by(rowid, {order}, {int(limit)}) FROM attempts{where.sql}", where.values
        ).fetchall()[0]
        rows = rows_of(
            reader.execute(
                f"SELECT {TASK_ID} AS id, attempt, {SHOWN_NAME} AS name, {function_name('attempts')} AS "
                "function, state, node_id FROM attempts WHERE rowid IN (SELECT unnest(?::BIGINT[])) "
                f"ORDER BY {order} DESC, task_hi, task_lo",
                [places or []],
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
    return {"kind": "task", "items": items, "total": total}


def _node_names(file: SessionFile) -> dict[str, str]:
    with file.reader() as reader:
        return dict(reader.execute(f"SELECT id, {unique_node_name('n')} FROM node_rows n").fetchall())


def _entities(file: SessionFile, kind: FoundEntity, text: str, limit: int) -> FoundGroup:
    """Matching actors, nodes or other entities, newest first. As in their lists, Ray's own are left out."""
    names, details = _ENTITIES[kind]
    page = list_entities(file, kind, EntityFilters(q=text), limit=limit)
    nodes = _node_names(file) if kind == "node" and page.items else {}
    items = []
    for row in page.items:
        name = next((row[column] for column in names if row[column]), None)
        if kind == "node":
            name = nodes.get(row["node_id"])
        elif name is not None and name == row.get("entrypoint"):
            name = program_name(name)
        detail = " ".join(str(row[column]) for column in details if row[column] not in (None, "", name))
        id = row[ENTITY_VIEWS[kind][1]]
        items.append(hit(id, name, detail or None, state=row["state"], node_id=row.get("node_id")))
    return {"kind": kind, "items": items, "total": page.total}
