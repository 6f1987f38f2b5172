"""Findings that came, went, or stayed."""

from __future__ import annotations

from typing import Any

from tests.running import Running
from tests.story import JOB, SESSION, Story

from rayscope.compare.findings import compare_findings

OTHER = "02000000"


def finding(kind: str, function: str | None, share: float) -> Any:
    return {
        "kind": kind,
        "title": kind,
        "severity": "warning",
        "function": function,
        "actor_class": None,
        "caller": None,
        "share": share,
    }


def test_findings_are_matched_by_their_kind_and_code() -> None:
    a = [finding("retries", "read", 0.1), finding("straggler", "load", 0.2), finding("idle", None, 0.3)]
    b = [
        finding("straggler", "load", 0.4),
        finding("straggler", "sum", 0.05),
        finding("tiny_tasks", "sum", 0.5),
        finding("idle", None, 0.1),
    ]
    found = [
        (one["change"], one["kind"], one["function"], one["a_share"], one["b_share"])
        for one in compare_findings(a, b)
    ]
    assert found == [
        ("came", "tiny_tasks", "sum", None, 0.5),
        ("came", "straggler", "sum", None, 0.05),
        ("went", "retries", "read", 0.1, None),
        ("stayed", "straggler", "load", 0.2, 0.4),
        ("stayed", "idle", None, 0.3, 0.1),
    ]


def loops() -> Story:
    """The first job waits for each call before the next one. The second one makes all calls first."""
    story = Story()
    for job, since, step in ((JOB, 0, 110), (OTHER, 5_000, 0)):
        driver = "f" * 40 + job
        for number in range(20):
            began = since + number * (110 if step else 5)
            task = story.task("crawl", began, began + 1, began + 101, parent=driver, job=job)
            if step:
                story.get(driver, task, began + 1, began + 102)
        story.entity("job", job, since, since + 2_300)
    return story


def test_findings_of_two_jobs(fresh: Running) -> None:
    fresh.record(loops())
    ask = {"a": f"{SESSION}/{JOB}", "b": f"{SESSION}/{OTHER}"}
    answer = fresh.get("/api/v1/compare/findings", **ask)
    assert answer["too_large"] == []
    change = {one["kind"]: one["change"] for one in answer["items"]}
    for job, side, gone in ((JOB, "a", "went"), (OTHER, "b", "came")):
        insights = fresh.get("/api/v1/insights", session=SESSION, job_id=job)
        assert (side in answer["not_replayed"]) == (insights["withheld"] is not None)
        for one in insights["findings"]:
            assert change[one["kind"]] in (gone, "stayed")
            shares = [item[f"{side}_share"] for item in answer["items"] if item["kind"] == one["kind"]]
            assert one["share"] in shares
    assert change["get_in_loop"] == "went"
    assert fresh.error(fresh.client.get("/api/v1/compare/findings?a=x&b=y"), 404)["code"] == "not_found"
