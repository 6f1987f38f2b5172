"""The walk along the critical path, over executions made at random."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rayscope.views.critical_path.compute import Cause, Link, Path, causes, shares, walk


@dataclass
class Task:
    task_id: str
    begins: list[tuple[str, int]]
    end_ns: int
    parent_task_id: str | None = None
    worker: int = 0
    arguments: list[str] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    attempt: int = 0

    @property
    def name(self) -> str:
        return self.task_id


@dataclass
class Wait:
    begin_ns: int
    end_ns: int
    of: list[str]
    phase: str = "blocked"


class Known:
    """A record in memory; it may well contradict itself, as clocks do."""

    def __init__(self, tasks: list[Task], earlier: dict[str, Task] | None = None) -> None:
        self.tasks = {task.task_id: task for task in tasks}
        #: The attempt before the one in ``tasks``, by task id.
        self.earlier = earlier or {}

    def _last(self, tasks: list[Task], before: int) -> Any:
        return max((task for task in tasks if task.end_ns <= before), key=lambda t: t.end_ns, default=None)

    def running(self, task_id: str, at_ns: int) -> Any:
        return self.tasks.get(task_id)

    def retried(self, attempt: Any) -> Any:
        return self.earlier.get(attempt.task_id)

    def wait(self, attempt: Any, before_ns: int) -> Any:
        found = [w for w in attempt.waits if w.end_ns <= before_ns and w.begin_ns < before_ns]
        return max(found, key=lambda w: w.end_ns, default=None)

    def awaited(self, attempt: Any, wait: Any, before_ns: int) -> Any:
        return self._last([self.tasks[of] for of in wait.of], before_ns)

    def argument(self, attempt: Any, before_ns: int) -> Any:
        return self._last([self.tasks[of] for of in attempt.arguments], before_ns)

    def before(self, attempt: Any, before_ns: int) -> Any:
        others = [t for t in self.tasks.values() if t.worker == attempt.worker and t is not attempt]
        return self._last(others, before_ns)


PHASES = ["waiting_args", "waiting_node", "queued", "fetching", "executing", "storing"]


@st.composite
def records(draw: st.DrawFn) -> Known:
    """Up to 12 tasks with any parents, arguments, waits and times: cycles and wrong clocks too."""
    ids = [str(number) for number in range(draw(st.integers(1, 12)))]
    some = st.lists(st.sampled_from(ids), max_size=3)
    tasks = []
    for task_id in ids:
        kept = draw(st.lists(st.sampled_from(PHASES), unique=True, max_size=6))
        times = draw(st.lists(st.integers(0, 90), min_size=len(kept), max_size=len(kept)))
        begins = list(zip(sorted(kept, key=PHASES.index), sorted(times), strict=True))
        task = Task(task_id, begins, draw(st.integers(0, 100)), draw(st.none() | st.sampled_from(ids)))
        task.worker = draw(st.integers(0, 2))
        task.arguments = draw(some)
        for begin, length in draw(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 30)), max_size=4)):
            task.waits.append(Wait(begin, begin + length, draw(some)))
        tasks.append(task)
    return Known(tasks)


def check(path: Path) -> None:
    now = path.begin_ns
    for link in path.links:
        assert link.begin_ns == now
        assert link.end_ns > link.begin_ns
        now = link.end_ns
    assert now == path.end_ns
    assert sum(share.total_ns for share in shares(path, lambda task_id: False)) == path.end_ns - path.begin_ns


@given(records(), st.integers(0, 60), st.integers(0, 30))
def test_links_join_and_add_up_whatever_the_record_says(record: Known, begin: int, steps: int) -> None:
    last = max(record.tasks.values(), key=lambda task: task.end_ns)
    check(walk(record, last, begin))
    check(walk(record, last, begin, steps=steps))


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 5)), min_size=1, max_size=20))
def test_a_chain_of_arguments_is_followed_link_by_link(lengths: list[tuple[int, int]]) -> None:
    """Each task runs on what the one before made; a driver submitted them all at 0."""
    tasks = [Task("driver", [("executing", 0)], 10**6, None, 99)]
    now = 0
    for number, (runs, waits) in enumerate(lengths):
        before = [tasks[-1].task_id] if number else []
        begins = [("waiting_args", 0), ("waiting_node", now), ("executing", now + waits)]
        now += waits + runs
        tasks.append(Task(str(number), begins, now, "driver", number, before))
    path = walk(Known(tasks), tasks[-1], 0)
    check(path)
    assert not path.truncated
    executed = {link.name: link.end_ns - link.begin_ns for link in path.links if link.phase == "executing"}
    assert executed == {str(number): runs for number, (runs, _) in enumerate(lengths)}


def test_a_path_that_is_cut_off_says_so() -> None:
    tasks = [Task(str(n), [("waiting_args", 0), ("executing", 10 * n)], 10 * n + 10) for n in range(9)]
    for task, before in zip(tasks[1:], tasks, strict=False):
        task.arguments = [before.task_id]
        task.worker = int(task.task_id)
    path = walk(Known(tasks), tasks[-1], 0, steps=3)
    check(path)
    assert path.truncated
    assert [link.phase for link in path.links] == ["unknown", "executing", "executing", "executing"]
    assert walk(Known(tasks), tasks[-1], 0, out_of_time=lambda: True).links[0].phase == "unknown"


def test_time_after_the_end_of_the_known_submitter_is_not_its_own() -> None:
    """Ray names the creation of an actor as the submitter of what the actor's coroutines submit."""
    creation = Task("creation", [("waiting_node", 0), ("executing", 5), ("storing", 10)], 12)
    step = Task("step", [("waiting_args", 60), ("executing", 70)], 90, "creation", 2)
    links = walk(Known([creation, step]), step, 0).links
    assert [link[2:6] for link in links] == [
        ("creation", "waiting_node", 0, 5),
        ("creation", "executing", 5, 10),
        ("creation", "storing", 10, 12),
        ("", "unknown", 12, 60),
        ("step", "waiting_args", 60, 70),
        ("step", "executing", 70, 90),
    ]
    # A coroutine that waited for it and ran when it was submitted is where it came from.
    run = Task("run", [("queued", 12), ("executing", 15)], 100, "creation", 0, waits=[Wait(61, 91, ["step"])])
    links = walk(Known([creation, step, run]), run, 0).links
    assert [link[2:6] for link in links][3:] == [
        ("run", "queued", 12, 15),
        ("run", "executing", 15, 60),
        ("step", "waiting_args", 60, 70),
        ("step", "executing", 70, 90),
        ("run", "blocked", 90, 91),
        ("run", "executing", 91, 100),
    ]


