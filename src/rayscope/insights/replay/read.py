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
    Arguments,
    Attempts,
    Bools,
    Group,
    GroupWait,
    Ints,
    MemoryKill,
    Node,
    Passed,
    Recorded,
    Risk,
    Sending,
    Texts,
    Wait,
    Waits,
)
from rayscope.model.program import script_name
from rayscope.storage.errors import NotFound
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.jobs import longest_job, no_tasks
from rayscope.tracer.limits import MAX_WAITED
from rayscope.views.critical_path.compute import SLACK_NS

#: Maximum number of running jobs that are evaluated at once.
_MAX_JOBS = 10
_KINDS = {"ACTOR_CREATION_TASK": CREATION, "ACTOR_TASK": CALL}
#: Columns of :class:`Attempts` that are times.
_TIMES = ("created", "pending", "given", "start", "returned", "ended", "starting", "yielded")
#: Columns of :class:`Attempts` that are strings.
_TEXTS = ("state", "error", "code", "call_site", "environment", "memory_scope")
#: Stands for an unknown number of objects: more than any wait can have.
_UNCOUNTED = 2**31


def find_job(file: SessionFile, job: str | None, last_ns: int) -> tuple[str, int]:
    """The ID of the requested job, or of the longest one that ran tasks, and its number of attempts. Raises
    NotFound.
    """
    with file.reader() as reader:
        job = job or longest_job(reader, last_ns)
        attempts = sql.count_attempts(reader, job)
    if not attempts:
        raise no_tasks(job)
    return job, attempts


def running_jobs(file: SessionFile, max_attempts: int) -> list[str]:
    """The newest running jobs that have at most ``max_attempts`` attempts."""
    with file.reader() as reader:
        return sql.running_jobs(reader, max_attempts, _MAX_JOBS)


def script(file: SessionFile, job: str) -> str:
    """The script of a job's driver, or "" if unknown."""
    with file.reader() as reader:
        return script_name(sql.read_entrypoint(reader, job))


def extent(file: SessionFile, job: str, until_ns: int = 0) -> tuple[int, int, bool]:
    """When a job began and ended according to its driver, ns since the epoch, and whether it has ended.

    ``until_ns``: the end that is assumed for a job that is still running.
    """
    with file.reader() as reader:
        driver = sql.read_driver(reader, job)
    begin = driver["begin"] or driver["job_begin"] or 0
    end = driver["end"] or driver["job_end"]
    return begin, max(begin, end or until_ns or begin), bool(end) or until_ns == 0


def read(file: SessionFile, job: str, until_ns: int = 0) -> Recorded:
    """The record of a job. Raises NotFound if none of its tasks has a time yet.

    ``until_ns``: the end that is assumed for a job that is still running.
    """
    with file.reader() as reader:
        found = _Reader(job, sql.read_driver(reader, job), sql.read_attempts(reader, job))
        edges = sql.read_edges(reader, job)
        recorded = found.recorded(
            until_ns,
            sql.read_fetched(reader, job),
            found.arguments(edges),
            found.waits(sql.read_waits(reader, job), edges),
            found.passed(sql.read_passed(reader, job)),
            sql.read_nodes(reader),
            sql.read_workers(reader),
            sql.read_actors(reader, job),
            sql.read_groups(reader, job),
        )
        recorded.group_waits = found.group_waits(sql.read_group_waits(reader, job))
        recorded.open_waits = found.open_waits(sql.read_open_waits(reader, job))
        recorded.sendings = found.sendings(sql.read_sendings(reader, job))
        recorded.risks = found.risks(sql.read_risks(reader, job))
        recorded.memory_kills = found.memory_kills(sql.read_memory_kills(reader), recorded.nodes)
    return recorded


