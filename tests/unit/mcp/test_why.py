"""The verdict of ``why`` on deaths, which depends on how many of them are known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rayscope.mcp.answer import Answer
from rayscope.mcp.why import why


def death(end_ns: int, cause: str, is_expected: bool) -> dict[str, Any]:
    empty: dict[str, Any] = {"chain": [], "candidates": [], "missing": None, "ray": None}
    return {
        "kind": "worker",
        "id": f"{end_ns:056x}",
        "end_ns": end_ns,
        "cause": cause,
        "is_expected": is_expected,
        **empty,
    }


def died(deaths: list[dict[str, Any]], left_out: int = 0) -> str:
    """The answer about a session whose workers ended so, the newest first."""

    def of_kind(kind: str, *_: object, limit: int, **__: object) -> dict[str, Any]:
        items = deaths if kind == "worker" else []
        return {"items": items[:limit], "left_out": max(0, len(items) - limit) + left_out}

    client = SimpleNamespace(deaths=of_kind, crashes=lambda **_: {"items": []})
    view: Any = SimpleNamespace(client=client, name="s", answer=lambda *_, **__: Answer())
    return why(view, "died", "", "").page()


def test_a_kill_before_many_idle_workers_is_found() -> None:
    idle = [death(1000 - number, "idle", True) for number in range(60)]
    text = died([*idle, death(1, "oom", False)])
    assert "1 ended unexpectedly, 0 for an unknown reason, 60 as they were meant to." in text
    assert "Cause: oom." in text


def test_an_unknown_cause_is_not_called_unexpected() -> None:
    assert "0 ended unexpectedly, 1 for an unknown reason, 0 as" in died([death(1, "unknown", False)])


@pytest.mark.parametrize(
    ("deaths", "left_out", "verdict"),
    [
        ([], 0, "no end is on record"),
        ([death(1, "idle", True)], 0, "nothing died that was not meant to"),
        ([death(1, "idle", True)], 7, "none of the newest 1 died that was not meant to"),
    ],
)
def test_the_verdict_covers_only_what_was_checked(
    deaths: list[dict[str, Any]], left_out: int, verdict: str
) -> None:
    assert f"Verdict: {verdict}." in died(deaths, left_out)