def test_time_that_the_next_task_waited_for_the_slot_is_reported() -> None:
    first = Task("first", [("waiting_node", 0), ("executing", 10)], 40, "driver")
    second = Task("second", [("waiting_node", 20), ("executing", 42)], 60, "driver")
    other = Task("other", [("waiting_node", 30), ("executing", 62)], 90, "driver")
    path = walk(Known([first, second, other]), other, 0)
    assert [(link.name, link.phase, link.held_ns) for link in path.links] == [
        ("first", "waiting_node", 0),
        ("first", "executing", 20),
        ("second", "waiting_node", 0),
        ("second", "executing", 18),
        ("other", "waiting_node", 0),
        ("other", "executing", 0),
    ]
    assert {share.name: share.held_ns for share in shares(path, lambda task_id: False)} == {
        "first": 20,
        "second": 18,
        "other": 0,
    }


def test_functions_that_ran_are_causes_of_their_own_what_held_them_up_is_one_for_all() -> None:
    links = [
        Link("driver", 0, "driver", "executing", 0, 4),
        Link("a", 0, "load", "fetching", 4, 24),
        Link("a", 0, "load", "executing", 24, 54, 8),
        Link("driver", 0, "driver", "executing", 54, 60),
        Link("b", 0, "train", "queued", 60, 61),
        Link("b", 0, "train", "fetching", 61, 86),
        Link("b", 0, "train", "executing", 86, 96),
        Link("driver", 0, "driver", "executing", 96, 99),
    ]
    assert causes(Path(links, 0, 99, False), "driver".__eq__) == [
        Cause("fetching", "train", False, 2, 45, 0),
        Cause("executing", "load", False, 1, 30, 8),
        Cause("executing", "train", False, 1, 10, 0),
        Cause("executing", "driver", True, 1, 6, 0),
        Cause("preparing", "driver", True, 1, 4, 0),
        Cause("finishing", "driver", True, 1, 3, 0),
        Cause("queued", "train", False, 1, 1, 0),
    ]