class _Reader:
    """Converts tables to columns: tasks become numbers, and times count from the start of the job."""

    def __init__(self, job: str, driver: dict[str, Any], attempts: pa.Table) -> None:
        self._job = job
        self._driver = driver
        keys = _numbers(attempts, "task", np.uint64)
        created = _numbers(attempts, "created")
        # Sort the tasks by creation, and the attempts of each task by number.
        known, of_row = np.unique(keys, return_inverse=True)
        begins = np.full(len(known), np.iinfo(np.int64).max)
        np.minimum.at(begins, of_row, created)
        by_begin = np.argsort(begins, kind="stable")
        number = np.empty(len(known), dtype=np.int64)
        number[by_begin] = np.arange(len(known))
        self._keys, self._number = known, number
        task = number[of_row]
        order = np.lexsort((_numbers(attempts, "number"), task))
        self._task = task[order]
        self._table = attempts.take(order)
        begins_ns = [driver["begin"], driver["job_begin"], int(created.min()) if len(created) else None]
        known_begins = [begin for begin in begins_ns if begin is not None]
        if not known_begins:
            raise NotFound(
                f"No task of job {job[:80]!r} has a time yet.",
                "Try again in a few seconds.",
                what="job_times",
                id=job[:80],
            )
        self._begin = min(known_begins)

    def _tasks_of(self, keys: Any) -> Ints:
        """The numbers of the tasks with the given keys; -1 for unknown tasks."""
        if not len(self._keys):
            return np.full(len(keys), -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[places] == keys, self._number[places], -1)

    def _times(self, table: pa.Table, column: str) -> Ints:
        values = _numbers(table, column, missing=-1)
        return np.where(values == -1, -1, np.maximum(values - self._begin, 0))

    def attempts(self, fetched: pa.Table, nodes: list[str], groups: list[str]) -> Attempts[Ints]:
        """The attempts, with nodes and placement groups as indexes into ``nodes`` and ``groups``."""
        table = self._table
        number = _numbers(table, "number")
        kinds, kind = _encoded(table, "type")
        columns: dict[str, Any] = {name: self._times(table, name) for name in _TIMES}
        columns |= {name: _texts(table, name) for name in _TEXTS}
        worker, ran = _encoded(table, "worker_id")[1], _numbers(table, "ran")
        columns["start"] = _bounded_starts(columns["start"], columns["ended"], worker, ran > 0)
        return Attempts(
            task=self._task,
            task_hi=_numbers(table, "task_hi", np.uint64),
            task_lo=_texts(table, "task_lo"),
            number=number,
            kind=np.array([*(_KINDS.get(one, NORMAL) for one in kinds), NORMAL])[kind],
            function=_encoded(table, "function")[1],
            parent=self._tasks_of(_numbers(table, "parent", np.uint64)),
            actor=_encoded(table, "actor_id")[1],
            node=_places(table, "node_id", nodes),
            worker=worker,
            group=_places(table, "placement_group_id", groups),
            demand=_encoded(table, "required_resources")[1],
            loading=np.maximum(_numbers(table, "loading"), 0),
            fetching=np.maximum(_numbers(table, "fetching"), 0),
            fetched_bytes=self._fetched_bytes(number, fetched),
            cpu_ns=_numbers(table, "cpu_ns", missing=-1),
            ran=ran,
            returned_bytes=_numbers(table, "returned_bytes", missing=-1),
            output_bytes=_numbers(table, "output_bytes", missing=-1),
            peak_memory=_numbers(table, "peak_memory", missing=-1),
            start_memory=_numbers(table, "start_memory", missing=-1),
            pid=_numbers(table, "pid", missing=-1),
            **columns,
        )

    def _fetched_bytes(self, number: Ints, table: pa.Table) -> Ints:
        """The total bytes of the arguments that each attempt fetched."""
        # Tasks and attempts are numbered from 0 on, so one number can identify an attempt of a task.
        most = int(number.max(initial=0)) + 1
        keys = self._task * most + number
        wanted = self._tasks_of(_numbers(table, "task", np.uint64)) * most + _numbers(table, "attempt")
        places = _places_of(keys, wanted)
        found = np.zeros(len(number), dtype=np.int64)
        found[places[places >= 0]] = _numbers(table, "bytes")[places >= 0]
        return found

    def recorded(
        self,
        until_ns: int,
        fetched: pa.Table,
        arguments: Arguments,
        waits: Waits,
        passed: Passed,
        nodes: list[tuple[Any, ...]],
        workers: list[tuple[Any, ...]],
        actors: list[tuple[Any, ...]],
        groups: list[tuple[Any, ...]],
    ) -> Recorded:
        """The record, still without what :func:`read` adds."""
        table, driver = self._table, self._driver
        node_ids = [node[0] for node in nodes]
        worker_ids, actor_ids = (_encoded(table, column)[0] for column in ("worker_id", "actor_id"))
        used_workers = set(worker_ids)
        launched = {one[0]: one for one in workers}
        used = set(_encoded(table, "placement_group_id")[0])
        known_groups = [one for one in groups if one[0] in used]
        attempts = self.attempts(fetched, node_ids, [one[0] for one in known_groups])
        functions = _encoded(table, "function")[0]
        named = {one[0]: one for one in actors}
        ends = [driver["end"], driver["job_end"]]
        end = next((one - self._begin for one in ends if one is not None), None)
        is_over = end is not None
        if end is None:
            heard = (int(one.max(initial=0)) for one in (attempts.ended, attempts.created, waits.end))
            end = max(*heard, until_ns - self._begin)
        is_known = driver["begin"] is not None or driver["job_begin"] is not None
        return Recorded(
            job_id=self._job,
            driver=(0, max(0, end)),
            has_driver=is_known or bool(driver["children"]) or bool((waits.task == BY_DRIVER).any()),
            has_ended=is_over,
            is_traced=bool(driver["traced"]) or len(waits.named_task) > 0,
            attempts=attempts,
            functions=functions,
            demands=[_resources(text) for text in _encoded(table, "required_resources")[0]],
            tasks=len(self._keys),
            arguments=arguments,
            waits=waits,
            passed=passed,
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
            modules=_modules(table, functions),
            begin_ns=self._begin,
        )

    def _makers(self, table: pa.Table, column: str) -> Ints:
        """The numbers of the tasks in a column; BY_DRIVER for the driver, and UNKNOWN for tasks that are not
        recorded.
        """
        keys = _numbers(table, column, np.uint64)
        found = self._tasks_of(keys)
        of_driver = np.where(keys == np.uint64(self._driver["task"]), BY_DRIVER, UNKNOWN)
        return np.where(found >= 0, found, of_driver)

    def sendings(self, table: pa.Table) -> list[Sending]:
        """Slow submissions, the code that was sent, and descriptions of large arguments."""
        return [
            Sending(*one)
            for one in zip(
                table["kind"].to_pylist(),
                self._makers(table, "task").tolist(),
                self._times(table, "begin").tolist(),
                self._times(table, "end").tolist(),
                _numbers(table, "bytes", missing=-1).tolist(),
                table["code"].combine_chunks().fill_null("").to_pylist(),
                strict=True,
            )
        ]

    def risks(self, table: pa.Table) -> list[Risk]:
        """Actions that may do harm."""
        tasks = self._makers(table, "task").tolist()
        columns = (table[name].to_pylist() for name in ("place", "times", "issue", "message"))
        return [Risk(*one) for one in zip(table["kind"].to_pylist(), tasks, *columns, strict=True)]

    def memory_kills(self, kills: list[tuple[Any, ...]], nodes: list[Node]) -> list[MemoryKill]:
        """Workers on known nodes that were killed for lack of memory."""
        workers = {one: number for number, one in enumerate(_encoded(self._table, "worker_id")[0])}
        places = {node.node_id: place for place, node in enumerate(nodes)}
        return [
            MemoryKill(
                workers.get(worker, -1),
                places[node],
                end - self._begin,
                by_kernel,
                -1 if size is None else size,
                -1 if total is None else total,
            )
            for worker, node, end, by_kernel, size, total in kills
            if node in places and end is not None
        ]

    def passed(self, table: pa.Table) -> Passed:
        """The objects that tasks created and used."""
        begin, key = self._times(table, "begin"), _numbers(table, "key", np.uint64)
        order = np.lexsort((key, begin))
        return Passed(
            kind=_numbers(table, "kind")[order],
            maker=self._makers(table, "maker")[order],
            taker=self._makers(table, "taker")[order],
            key=key[order],
            bytes=_numbers(table, "bytes", missing=-1)[order],
            nested=_flags(table, "nested")[order],
            by_value=_flags(table, "by_value")[order],
            begin=begin[order],
            end=self._times(table, "end")[order],
        )

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
        group_id: str,
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
            group_id,
        )

    def arguments(self, edges: pa.Table) -> Arguments:
        """The objects that tasks were called with."""
        chosen = edges.filter(edges["is_argument"])
        task, made_by = (self._tasks_of(_numbers(chosen, name, np.uint64)) for name in ("task", "object"))
        index = _numbers(chosen, "object_index")
        order = np.lexsort((made_by, task))
        order = order[(task[order] >= 0) & (made_by[order] >= 0)]
        return Arguments(task[order], made_by[order], index[order])

    def open_waits(self, table: pa.Table) -> dict[tuple[int, int], Wait]:
        """The last open wait of each attempt. The driver is task -1."""
        driver = np.uint64(self._driver["task"])
        found: dict[tuple[int, int], Wait] = {}
        keys = _numbers(table, "task", np.uint64)
        for task, is_driver, attempt, is_wait, is_group, begin, made_by, index in zip(
            self._tasks_of(keys).tolist(),
            (keys == driver).tolist(),
            _numbers(table, "attempt").tolist(),
            table["is_wait"].to_pylist(),
            table["is_group"].to_pylist(),
            self._times(table, "begin_ns").tolist(),
            self._tasks_of(_numbers(table, "object", np.uint64)).tolist(),
            _numbers(table, "object_index").tolist(),
            strict=True,
        ):
            if task < 0 and not is_driver:
                continue
            wait = found.get((task, attempt))
            if wait is None or wait.begin < begin:
                wait = found[task, attempt] = Wait(begin, -1, is_wait, is_group=is_group)
            if made_by >= 0 and index < FIRST_PUT:
                wait.named.append((made_by, index))
        for wait in found.values():
            if len(wait.named) >= MAX_WAITED and not wait.is_wait:
                wait.objects = _UNCOUNTED
        return found

    def group_waits(self, table: pa.Table) -> list[GroupWait]:
        """Waits for placement groups, in no particular order."""
        tasks = self._makers(table, "task").tolist()
        begins, ends = (self._times(table, name).tolist() for name in ("begin_ns", "end_ns"))
        rows = zip(tasks, table["group_id"].to_pylist(), begins, ends, strict=True)
        return [GroupWait(*one) for one in rows if one[0] != UNKNOWN]

    def waits(self, table: pa.Table, edges: pa.Table) -> Waits:
        """The waits of the tasks, and of the driver as task -1."""
        keys = _numbers(table, "task", np.uint64)
        task, attempt = self._tasks_of(keys), _numbers(table, "attempt")
        begin, end = self._times(table, "begin_ns"), self._times(table, "end_ns")
        order = np.lexsort((end, begin, attempt, task))
        is_known = (task >= 0) | (keys == np.uint64(self._driver["task"]))
        order = order[is_known[order]]
        named = edges.filter(pa.compute.invert(edges["is_argument"]))
        wait = _places_of(_numbers(table, "wait", np.uint64)[order], _numbers(named, "wait", np.uint64))
        made_by = self._tasks_of(_numbers(named, "object", np.uint64))
        by_wait = np.lexsort((made_by, wait))
        by_wait = by_wait[(wait[by_wait] >= 0) & (made_by[by_wait] >= 0)]
        wait = wait[by_wait]
        return Waits(
            task=task[order],
            attempt=attempt[order],
            begin=begin[order],
            end=np.maximum(begin, end)[order],
            is_wait=_flags(table, "is_wait")[order],
            objects=_numbers(table, "objects")[order],
            ready=_numbers(table, "ready", missing=1)[order],
            bytes=np.bincount(wait, weights=_numbers(named, "bytes")[by_wait], minlength=len(order)).astype(
                np.int64
            ),
            summed_ns=_numbers(table, "summed_ns", missing=-1)[order],
            is_interrupted=_flags(table, "is_interrupted")[order],
            is_group=_flags(table, "is_group")[order],
            first_named=np.searchsorted(wait, np.arange(len(order) + 1)),
            named_task=made_by[by_wait],
            named_index=_numbers(named, "object_index")[by_wait],
        )


