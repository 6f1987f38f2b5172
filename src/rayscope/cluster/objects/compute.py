"""Who holds how much: references summed up by type, function, call site, process or node."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from rayscope.model.reference import Reference

GROUPINGS = ("function", "type", "call_site", "process", "node", "job")
MAX_GROUPS, MAX_OBJECTS = 200, 200
#: A group is suspected of a leak if it holds so many objects, all of them older than asked for, ...
LEAK_OBJECTS = 10
#: ... or this share of the bytes of all.
LEAK_SHARE = 0.1
#: Nothing but somebody's variable keeps these; what is pinned or used by a task goes by itself.
_KEPT_BY_VARIABLE = frozenset({"LOCAL_REFERENCE", "CAPTURED_IN_OBJECT"})
#: How Ray lists an object at its owner while only other processes hold it.
_HELD_ELSEWHERE = "UNKNOWN_STATUS"

Row = dict[str, Any]


class Made(Protocol):
    """The maker of an object, see :class:`rayscope.cluster.objects.sql.Maker`."""

    @property
    def function(self) -> str | None: ...
    @property
    def is_put(self) -> bool: ...
    @property
    def time_ns(self) -> int | None: ...


class _Held:
    """An object and who holds it."""

    __slots__ = ("by", "size", "types")

    def __init__(self) -> None:
        self.size: int | None = None
        self.by: list[Reference] = []
        self.types: set[str] = set()


def summarize(
    references: Sequence[Reference],
    makers: Mapping[str, Made],
    by: str,
    *,
    now_ns: int,
    older_than_ns: int,
) -> Row:
    """``totals``, ``groups`` (most bytes first), the largest ``objects`` and ``suspects`` of leaks.

    ``by`` is one of :data:`GROUPINGS`. An object that several processes hold counts once in each group and
    once in the totals. Ages (ns) are those of what was put, or of the end of the task that returned it.
    """
    held: dict[str, _Held] = {}
    for ref in references:
        known = held.get(ref.object_id)
        if known is None:
            known = held[ref.object_id] = _Held()
        known.by.append(ref)
        known.types.add(ref.type)
        if ref.size is not None:
            known.size = max(known.size or 0, ref.size)
    groups: dict[tuple[Any, ...], set[str]] = {}
    key_of = _KEYS[by]
    for ref in references:
        groups.setdefault(key_of(ref, makers.get(ref.object_id)), set()).add(ref.object_id)
    rows = [_group(key, ids, held, by) for key, ids in groups.items()]
    rows.sort(key=lambda row: (-row["bytes"], -row["objects"], str(row["key"])))
    ages = {
        object_id: now_ns - made.time_ns
        for object_id, made in makers.items()
        if made.time_ns is not None and made.time_ns <= now_ns and object_id in held
    }
    largest = heapq.nsmallest(MAX_OBJECTS, held, key=lambda one: (-(held[one].size or 0), one))
    return {
        "totals": _sum(held, held),
        "groups": rows[:MAX_GROUPS],
        "groups_total": len(rows),
        "objects": [_object(object_id, held, makers, ages) for object_id in largest],
        "objects_total": len(held),
        "suspects": _suspects(references, makers, held, ages, older_than_ns),
    }


def _by_function(_: Reference, made: Made | None) -> tuple[Any, ...]:
    return (None, False) if made is None else (made.function, made.is_put)


def _by_process(ref: Reference, _: Made | None) -> tuple[Any, ...]:
    return (ref.node_id, ref.worker_id, ref.pid)


#: Grouping -> what has the same key is one group.
_KEYS: Mapping[str, Callable[[Reference, Made | None], tuple[Any, ...]]] = {
    "function": _by_function,
    "process": _by_process,
    "type": lambda ref, _: (ref.type,),
    "call_site": lambda ref, _: (ref.call_site,),
    "node": lambda ref, _: (ref.node_id,),
    "job": lambda ref, _: (ref.job_id,),
}


def _group(key: tuple[Any, ...], ids: Iterable[str], held: Mapping[str, _Held], by: str) -> Row:
    row: Row = {"key": key[0], **_sum(ids, held)}
    if by == "function":
        row["is_put"] = key[1]
    if by == "process":
        ref = next(ref for object_id in ids for ref in held[object_id].by if _by_process(ref, None) == key)
        row.update(
            key=ref.worker_id,
            node_id=ref.node_id,
            pid=ref.pid,
            is_driver=ref.is_driver,
            actor_id=ref.actor_id,
            job_id=ref.job_id,
        )
    return row


def _sum(ids: Iterable[str], held: Mapping[str, _Held]) -> Row:
    objects = unknown = size = references = 0
    types: Counter[str] = Counter()
    for object_id in ids:
        known = held[object_id]
        objects += 1
        if known.size is None:
            unknown += 1
        else:
            size += known.size
        references += len(known.by)
        for one in known.types:
            types[one] += 1
    return {
        "objects": objects,
        "references": references,
        "bytes": size,
        "unknown_size": unknown,
        "types": dict(types.most_common()),
    }


def _object(
    object_id: str, held: Mapping[str, _Held], makers: Mapping[str, Made], ages: Mapping[str, int]
) -> Row:
    known, made = held[object_id], makers.get(object_id)
    return {
        "object_id": object_id,
        "bytes": known.size,
        "function": made.function if made else None,
        "is_put": made.is_put if made else None,
        "age_ns": ages.get(object_id),
        "types": sorted(known.types),
        "call_site": next((ref.call_site for ref in known.by if ref.call_site), None),
        "holders": [
            {
                "worker_id": ref.worker_id,
                "node_id": ref.node_id,
                "pid": ref.pid,
                "is_driver": ref.is_driver,
                "actor_id": ref.actor_id,
                "type": ref.type,
            }
            for ref in known.by[:10]
        ],
        "holders_total": len(known.by),
    }


def _suspects(
    references: Sequence[Reference],
    makers: Mapping[str, Made],
    held: Mapping[str, _Held],
    ages: Mapping[str, int],
    older_than_ns: int,
) -> list[Row]:
    """What one process keeps of one function's objects, all old, many or large."""
    whole = sum(known.size or 0 for known in held.values())
    kept: dict[tuple[str, str, int, str | None, bool], set[str]] = {}
    for ref in references:
        made, age = makers.get(ref.object_id), ages.get(ref.object_id)
        if made is None or age is None or age < older_than_ns:
            continue
        types = held[ref.object_id].types - {_HELD_ELSEWHERE}
        if ref.type in types and types <= _KEPT_BY_VARIABLE:
            place = (ref.node_id, ref.worker_id, ref.pid, made.function, made.is_put)
            kept.setdefault(place, set()).add(ref.object_id)
    found = []
    for (node_id, worker_id, pid, function, is_put), ids in kept.items():
        row = _sum(ids, held)
        if row["objects"] < LEAK_OBJECTS and row["bytes"] < max(1, LEAK_SHARE * whole):
            continue
        oldest = max(ages[object_id] for object_id in ids)
        found.append(
            {
                "function": function,
                "is_put": is_put,
                "node_id": node_id,
                "worker_id": worker_id,
                "pid": pid,
                "oldest_ns": oldest,
                **row,
            }
        )
    return sorted(found, key=lambda row: (-row["bytes"], -row["objects"]))[:50]
