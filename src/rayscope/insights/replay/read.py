"""Reads a job's record for a replay."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from rayscope.insights.replay import sql
from rayscope.insights.replay.program import CALL, CREATION, NORMAL
from rayscope.insights.replay.recorded import (
    BY_DRIVER,
    FIRST_PUT,
    UNKNOWN,
    Actor,
    Attempts,
    Group,
    Node,
    Passed,
    Recorded,
    Sending,
    Wait,
)
from rayscope.storage.errors import NotFound
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.jobs import longest_job

#: Jobs that run at a time and are looked at.
_MAX_JOBS = 10
_KINDS = {"ACTOR_CREATION_TASK": CREATION, "ACTOR_TASK": CALL}


def find_job(file: SessionFile, job: str | None, last_ns: int) -> tuple[str, int]:
    """The job asked for, or the longest one that ran tasks, and how many attempts it has. Raises NotFound."""
    with file.reader() as reader:
        job = job or longest_job(reader, last_ns)
        attempts = sql.count_attempts(reader, job) if job else 0
    if job is None:
        raise NotFound("No tasks recorded yet.", "GET /api/jobs lists the jobs.")
    if not attempts:
        raise NotFound(f"No tasks recorded for job {job[:80]!r}.", "GET /api/jobs lists the jobs.")
    return job, attempts


def running_jobs(file: SessionFile, max_attempts: int) -> list[str]:
    """The newest jobs that still run and have at most so many attempts."""
    with file.reader() as reader:
        return sql.running_jobs(reader, max_attempts, _MAX_JOBS)


def extent(file: SessionFile, job: str) -> tuple[int, int]:
    """When a job began and ended, as far as its driver tells."""
    with file.reader() as reader:
        driver = sql.read_driver(reader, job)
    begin = driver["begin"] or driver["job_begin"] or 0
    return begin, max(begin, driver["end"] or driver["job_end"] or begin)


def read(file: SessionFile, job: str) -> Recorded:
    """The record of a job."""
    with file.reader() as reader:
        driver = sql.read_driver(reader, job)
        attempts = sql.read_attempts(reader, job)
        waits = sql.read_waits(reader, job)
        edges = sql.read_edges(reader, job)
        fetched = sql.read_fetched(reader, job)
        passed = sql.read_passed(reader, job)
        sendings = sql.read_sendings(reader, job)
        nodes = sql.read_nodes(reader)
        workers = sql.read_workers(reader)
        actors = sql.read_actors(reader, job)
        groups = sql.read_groups(reader, job)
        open_waits = sql.read_open_waits(reader, job)
    found = _Reader(job, driver, attempts)
    recorded = found.recorded(waits, edges, fetched, nodes, workers, actors, groups)
    recorded.passed = found.passed(passed)
    recorded.open_waits = found.open_waits(open_waits)
    recorded.sendings = found.sendings(sendings)
    return recorded


class _Reader:
    """Numbers what the record names, and counts times from the begin of the job."""

    def __init__(self, job: str, driver: dict[str, Any], attempts: pa.Table) -> None:
        self._job = job
        self._driver = driver
        self._table = attempts
        keys = _numbers(attempts, "task", np.uint64)
        created = _numbers(attempts, "created")
        # The tasks in the order in which they were created.
        changes = np.flatnonzero(keys[1:] != keys[:-1]) + 1 if len(keys) else np.array([], dtype=np.int64)
        self._task = np.zeros(len(keys), dtype=np.int64)
        self._task[changes] = 1
        self._task = np.cumsum(self._task)
        firsts = np.concatenate([np.zeros(1, dtype=np.int64), changes]) if len(keys) else changes
        self._keys = keys[firsts]
        self._order = np.argsort(self._keys)
        self._sorted = self._keys[self._order]
        begins = [driver["begin"], driver["job_begin"]]
        if len(created):
            begins.append(int(created.min()))
        self._begin = min(begin for begin in begins if begin is not None)

    def _tasks_of(self, keys: Any) -> Any:
        """The numbers of tasks; -1 for those that are not among them."""
        if not len(self._sorted):
            return np.full(len(keys), -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
        return np.where(self._sorted[places] == keys, self._order[places], -1)

    def _times(self, table: pa.Table, column: str) -> Any:
        values = _numbers(table, column, missing=-1)
        return np.where(values == -1, -1, np.maximum(values - self._begin, 0))

    def recorded(
        self,
        waits: pa.Table,
        edges: pa.Table,
        fetched: pa.Table,
        nodes: list[tuple[Any, ...]],
        workers: list[tuple[Any, ...]],
        actors: list[tuple[Any, ...]],
        groups: list[tuple[Any, ...]],
    ) -> Recorded:
        table, driver = self._table, self._driver
        functions, function = _encoded(table, "function")
        required, demand = _encoded(table, "required_resources")
        actor_ids, actor = _encoded(table, "actor_id")
        node_ids = [node[0] for node in nodes]
        worker_ids, worker = _encoded(table, "worker_id")
        used_workers = set(worker_ids)
        launched = {one[0]: one for one in workers}
        used = set(_encoded(table, "placement_group_id")[0])
        known_groups = [one for one in groups if one[0] in used]
        task = self._task
        of_attempt = {
            (int(one), int(number)): size
            for one, number, size in zip(
                self._tasks_of(_numbers(fetched, "task", np.uint64)),
                _numbers(fetched, "attempt"),
                _numbers(fetched, "bytes"),
                strict=True,
            )
        }
        numbers = _numbers(table, "number").tolist()
        attempts = Attempts(
            task=task.tolist(),
            task_id=table["task_id"].to_pylist(),
            number=numbers,
            kind=[_KINDS.get(kind, NORMAL) for kind in table["type"].to_pylist()],
            function=function,
            parent=self._tasks_of(_numbers(table, "parent", np.uint64)).tolist(),
            actor=actor,
            node=_places(table, "node_id", node_ids),
            worker=worker,
            group=_places(table, "placement_group_id", [one[0] for one in known_groups]),
            demand=demand,
            loading=np.maximum(_numbers(table, "loading"), 0).tolist(),
            fetching=np.maximum(_numbers(table, "fetching"), 0).tolist(),
            fetched_bytes=[int(of_attempt.get(key, 0)) for key in zip(task.tolist(), numbers, strict=True)]
            if of_attempt
            else [0] * len(numbers),
            cpu_ns=_numbers(table, "cpu_ns", missing=-1).tolist(),
            ran=table["ran"].to_pylist(),
            state=_texts(table, "state"),
            error=_texts(table, "error"),
            code=_texts(table, "code"),
            call_site=_texts(table, "call_site"),
            environment=_texts(table, "environment"),
            returned_bytes=_numbers(table, "returned_bytes", missing=-1).tolist(),
            **{
                name: self._times(table, name).tolist()
                for name in (
                    "created",
                    "pending",
                    "given",
                    "start",
                    "returned",
                    "ended",
                    "starting",
                    "yielded",
                )
            },
        )
        named = {one[0]: one for one in actors}
        found_waits = self._waits(waits, edges)
        ends = [driver["end"], driver["job_end"]]
        end = next((one - self._begin for one in ends if one is not None), None)
        is_over = end is not None
        if end is None:
            known = [max(attempts.ended, default=0), max(attempts.created, default=0)]
            known += [wait.end for of in found_waits.values() for wait in of]
            end = max(known)
        begin = max(0, (driver["begin"] or driver["job_begin"] or self._begin) - self._begin)
        is_known = driver["begin"] is not None or driver["job_begin"] is not None
        return Recorded(
            job_id=self._job,
            driver=(begin, max(begin, end)),
            has_driver=is_known or bool(driver["children"]) or any(key[0] == -1 for key in found_waits),
            has_ended=is_over,
            is_traced=bool(driver["traced"]) or bool(found_waits),
            attempts=attempts,
            functions=functions,
            demands=[_resources(text) for text in required],
            tasks=len(self._keys),
            arguments=self._arguments(edges),
            waits=found_waits,
            nodes=[
                Node(_resources(total), self._since(begins, 0), self._since(ends, -1), node_id, name, death)
                for node_id, total, begins, ends, name, death in nodes
            ],
            workers=[
                (one[2] - self._begin, one[3] - self._begin) if one else (None, None)
                for one in map(launched.get, worker_ids)
            ],
            unused_workers=[
                (node_ids.index(node), launch - self._begin, start - self._begin)
                for identity, node, launch, start, job in workers
                if job == self._job and identity not in used_workers and node in node_ids
            ],
            start_slots=_start_slots(workers, node_ids),
            actors=[
                self._actor(*named[one]) if one in named else Actor("", {}, -1, actor_id=one)
                for one in actor_ids
            ],
            groups=[self._group(*one) for one in known_groups],
            empty_groups=[self._group(*one) for one in groups if one[0] not in used],
            last=end if is_over else max(end, (driver["last"] or 0) - self._begin),
            modules=_modules(table, len(functions), function),
            begin_ns=self._begin,
        )

    def _makers(self, table: pa.Table, column: str) -> list[int]:
        """The numbers of tasks; BY_DRIVER and UNKNOWN for others."""
        keys = _numbers(table, column, np.uint64)
        found = self._tasks_of(keys)
        of_driver = np.where(keys == np.uint64(self._driver["task"]), BY_DRIVER, UNKNOWN)
        named: list[int] = np.where(found >= 0, found, of_driver).tolist()
        return named

    def sendings(self, table: pa.Table) -> list[Sending]:
        """What callers sent, and what their large arguments looked like."""
        return [
            Sending(*one)
            for one in zip(
                table["kind"].to_pylist(),
                self._makers(table, "task"),
                self._times(table, "begin").tolist(),
                self._times(table, "end").tolist(),
                _numbers(table, "bytes", missing=-1).tolist(),
                _texts(table, "code"),
                strict=True,
            )
        ]

    def passed(self, table: pa.Table) -> list[Passed]:
        """The objects that tasks made and took."""
        return [
            Passed(*one)
            for one in zip(
                table["kind"].to_pylist(),
                self._makers(table, "maker"),
                self._makers(table, "taker"),
                _numbers(table, "key", np.uint64).tolist(),
                _numbers(table, "bytes", missing=-1).tolist(),
                table["nested"].to_pylist(),
                table["by_value"].to_pylist(),
                self._times(table, "begin").tolist(),
                self._times(table, "end").tolist(),
                strict=True,
            )
        ]

    def _actor(
        self,
        actor_id: str,
        class_name: str | None,
        resources: str | None,
        end: int | None,
        begin: int | None,
        state: str,
        restarts: int,
        death: str,
    ) -> Actor:
        return Actor(
            (class_name or "").rpartition("<locals>.")[2],
            _resources(resources),
            self._since(end, -1),
            self._since(begin, -1),
            actor_id,
            state,
            restarts,
            death,
        )

    def _since(self, time_ns: int | None, missing: int) -> int:
        return missing if not time_ns else max(0, time_ns - self._begin)

    def _group(
        self,
        _: str,
        bundles: str,
        created_ns: int | None,
        doc: str,
        name: str,
        strategy: str,
        stats: str | None,
    ) -> Group:
        observed = json.loads(doc)
        removed = observed[2] if len(observed) > 3 and observed[3].get("state") == "REMOVED" else None
        parts = json.loads(bundles or "[]")
        created = self._since(created_ns, 0)
        took_us = json.loads(stats or "{}").get("end_to_end_creation_latency_us") or 0
        is_ready = took_us > 0 or (bool(parts) and all(part.get("node_id") for part in parts))
        return Group(
            [_resources(part.get("resources")) for part in parts],
            created,
            self._since(removed, -1),
            created + took_us * 1000 if is_ready else -1,
            name,
            strategy,
        )

    def _arguments(self, edges: pa.Table) -> dict[int, list[tuple[int, int]]]:
        chosen = edges.filter(edges["is_argument"])
        found: dict[int, list[tuple[int, int]]] = {}
        for task, made_by, index in zip(
            self._tasks_of(_numbers(chosen, "task", np.uint64)).tolist(),
            self._tasks_of(_numbers(chosen, "object", np.uint64)).tolist(),
            _numbers(chosen, "object_index").tolist(),
            strict=True,
        ):
            if task >= 0 and made_by >= 0:
                found.setdefault(task, []).append((made_by, index))
        return found

    def open_waits(self, table: pa.Table) -> dict[tuple[int, int], Wait]:
        """The last wait of each attempt whose end nobody told; the driver is task -1."""
        driver = np.uint64(self._driver["task"])
        found: dict[tuple[int, int], Wait] = {}
        keys = _numbers(table, "task", np.uint64)
        for task, is_driver, attempt, is_wait, begin, made_by, index in zip(
            self._tasks_of(keys).tolist(),
            (keys == driver).tolist(),
            _numbers(table, "attempt").tolist(),
            table["is_wait"].to_pylist(),
            self._times(table, "begin_ns").tolist(),
            self._tasks_of(_numbers(table, "object", np.uint64)).tolist(),
            _numbers(table, "object_index").tolist(),
            strict=True,
        ):
            if task < 0 and not is_driver:
                continue
            wait = found.get((task, attempt))
            if wait is None or wait.begin < begin:
                wait = found[task, attempt] = Wait(begin, -1, is_wait)
            if made_by >= 0 and index < FIRST_PUT:
                wait.named.append((made_by, index))
        return found

    def _waits(self, table: pa.Table, edges: pa.Table) -> dict[tuple[int, int], list[Wait]]:
        """The waits of the tasks, and of the driver as task -1, in the order of their begins."""
        driver = np.uint64(self._driver["task"])
        found: dict[tuple[int, int], list[Wait]] = {}
        begun: dict[tuple[int, int, int], Wait] = {}
        keys = _numbers(table, "task", np.uint64)
        for task, is_driver, attempt, is_wait, begin, end, begin_ns, ready, objects, summed_ns in zip(
            self._tasks_of(keys).tolist(),
            (keys == driver).tolist(),
            _numbers(table, "attempt").tolist(),
            table["is_wait"].to_pylist(),
            self._times(table, "begin_ns").tolist(),
            self._times(table, "end_ns").tolist(),
            _numbers(table, "begin_ns").tolist(),
            _numbers(table, "ready", missing=1).tolist(),
            _numbers(table, "objects").tolist(),
            _numbers(table, "summed_ns", missing=-1).tolist(),
            strict=True,
        ):
            if task < 0 and not is_driver:
                continue
            wait = Wait(begin, max(begin, end), is_wait, [], objects, ready, 0, summed_ns)
            begun[task, attempt, begin_ns] = wait
            found.setdefault((task, attempt), []).append(wait)
        chosen = edges.filter(pa.compute.invert(edges["is_argument"]))
        for task, attempt, begin_ns, made_by, index, size in zip(
            self._tasks_of(_numbers(chosen, "task", np.uint64)).tolist(),
            _numbers(chosen, "attempt").tolist(),
            _numbers(chosen, "begin_ns").tolist(),
            self._tasks_of(_numbers(chosen, "object", np.uint64)).tolist(),
            _numbers(chosen, "object_index").tolist(),
            _numbers(chosen, "bytes").tolist(),
            strict=True,
        ):
            named = begun.get((task, attempt, begin_ns))
            if named is not None and made_by >= 0:
                named.named.append((made_by, index))
                named.bytes += size
        return found


def _numbers(table: pa.Table, column: str, kind: Any = np.int64, missing: int = 0) -> Any:
    """A column as an array; what is not known is ``missing``."""
    return (
        table[column]
        .combine_chunks()
        .fill_null(missing)
        .to_numpy(zero_copy_only=False)
        .astype(kind, copy=False)
    )


def _texts(table: pa.Table, column: str) -> list[str]:
    """A column of texts; "" is not known."""
    found: list[str] = table[column].combine_chunks().fill_null("").to_pylist()
    return found


def _modules(table: pa.Table, functions: int, function: list[int]) -> list[str]:
    """By function its module."""
    found = [""] * functions
    for number, module in zip(function, _texts(table, "module"), strict=True):
        if number >= 0 and module:
            found[number] = module
    return found


def _encoded(table: pa.Table, column: str) -> tuple[list[str], list[int]]:
    """The texts of a column, and of each row the number of its text; -1 where there is none."""
    encoded = table[column].combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.fill_null(-1).to_pylist()


def _places(table: pa.Table, column: str, known: list[str]) -> list[int]:
    """The same, by the places of the texts in ``known``."""
    texts, numbers = _encoded(table, column)
    places = {text: place for place, text in enumerate(known)}
    of_text = [places.get(text, -1) for text in texts]
    return [of_text[number] if number >= 0 else -1 for number in numbers]


def _start_slots(workers: list[tuple[Any, ...]], nodes: list[str]) -> dict[int, int]:
    """By node how many workers were seen to start at once."""
    found: dict[int, int] = {}
    starting: dict[int, list[int]] = {}
    for _, node_id, launched, started, _job in workers:
        if node_id in nodes:
            node = nodes.index(node_id)
            of_node = starting[node] = [end for end in starting.get(node, []) if end > launched]
            of_node.append(started)
            found[node] = max(found.get(node, 1), len(of_node))
    return found


def _resources(text: Any) -> dict[str, float]:
    """Resources from JSON: those of a placement group by the names that they have on a node."""
    try:
        told = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return {}
    found: dict[str, float] = {}
    for name, amount in told.items() if isinstance(told, dict) else ():
        plain = name.split("_group_")[0]
        if isinstance(amount, (int, float)) and plain != "bundle" and 0 < amount < 1e15:
            found[plain] = max(found.get(plain, 0.0), float(amount))
    return found