def _numbers(table: pa.Table, column: str, kind: Any = np.int64, missing: int = 0) -> Any:
    """A column as an array. ``missing`` replaces nulls."""
    return (
        table[column]
        .combine_chunks()
        .fill_null(missing)
        .to_numpy(zero_copy_only=False)
        .astype(kind, copy=False)
    )


def _bounded_starts(starts: Ints, ends: Ints, workers: Ints, has_start: Bools) -> Ints:
    """The starts of attempts. An unknown start is set no earlier than the previous end on the same worker.

    If the start of a call is not recorded (yet), only its arrival at the worker is known, where it may have
    waited behind thousands of other calls. Starts on workers that ran two calls at once are left unchanged.
    """
    order = np.lexsort((ends, workers))
    follows = (workers[order][1:] == workers[order][:-1]) & (workers[order][1:] >= 0)
    ends_before = np.full(len(starts), -1, dtype=np.int64)
    ends_before[order[1:]] = np.where(follows, ends[order[:-1]], -1)
    overlaps = has_start & (starts < ends_before - SLACK_NS)
    is_bounded = ~has_start & (ends >= 0) & ~np.isin(workers, workers[overlaps])
    return np.where(is_bounded, np.maximum(starts, ends_before), starts)


def _flags(table: pa.Table, column: str) -> Bools:
    """A boolean column without nulls."""
    found: Bools = table[column].combine_chunks().to_numpy(zero_copy_only=False).astype(np.bool_)
    return found