def test_a_path_of_one_link_is_what_the_driver_executed() -> None:
    links = [Link("driver", 0, "driver", "executing", 0, 40)]
    assert causes(Path(links, 0, 40, False), "driver".__eq__) == [
        Cause("executing", "driver", True, 1, 40, 0)
    ]


def test_a_function_has_as_many_links_as_it_has_on_the_path() -> None:
    links = [
        Link("driver", 0, "driver", "executing", 0, 4),
        Link("a", 0, "load", "fetching", 4, 24, 3),
        Link("a", 0, "load", "executing", 24, 54, 8),
        Link("driver", 0, "driver", "executing", 54, 60),
    ]
    assert [share[:4] for share in shares(Path(links, 0, 60, False), "driver".__eq__)] == [
        ("load", False, 2, 50),
        ("driver", True, 2, 10),
    ]
    assert [share.held_ns for share in shares(Path(links, 0, 60, False), "driver".__eq__)] == [11, 0]


def test_a_worker_that_starts_holds_nothing() -> None:
    """A later task was ready while the worker of this one started: no task kept a worker busy then."""
    first = Task("first", [("waiting_node", 0), ("starting_worker", 10), ("executing", 20)], 40, "driver")
    second = Task("second", [("waiting_node", 5), ("executing", 42)], 60, "driver")
    path = walk(Known([first, second]), second, 0)
    assert [(link.name, link.phase, link.held_ns) for link in path.links] == [
        ("first", "waiting_node", 0),
        ("first", "starting_worker", 0),
        ("first", "executing", 20),
        ("second", "waiting_node", 0),
        ("second", "executing", 0),
    ]


def test_links_that_join_add_up_the_time_that_they_held() -> None:
    """A wait without a known producer cuts the execution in two: both parts held the worker."""
    first = Task("first", [("executing", 0)], 40, "driver", waits=[Wait(20, 25, [])])
    second = Task("second", [("waiting_node", 5), ("executing", 42)], 60, "driver")
    path = walk(Known([first, second]), second, 0)
    assert [link[2:] for link in path.links] == [
        ("first", "executing", 0, 20, 15),
        ("first", "blocked", 20, 25, 5),
        ("first", "executing", 25, 40, 15),
        ("second", "waiting_node", 40, 42, 0),
        ("second", "executing", 42, 60, 0),
    ]
    # Ray writes two phases of one name where a task began to execute twice.
    twice = Task("first", [("executing", 0), ("executing", 25)], 40, "driver")
    path = walk(Known([twice, second]), second, 0)
    assert path.links[0][2:] == ("first", "executing", 0, 40, 35)


def test_a_retry_leads_to_the_attempt_before_it() -> None:
    failed = Task("load", [("waiting_node", 0), ("executing", 5)], 20, "driver", attempt=0)
    again = Task("load", [("waiting_node", 30), ("executing", 32)], 50, "driver", attempt=1)
    path = walk(Known([again], {"load": failed}), again, 0)
    assert [(link.attempt, link.phase, link.begin_ns, link.end_ns) for link in path.links] == [
        (0, "waiting_node", 0, 5),
        (0, "executing", 5, 20),
        (1, "retrying", 20, 30),
        (1, "waiting_node", 30, 32),
        (1, "executing", 32, 50),
    ]


def test_a_waiter_that_did_not_run_yet_submitted_nothing() -> None:
    """A task is followed to the task that awaited it only if that one ran when the task was submitted."""
    creation = Task("creation", [("executing", 0)], 10)
    step = Task("step", [("waiting_args", 40), ("executing", 50)], 70, "creation", 2)
    run = Task("run", [("queued", 12), ("executing", 45)], 90, "creation", 0, waits=[Wait(60, 75, ["step"])])
    links = walk(Known([creation, step, run]), run, 0).links
    assert [link[2:6] for link in links] == [
        ("creation", "executing", 0, 10),
        ("", "unknown", 10, 40),
        ("step", "waiting_args", 40, 50),
        ("step", "executing", 50, 70),
        ("run", "blocked", 70, 75),
        ("run", "executing", 75, 90),
    ]
