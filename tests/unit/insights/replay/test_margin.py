"""The range of a saving, over random programs and numbers."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.insights.replay import plain_simulation as plain
from tests.unit.insights.replay.programs import MS, JobBuilder
from tests.unit.insights.replay.simulation.test_engine import engine_job, jobs

from rayscope.insights.replay.changes import Change, apply_changes
from rayscope.insights.replay.margin import saving_range, with_slower_ray
from rayscope.insights.replay.simulation.engine import replay

TIMES = st.integers(0, 10**12)


@given(jobs())
def test_the_range_contains_what_a_plain_simulation_saves(
    job: tuple[list[plain.Node], list[plain.Group], list[plain.Task]],
) -> None:
    """Without noise, all functions at half their time save what the plain simulation says."""
    slow = copy.deepcopy(job)
    for task in slow[2]:
        task.before_ms, task.after_ms = 2 * task.before_ms, 2 * task.after_ms
    programs = engine_job(*slow).programs
    before, after = (plain.Simulation(nodes, groups).run(tasks) for nodes, groups, tasks in (slow, job))
    if before is None or after is None:
        return
    halved = [Change("speed", name, 2.0) for name in sorted({task.function for task in job[2]})]
    unchanged, changed, slower = (
        replay(one).duration_ns
        for one in (programs, apply_changes(programs, halved), with_slower_ray(programs))
    )
    low, high = saving_range(unchanged - changed, 0.0, slower - unchanged, unchanged)
    assert low <= (before - after) * MS <= high <= before * MS


@given(TIMES, TIMES, st.floats(-0.5, 0.5), TIMES)
def test_a_range_is_ordered_and_within_the_job(
    saving_ns: int, more_ns: int, error: float, ray_ns: int
) -> None:
    recorded_ns = saving_ns + more_ns
    low, high = saving_range(saving_ns, error, ray_ns, recorded_ns)
    assert 0 <= low <= saving_ns <= high <= recorded_ns
    low, high = saving_range(-saving_ns, error, ray_ns, recorded_ns)
    assert low <= -saving_ns <= high <= 0


@pytest.mark.parametrize(
    ("error", "ray_ns", "expected"),
    [(0.0, 0, (80, 120)), (-0.3, 0, (50, 150)), (0.3, 10, (40, 160)), (0.0, 500, (0, 200))],
)
def test_a_range_is_as_wide_as_the_doubt(error: float, ray_ns: int, expected: tuple[int, int]) -> None:
    assert saving_range(100, error, ray_ns, 1000) == expected


def test_a_slower_ray_takes_twice_its_own_time_only() -> None:
    job = JobBuilder(1)
    run = job.task("work", 10)
    p = job.programs
    p.lead[run], p.delay[run], p.startup[run], p.transfer[run], p.tail[run] = (
        ms * MS for ms in (1, 9, 3, 2, 5)
    )
    job.submit_and_get(run)
    assert job.ms() == 1 + 9 + 10 + 5
    slower = replay(with_slower_ray(p))
    assert slower.duration_ns == (2 + 3 + 2 + 2 * 4 + 10 + 10) * MS