def _encoded(table: pa.Table, column: str) -> tuple[list[str], Ints]:
    """The distinct strings of a column, and the index of each row's string; -1 for nulls."""
    encoded = table[column].combine_chunks().dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return encoded.dictionary.to_pylist(), codes


def _texts(table: pa.Table, column: str) -> Texts:
    """A column of strings; "" means unknown."""
    values, codes = _encoded(table, column)
    return Texts(codes, values)


def _modules(table: pa.Table, functions: list[str]) -> list[str]:
    """The module of each function."""
    named = table.select(["function", "module"]).group_by(["function", "module"]).aggregate([])
    module_of = {one["function"]: one["module"] for one in named.to_pylist() if one["module"]}
    return [module_of.get(function, "") for function in functions]


def _places(table: pa.Table, column: str, known: list[str]) -> Ints:
    """For each row of a column of strings, the index of its string in ``known``, or -1 if it is not there."""
    texts, numbers = _encoded(table, column)
    places = {text: place for place, text in enumerate(known)}
    of_text = np.array([*(places.get(text, -1) for text in texts), -1])
    return of_text[numbers]


def _places_of(known: Any, numbers: Any) -> Ints:
    """The index of each number in ``known`` (the last one if there are several), or -1 if it is not there."""
    if not len(known):
        return np.full(len(numbers), -1, dtype=np.int64)
    order = np.argsort(known, kind="stable")
    places = np.maximum(np.searchsorted(known, numbers, "right", sorter=order) - 1, 0)
    return np.where(known[order[places]] == numbers, order[places], -1)


def _start_slots(workers: list[tuple[Any, ...]], nodes: list[str]) -> dict[int, int]:
    """For each node, the maximum number of workers that were observed to be starting at once."""
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
    """Parse resources from JSON. Resources of a placement group get the names that they have on a node."""
    try:
        parsed = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return {}
    found: dict[str, float] = {}
    for name, amount in parsed.items() if isinstance(parsed, dict) else ():
        plain = name.split("_group_")[0]
        if isinstance(amount, (int, float)) and plain != "bundle" and 0 < amount < 1e15:
            found[plain] = max(found.get(plain, 0.0), float(amount))
    return found
