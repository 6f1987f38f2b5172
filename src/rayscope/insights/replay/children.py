"""Finds the tasks that a task submitted, for waits that do not name all their objects."""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict

from rayscope.insights.replay.recorded import Recorded


class Children:
    """The tasks submitted by each task or the driver, by function, in the order of submission."""

    def __init__(self, recorded: Recorded) -> None:
        a, firsts = recorded.attempts, recorded.first_rows[:-1]
        #: The tasks of each parent and function, and when each was submitted.
        self._of_function: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
        parents, functions, created = a.parent[firsts], a.function[firsts], a.created[firsts]
        for task, key in enumerate(zip(parents.tolist(), functions.tolist(), strict=True)):
            tasks, times = self._of_function.setdefault(key, ([], []))
            tasks.append(task)
            times.append(int(created[task]))
        self._taken: dict[tuple[int, int], int] = defaultdict(int)
        self._by_end: dict[int, tuple[list[int], list[int]]] = {}

    def next(self, task: int, functions: set[int], until: int) -> list[int]:
        """The children of some functions that were submitted no later than ``until``, without those that
        earlier calls returned.
        """
        found: list[int] = []
        for key in ((task, function) for function in functions):
            tasks, times = self._of_function.get(key, ([], []))
            since, self._taken[key] = self._taken[key], bisect.bisect_right(times, until)
            found += tasks[since : self._taken[key]]
        return found

    def last(self, task: int, functions: set[int], until: int, count: int) -> list[int]:
        """The last ``count`` children of some functions that were submitted no later than ``until``."""
        found: list[int] = []
        for function in functions:
            tasks, times = self._of_function.get((task, function), ([], []))
            end = bisect.bisect_right(times, until)
            found += tasks[max(0, end - count) : end]
        return sorted(found)[-count:]

    def between(self, task: int, begin: int, end: int, known: list[int]) -> list[int]:
        """The children whose values became known after ``begin`` and no later than ``end``. ``known``: when
        the value of each task became known.
        """
        if task not in self._by_end:
            of_task = (tasks for (parent, _), (tasks, _) in self._of_function.items() if parent == task)
            found = sorted(itertools.chain.from_iterable(of_task), key=known.__getitem__)
            self._by_end[task] = found, [known[one] for one in found]
        tasks, times = self._by_end[task]
        return tasks[bisect.bisect_right(times, begin) : bisect.bisect_right(times, end)]
