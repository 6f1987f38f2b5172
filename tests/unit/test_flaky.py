"""`tools/flaky.py`: its input, the runs that it repeats, and its tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tools import flaky

JUNIT = """<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="4">
<testcase classname="tests.unit.test_a" name="test_good"/>
<testcase classname="tests.unit.test_a" name="test_bad[1]"><failure message="assert 1 == 2&#10;more">x</failure></testcase>
<testcase classname="tests.unit.test_a" name="test_fixture"><error message="failed on setup">x</error></testcase>
<testcase classname="tests.unit.test_a" name="test_absent"><skipped message="no"/></testcase>
</testsuite></testsuites>"""


def run_of(part: str, surrounding: str, *failed: str, commit: str = "c1") -> Any:
    tests = ["ui: one", "ui: two"] if part == "ui" else ["unit::one"]
    return flaky.Run(commit, part, surrounding, "2026-01-01", 1.5, 0.2, tests, dict.fromkeys(failed, "why"))


def test_failures_and_errors_of_pytest_count_and_skipped_tests_do_not() -> None:
    tests, failed = flaky.read_report(JUNIT)
    assert tests == [f"tests.unit.test_a::test_{name}" for name in ("bad[1]", "fixture", "good")]
    assert failed == {
        "tests.unit.test_a::test_bad[1]": "assert 1 == 2",
        "tests.unit.test_a::test_fixture": "failed on setup",
    }


def test_a_file_that_vitest_cannot_import_counts_as_a_failed_test() -> None:
    def test(name: str, status: str, *messages: str) -> dict[str, Any]:
        return {"fullName": f" {name}", "status": status, "failureMessages": list(messages)}

    tests = [
        test("is good", "passed"),
        test("is bad", "failed", "Error: no\n  at x"),
        test("waits", "pending"),
    ]
    files = [
        {"name": str(flaky.ROOT / "web/a.test.ts"), "status": "failed", "assertionResults": tests},
        {
            "name": str(flaky.ROOT / "web/b.test.ts"),
            "status": "failed",
            "assertionResults": [],
            "message": "no",
        },
    ]
    names, failed = flaky.read_report(json.dumps({"testResults": files}))
    assert names == ["web/a.test.ts: is bad", "web/a.test.ts: is good", "web/b.test.ts"]
    assert failed == {"web/a.test.ts: is bad": "Error: no", "web/b.test.ts": "no"}


def test_runs_of_this_commit_are_not_repeated_and_a_cut_off_line_is(tmp_path: Path) -> None:
    path = tmp_path / "flaky" / "runs.jsonl"
    assert flaky.read_runs(path, "c1") == []
    for run in (run_of("ui", "busy"), run_of("ui", "busy", commit="c0"), run_of("ui", "alone")):
        flaky.append(path, run)
    with path.open("a") as file:
        file.write('{"commit": "c1", "part": "ui", "surr')
    runs = flaky.read_runs(path, "c1")
    assert [flaky.missing(runs, "ui", each, 2) for each in ("busy", "alone", "quarter")] == [1, 1, 2]
    flaky.append(path, run_of("ui", "busy"))  # the cut-off line does not swallow the next one
    assert flaky.missing(flaky.read_runs(path, "c1"), "ui", "busy", 2) == 0
    assert flaky.missing(flaky.read_runs(path, "c1"), "ui", "busy", 1) == 0


def test_a_surrounding_without_runs_is_not_run_rather_than_without_failures() -> None:
    runs = [run_of("ui", "alone"), run_of("ui", "busy"), run_of("ui", "busy", "ui: two")]
    rows = flaky.totals(runs, {("ui", "quarter"): "no cgroup"})
    assert rows[1:5] == [
        ["ui", "alone", "1 of 10", "2", "0"],
        ["ui", "busy", "2 of 10", "2", "1"],
        ["ui", "one-core", "not run"],
        ["ui", "quarter", "not run: no cgroup"],
    ]
    assert len(rows) == 1 + 3 * 4
    assert {row[2] for row in rows[5:]} == {"not run"}


def test_the_table_of_tests_names_those_that_failed_or_all() -> None:
    runs = [run_of("ui", "alone"), run_of("ui", "busy"), run_of("ui", "busy", "ui: two")]
    assert flaky.by_test(runs) == [
        ["Test", "alone", "busy", "one-core", "quarter"],
        ["ui: two", "0 of 1", "1 of 2", "not run", "not run"],
    ]
    assert [row[0] for row in flaky.by_test(runs, every=True)[1:]] == ["ui: one", "ui: two"]
    crashed = run_of("ui", "busy", "(ui: the run as a whole)")
    assert flaky.by_test([crashed])[1][:3] == ["(ui: the run as a whole)", "not run", "1 of 1"]


def test_columns_are_aligned() -> None:
    rows = [["Part", "Runs", "Failures"], ["ui", "10 of 10", "0"], ["unit", "not run: a long reason why"]]
    assert flaky.aligned(rows).splitlines() == [
        "Part  Runs      Failures",
        "ui    10 of 10  0",
        "unit  not run: a long reason why",
    ]


@pytest.mark.parametrize(
    ("memberships", "folders", "mount", "own"),
    [
        ("1:cpu:/\n0::/\n", ["cpu"], "cpu", "cpu"),
        ("4:cpu,cpuacct:/job\n0::/x\n", ["cpu/job"], "cpu", "cpu/job"),
        ("4:cpu:/only/on/the/host\n", ["cpu"], "cpu", "cpu"),
        ("0::/user/me\n", ["user/me"], "", "user/me"),
    ],
)
def test_the_group_of_this_process_is_found_in_both_versions(
    tmp_path: Path, memberships: str, folders: list[str], mount: str, own: str
) -> None:
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    if not mount:
        (tmp_path / "cgroup.controllers").write_text("cpu memory")
    assert flaky._own_cgroup(memberships, tmp_path) == (tmp_path / mount, tmp_path / own)


def test_without_a_cgroup_the_surrounding_cannot_be_had(tmp_path: Path) -> None:
    with pytest.raises(flaky.NotAvailable, match="no cgroup of the CPU"):
        flaky._own_cgroup("0::/\n", tmp_path)
