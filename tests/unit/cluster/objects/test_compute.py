"""Holders and sizes of objects, computed from known references."""

from __future__ import annotations

from dataclasses import dataclass

from rayscope.cluster.objects.compute import summarize
from rayscope.model.reference import Reference

NOW = 10**18
MINUTE = 60 * 10**9


@dataclass
class Producer:
    function: str | None
    is_put: bool
    time_ns: int | None


def ref(name: str, pid: int, kind: str = "LOCAL_REFERENCE", size: int | None = 100) -> Reference:
    return Reference(name, kind, size, None, "node", f"worker{pid}", pid, pid == 1, None, "01000000")


def test_an_object_counts_once_however_many_hold_it() -> None:
    references = [
        ref("a", 1, "PINNED_IN_MEMORY"),
        ref("a", 2, size=None),
        ref("b", 2, size=50),
        ref("c", 2, size=None),
    ]
    makers = {
        "a": Producer("f", False, NOW - MINUTE),
        "b": Producer("f", False, None),
        "c": Producer(None, True, None),
    }
    by_function = summarize(references, makers, "function", now_ns=NOW, older_than_ns=MINUTE)
    totals = by_function["totals"]
    assert (totals["objects"], totals["references"], totals["bytes"]) == (3, 4, 150)
    assert totals["unknown_size"] == 1
    assert totals["types"] == {"LOCAL_REFERENCE": 3, "PINNED_IN_MEMORY": 1}
    assert [(g["key"], g["is_put"], g["objects"], g["bytes"]) for g in by_function["groups"]] == [
        ("f", False, 2, 150),
        (None, True, 1, 0),
    ]
    by_process = summarize(references, makers, "process", now_ns=NOW, older_than_ns=MINUTE)
    assert [(g["pid"], g["objects"], g["bytes"]) for g in by_process["groups"]] == [(2, 3, 150), (1, 1, 100)]
    # The references of other processes to the same objects do not count.
    assert [(g["references"], g["types"]) for g in by_process["groups"]] == [
        (3, {"LOCAL_REFERENCE": 3}),
        (1, {"PINNED_IN_MEMORY": 1}),
    ]
    assert [o["object_id"] for o in by_process["objects"]] == ["a", "b", "c"]
    assert by_process["objects"][0]["age_ns"] == MINUTE
    assert by_process["objects"][0]["holders_total"] == 2


def test_objects_kept_long_by_a_variable_are_suspected() -> None:
    old, young = NOW - 20 * MINUTE, NOW - MINUTE
    makers = {f"old{n}": Producer("leaky", False, old) for n in range(10)}
    makers |= {f"young{n}": Producer("fine", False, young) for n in range(10)}
    makers |= {f"used{n}": Producer("busy", False, old) for n in range(10)}
    references = [ref(name, 1) for name in makers if not name.startswith("used")]
    references += [ref(f"used{n}", 1) for n in range(10)]
    references += [ref(f"used{n}", 2, "USED_BY_PENDING_TASK") for n in range(10)]
    references += [ref("unknown", 1)]
    # The owner of objects that only an actor keeps: it lists the objects and holds none of them.
    makers |= {f"passed{n}": Producer("kept_by_actor", True, old) for n in range(10)}
    references += [ref(f"passed{n}", 1, "UNKNOWN_STATUS") for n in range(10)]
    references += [ref(f"passed{n}", 2) for n in range(10)]
    # These have no known holder.
    makers |= {f"gone{n}": Producer("gone", True, old) for n in range(10)}
    references += [ref(f"gone{n}", 1, "UNKNOWN_STATUS") for n in range(10)]
    found = summarize(references, makers, "type", now_ns=NOW, older_than_ns=10 * MINUTE)["suspects"]
    assert [(s["function"], s["pid"], s["objects"], s["bytes"], s["oldest_ns"]) for s in found] == [
        ("leaky", 1, 10, 1000, 20 * MINUTE),
        ("kept_by_actor", 2, 10, 1000, 20 * MINUTE),
    ]


def test_groups_and_objects_are_bounded_and_counted() -> None:
    references = [ref(f"{n:05}", n) for n in range(500)]
    found = summarize(references, {}, "process", now_ns=NOW, older_than_ns=MINUTE)
    assert (len(found["groups"]), found["groups_total"]) == (200, 500)
    assert (len(found["objects"]), found["objects_total"]) == (200, 500)
