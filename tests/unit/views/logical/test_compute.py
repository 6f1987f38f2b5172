"""The logical graph is never larger than it may be, and whatever is folded still adds up."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rayscope.views.logical.compute import MAX_DRIVERS, OTHER_DRIVERS, Graph, logical_graph

_QUANTILES = dict.fromkeys(("total_p50_ns", "total_p95_ns", "p50_ns", "p95_ns"), 7)
_NAMES = [f"f{number}" for number in range(12)] + ["A.x", "A.y", "B.x", "B.y"]
_METHODS = {name for name in _NAMES if "." in name}

_call = st.tuples(
    st.sampled_from(["driver", "function", "unknown"]),
    st.sampled_from(_NAMES),
    st.sampled_from(_NAMES),
    st.integers(1, 9),
    st.integers(0, 100),
)


def _figures(attempts: int, duration_ns: int) -> dict[str, Any]:
    return {
        "attempts": attempts,
        "failed": 0,
        "duration_ns": duration_ns,
        "executing_ns": duration_ns,
        "awaiting_ns": 0,
        "blocked_ns": 0,
        "output_bytes": 0,
        **_QUANTILES,
    }


def _box(name: str, unfolded: bool) -> str | None:
    return {"A.x": "actor", "A.y": "actor", "f1": "task", "f2": ""}.get(name) if unfolded else None


def _graph(calls: list[Any], moved: list[Any], limit: int, unfolded: bool = False) -> Graph:
    of: dict[str, dict[str, Any]] = {}
    for _, _, name, attempts, duration_ns in calls:
        row = of.setdefault(name, {"func": name, "box": _box(name, unfolded), "states": {}, **_figures(0, 0)})
        row["attempts"] += attempts
        row["duration_ns"] += duration_ns
        row["states"]["FINISHED"] = row["attempts"]
    edges = {}
    for kind, caller, name, attempts, duration_ns in calls:
        key = (kind, caller, name)
        row = edges.setdefault(
            key,
            {
                "func": name,
                "box": _box(name, unfolded),
                "caller_kind": kind,
                "caller": caller,
                "caller_box": _box(caller, unfolded) if kind == "function" else None,
                **_figures(0, 0),
            },
        )
        row["attempts"] += attempts
        row["duration_ns"] += duration_ns
    data = [
        {
            "producer_kind": kind,
            "producer": producer,
            "producer_box": _box(producer, unfolded) if kind == "function" else None,
            "consumer_kind": "function",
            "consumer": consumer,
            "consumer_box": _box(consumer, unfolded),
            "arguments": arguments,
            "argument_bytes": size,
            "gets": 1,
            "get_bytes": 10,
        }
        for kind, producer, consumer, arguments, size in moved
    ]
    return logical_graph(of.values(), edges.values(), data, _METHODS, {"A": 3, "B": 1}, {}, limit=limit)


@given(st.lists(_call, max_size=60), st.lists(_call, max_size=30), st.integers(50, 120), st.booleans())
def test_it_fits_and_adds_up(calls: list[Any], moved: list[Any], limit: int, unfolded: bool) -> None:
    graph = _graph(calls, moved, limit, unfolded)
    assert len(graph.nodes) + len(graph.calls) + len(graph.data) <= limit
    attempts = sum(row[3] for row in calls)
    assert graph.attempts == attempts == sum(edge.attempts for edge in graph.calls)
    leaves = [node for node in graph.nodes if node.kind not in ("class", "instance") and not node.is_expanded]
    assert sum(node.attempts for node in leaves) == attempts
    assert sum(sum(node.states.values()) for node in leaves) == attempts
    assert sum(node.duration_ns for node in leaves) == sum(row[4] for row in calls)
    assert sum(edge.bytes for edge in graph.data) == sum(row[4] + 10 for row in moved)
    assert sum(edge.objects for edge in graph.data) == sum(row[3] + 1 for row in moved)
    seen: set[str] = set()
    for node in graph.nodes:
        assert node.parent is None or node.parent in seen  # boxes first
        assert node.id not in seen
        seen.add(node.id)
    for edge in (*graph.calls, *graph.data):
        assert {edge.source, edge.target} <= seen
    for edges in (graph.calls, graph.data):
        assert len({edge.id for edge in edges}) == len(edges)
    kept = [node.duration_ns for node in leaves if node.kind in ("function", "method", "call")]
    folded = graph.folded
    others = next((node for node in leaves if node.id == "f:f2@"), None)
    assert folded["calls"] == ({} if others is None else {"f2": others.attempts})
    if folded["functions"] and kept:
        assert min(kept) * folded["functions"] >= folded["duration_ns"]


def test_nothing_is_folded_without_need() -> None:
    calls = [("driver", "01000000", name, 1, at) for at, name in enumerate(_NAMES)]
    # 16 functions, two classes, the driver and 16 calls.
    assert _graph(calls, [], 35).folded["functions"] == 0
    graph = _graph(calls, [], 34)
    assert graph.folded["functions"] == 2
    assert len(graph.nodes) + len(graph.calls) == 33
    merged = next(edge for edge in graph.calls if edge.target == "other")
    assert (merged.attempts, merged.total_p50_ns) == (2, None)


def test_many_drivers_become_one() -> None:
    calls = [("driver", f"{job:08x}", "f0", job + 1, 1) for job in range(MAX_DRIVERS + 5)]
    graph = _graph(calls, [], 500)
    assert graph.folded["drivers"] == 5
    other = next(edge for edge in graph.calls if edge.source == OTHER_DRIVERS)
    assert other.attempts == sum(range(1, 6))
