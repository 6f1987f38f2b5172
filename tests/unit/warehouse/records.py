"""Records in which every column of every table has values, as no single run of Ray fills them all."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import duckdb
import msgspec
from tests.tables import insert_attempts

from rayscope.model import PHASES, STATES, Annotation, Attempt, Edge, Entity, Span, TaskError
from rayscope.model.attempt import SCALARS
from rayscope.storage import inferred_ends, rows
from rayscope.storage.about import About, Label
from rayscope.storage.schema import ENTITY_COLUMNS
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.merge import INTEGERS
from rayscope.warehouse.client import Warehouse
from rayscope.warehouse.servers import Publisher

START_NS = 1_764_000_000 * 10**9
LAST_NS = START_NS + 10**11
#: Names that users and machines may use.
HOSTILE = [
    "plain", "it's", 'say "so"', "back\\slash", "`tick`", "a\0b", "\U0001f600 ünï", "line\nbreak\ttab", "x" * 10_000,
    "'); DROP TABLE raw_attempts; --", "{session:String}", "%s %(name)s", "\\N", "NULL", "",
]  # fmt: skip


def publisher_of(warehouse: Warehouse) -> Publisher:
    """A publisher that may publish now."""
    publisher = Publisher("test")
    publisher.heartbeat(warehouse, ())
    return publisher


def make_record(folder: Path, session: str, seed: int = 0, tasks: int = 60, *, is_over: bool = True) -> Path:
    """A session in a data directory."""
    rng = random.Random(seed)
    record = folder / "sessions" / session / "record.duckdb"
    record.parent.mkdir(parents=True)
    SessionFile(record).close()
    with duckdb.connect(str(record)) as db:
        fill(db, rng, tasks)
        db.execute("INSERT INTO meta VALUES ('last_ns', ?)", [str(LAST_NS)])
        if is_over:
            inferred_ends.infer(db, LAST_NS, LAST_NS)
    about = About(
        session,
        first_ns=START_NS,
        last_ns=LAST_NS,
        ended_ns=LAST_NS if is_over else None,
        host=None if seed % 3 == 2 else f"host-{seed}'",
        script="train.py",
        attempts=tasks,
        tasks=tasks,
        states={"FAILED": 5},
        stopped_by_libraries=2,
        label=Label(7, "it's mine", 'a "note"', ("a", "b'")),
    )
    save(record.parent, about)
    return record


def save(folder: Path, about: About) -> None:
    """Put down what the list of sessions shows."""
    (folder / "about.json").write_bytes(msgspec.json.encode(about))
    (folder / "label.json").write_bytes(msgspec.json.encode(about.label))


def fill(db: duckdb.DuckDBPyConnection, rng: random.Random, tasks: int) -> None:
    """Rows of every table."""
    ids = [f"{rng.randrange(2**64):016x}{rng.randrange(2**32):08x}{'00' * 8}01000000" for _ in range(tasks)]
    entities = [make_entity(kind, f"{kind}{n}'", rng) for kind in ENTITY_COLUMNS for n in range(8)]
    entities += [
        Entity("job", "internal", {"is_internal": True}),
        Entity("actor", "supervisor", {"ray_namespace": "SUPERVISOR_ACTOR_RAY_NAMESPACE", "worker_id": "w"}),
        Entity("actor", "of-internal", {"job_id": "internal", "class_name": "C"}),
        Entity("worker", "w", {"job_id": "01000000"}),
        Entity("job", "09000000", {"is_internal": True}),
        Entity("worker", "09000000" + "f" * 48, {"worker_type": "DRIVER"}),
    ]
    for kind in ENTITY_COLUMNS:
        db.register("fresh", rows.entity_table(kind, [one for one in entities if one.kind == kind]))
        db.execute(f"INSERT INTO {kind}_rows BY NAME FROM fresh")
    insert_attempts(db, [make_attempt(task, ids, rng) for task in ids])
    db.execute("UPDATE attempts SET path_id = hash(task_lo) >> 1 WHERE attempt = 0")
    db.execute(
        "INSERT INTO paths (path_id, parent_path_id, name, depth) VALUES (1, 0, 'it''s', 1), (2, 1, 'g', 2)"
    )
    db.execute(
        "INSERT INTO drops VALUES ('node', 'full', 5, 9, 'TASK', 1, 2), ('gcs', 'it''s', 1, 2, '', NULL, NULL)"
    )
    text = rng.choice
    users = '{"user": {"a": 1}}'
    spans = [
        Span(
            text([*ids[:9], ""]),
            0,
            text(["ray.get", "ray.wait", *HOSTILE]),
            7,
            text([8, 9]),
            text([users, *HOSTILE]),
        )
        for _ in range(50)
    ]
    edges = [
        Edge(
            text(ids[:9]), 0, text(["get", "wait", "blocked:ray.get", "put", *HOSTILE]), text(ids[:3]),
            text([1, 100_000_001]), text([None, 5]), text([7, 6]), 8,
        )
        for _ in range(60)
    ]  # fmt: skip
    # Whatever chance chose: a call that was blocked on an object.
    spans.append(Span(ids[0], 0, "ray.get", 7, 9))
    edges.append(Edge(ids[0], 0, "get", ids[1], 1, None, 7, 8))
    sums = '{"hz":1.5,"samples":[[0,1,5,123],[2,0,1,0],[99,0,1,1],[-2,0,1,1],[0,0,-1,1]]}'
    frames = (
        '{"frames":[[122,0,"a.py:1 f"],[123,122,"it\'s.py:20 g.<locals>.h"],[124,0,": …"],[-1,0,"a.py:1 f"]]}'
    )
    spans += [Span(ids[0], 0, "rayscope.samples", 7, 9, sums), Span("", 0, "rayscope.frames", 7, 9, frames)]
    profile = '{"profile":"abc1","hz":100.0,"samples":[[0,0,5,123]]}'
    spans += [Span(task_id, 0, "rayscope.profile", 7, 9, profile) for task_id in (ids[0], "")]
    notes = [
        Annotation(text(ids), 0, "counter", text(HOSTILE), text(HOSTILE), text([None, 1.5, -0.0, 1e300]), 3)
        for _ in range(30)
    ]
    # Whatever chance chose: each of the names.
    notes += [Annotation(ids[0], 0, "counter", name, name, None, 3) for name in HOSTILE]
    tables = {"span_rows": rows.span_table(spans), "edge_rows": rows.edge_table(edges)}
    tables["annotation_rows"] = rows.annotation_table(notes)
    for name, table in tables.items():
        db.register("fresh", table)
        db.execute(f"INSERT INTO {name} SELECT DISTINCT * FROM fresh")


def make_attempt(task: str, ids: list[str], rng: random.Random) -> Attempt:
    """An attempt that knows a part of everything."""
    made = Attempt(task, rng.choice([0, 0, 1]))
    for name in SCALARS:
        if rng.random() < 0.6:
            setattr(made, name, rng.randrange(2**40) if name in INTEGERS else rng.choice(HOSTILE))
    for name, choices in {
        "parent_task_id": [None, *ids, "f" * 40 + "01000000"],
        "caller_task_id": [None, *ids],
        "type": ["NORMAL_TASK", "ACTOR_TASK", "ACTOR_CREATION_TASK", "DRIVER_TASK", None],
        "module_name": [None, "ray.data.x", "main"],
        "name": [None, "f", "it's.method", "a.b.c"],
        "func_name": [None, "f", "it's.method"],
        "actor_id": ["actor0'", "of-internal", None],
        "worker_id": ["worker1'", None],
        "node_id": ["node1'", None],
        "job_id": ["job1'", None],
    }.items():
        setattr(made, name, rng.choice(choices))
    begin = START_NS + rng.randrange(10**10)
    made.states = {state: begin + rng.randrange(10**9) for state in STATES if rng.random() < 0.5}
    made.phases = {
        phase: (begin + rng.randrange(10**9), begin + rng.randrange(10**10))
        for phase in PHASES
        if rng.random() < 0.5
    }
    if rng.random() < 0.5:
        made.error = TaskError(begin, rng.choice(["WORKER_DIED", "it's"]), rng.choice(HOSTILE))
    if rng.random() < 0.5:
        made.returned = (begin, rng.randrange(9), rng.randrange(2**40))
    return made


def make_entity(kind: Any, identifier: str, rng: random.Random) -> Entity:
    """An entity with a value in most of its columns, set in any of the possible ways."""

    def some() -> dict[str, Any]:
        makers = {
            "VARCHAR": lambda: rng.choice(HOSTILE),
            "BIGINT": lambda: rng.choice([0, -1, 2**63 - 1, rng.randrange(2**40)]),
            "DOUBLE": lambda: rng.choice([0.1, 1e300, 7.0]),
            "BOOLEAN": lambda: rng.random() < 0.5,
        }
        skipped = {"state", "end_known_by", "alias_of"}  # jobs with an alias are not shown
        columns = [(name, duck) for name, duck in ENTITY_COLUMNS[kind] if name not in skipped]
        return {name: makers[duck]() for name, duck in columns if rng.random() < 0.6}

    states = ["ALIVE", "DEAD", "FINISHED", "it's"]
    fields = some()
    if kind == "job":
        fields.update(rng.choice([{}, {"alias_of": "x"}, {"end_known_by": "exit_code"}]))
    return Entity(
        kind,
        identifier,
        fields,
        {(time_ns, rng.choice(states)): some() for time_ns in range(rng.randrange(3))},
        time.time_ns(),
        rng.choice([{}, {**some(), "state": rng.choice(states)}]),
    )
