"""Sums up references by type, function, call site, process or node."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, get_args

from rayscope.cluster.objects import schemas
from rayscope.model.reference import Reference

GROUPINGS: tuple[schemas.ObjectGrouping, ...] = get_args(schemas.ObjectGrouping)
#: Maximum number of groups in one answer.
MAX_GROUPS = 200
#: Maximum number of objects in one answer.
MAX_OBJECTS = 200
#: A group of old objects is suspected of a leak if it has at least this many objects.
LEAK_OBJECTS = 10
#: A group of old objects is also suspected of a leak if it has at least this share of all bytes.
LEAK_SHARE = 0.1
#: Types of references that only a variable of the program keeps. Ray itself releases pinned objects and
#: arguments of tasks.
_KEPT_BY_VARIABLE = frozenset({"LOCAL_REFERENCE", "CAPTURED_IN_OBJECT"})
#: Type of the reference that an object's owner reports while only other processes hold the object.
_HELD_ELSEWHERE = "UNKNOWN_STATUS"


class Creator(Protocol):
    """The task that created an object, see :class:`rayscope.cluster.objects.sql.Maker`."""

    @property
    def function(self) -> str | None: ...
    @property
    def is_put(self) -> bool: ...
    @property
    def time_ns(self) -> int | None: ...


class _Held:
    """An object and its holders."""

    __slots__ = ("by", "size", "types")

    def __init__(self) -> None:
        self.size: int | None = None
        self.by: list[Reference] = []
        self.types: set[str] = set()


def summarize(
    references: Sequence[Reference],
    makers: Mapping[str, Creator],
    by: schemas.ObjectGrouping,
    *,
    now_ns: int,
    older_than_ns: int,
) -> schemas.MemorySummary:
    """Return ``totals``, ``groups`` (most bytes first), the largest ``objects``, and ``suspects`` of leaks.

    An object held by several processes counts once in each group and once in the totals. A group
    counts only its own references. Ages (ns) count from the put, or from the end of the task that returned
    the object.
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
    groups: dict[tuple[Any, ...], list[Reference]] = {}
    key_of = _KEYS[by]
    for ref in references:
        groups.setdefault(key_of(ref, makers.get(ref.object_id)), []).append(ref)
    rows = [_group(key, group, held, by) for key, group in groups.items()]
    rows.sort(key=lambda row: (-row["bytes"], -row["objects"], str(row["key"])))
    ages = {
        object_id: now_ns - creator.time_ns
        for object_id, creator in makers.items()
        if creator.time_ns is not None and creator.time_ns <= now_ns and object_id in held
    }
    largest = heapq.nsmallest(MAX_OBJECTS, held, key=lambda one: (-(held[one].size or 0), one))
    return {
        "totals": _sum(references, held),
        "groups": rows[:MAX_GROUPS],
        "groups_total": len(rows),
        "objects": [_object(object_id, held, makers, ages) for object_id in largest],
        "objects_total": len(held),
        "suspects": _suspects(references, makers, held, ages, older_than_ns),
    }


def _by_function(_: Reference, creator: Creator | None) -> tuple[Any, ...]:
    return (None, False) if creator is None else (creator.function, creator.is_put)


def _by_process(ref: Reference, _: Creator | None) -> tuple[Any, ...]:
    return (ref.node_id, ref.worker_id, ref.pid)


#: For each grouping, the function that returns the key of a reference. References with the same key form a
#: group.
_KEYS: Mapping[schemas.ObjectGrouping, Callable[[Reference, Creator | None], tuple[Any, ...]]] = {
    "function": _by_function,
    "process": _by_process,
    "type": lambda ref, _: (ref.type,),
    "call_site": lambda ref, _: (ref.call_site,),
    "node": lambda ref, _: (ref.node_id,),
    "job": lambda ref, _: (ref.job_id,),
}


def _group(
    key: tuple[Any, ...],
    references: Sequence[Reference],
    held: Mapping[str, _Held],
    by: schemas.ObjectGrouping,
) -> schemas.Group:
    sums = _sum(references, held)
    row: schemas.Group = {
        "key": key[0],
        "objects": sums["objects"],
        "references": sums["references"],
        "bytes": sums["bytes"],
        "unknown_size": sums["unknown_size"],
        "types": sums["types"],
    }
    if by == "function":
        row["is_put"] = key[1]
    if by == "process":
        ref = references[0]
        row |= {
            "key": ref.worker_id,
            "node_id": ref.node_id,
            "pid": ref.pid,
            "is_driver": ref.is_driver,
            "actor_id": ref.actor_id,
            "job_id": ref.job_id,
        }
    return row


def _sum(references: Sequence[Reference], held: Mapping[str, _Held]) -> schemas.Sums:
    sizes = [held[object_id].size for object_id in {ref.object_id for ref in references}]
    return {
        "objects": len(sizes),
        "references": len(references),
        "bytes": sum(size for size in sizes if size is not None),
        "unknown_size": sizes.count(None),
        "types": dict(Counter(ref.type for ref in references).most_common()),
    }


def _object(
    object_id: str, held: Mapping[str, _Held], makers: Mapping[str, Creator], ages: Mapping[str, int]
) -> schemas.HeldObject:
    known, creator = held[object_id], makers.get(object_id)
    return {
        "object_id": object_id,
        "bytes": known.size,
        "function": creator.function if creator else None,
        "is_put": creator.is_put if creator else None,
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
    makers: Mapping[str, Creator],
    held: Mapping[str, _Held],
    ages: Mapping[str, int],
    older_than_ns: int,
) -> list[schemas.Suspect]:
    """Groups of old objects of one function that one process holds, if there are many or they are large."""
    whole = sum(known.size or 0 for known in held.values())
    kept: dict[tuple[str, str, int, str | None, bool], list[Reference]] = {}
    for ref in references:
        creator, age = makers.get(ref.object_id), ages.get(ref.object_id)
        if creator is None or age is None or age < older_than_ns:
            continue
        types = held[ref.object_id].types - {_HELD_ELSEWHERE}
        if ref.type in types and types <= _KEPT_BY_VARIABLE:
            place = (ref.node_id, ref.worker_id, ref.pid, creator.function, creator.is_put)
            kept.setdefault(place, []).append(ref)
    found: list[schemas.Suspect] = []
    for (node_id, worker_id, pid, function, is_put), refs in kept.items():
        row = _sum(refs, held)
        if row["objects"] < LEAK_OBJECTS and row["bytes"] < max(1, LEAK_SHARE * whole):
            continue
        oldest = max(ages[ref.object_id] for ref in refs)
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
