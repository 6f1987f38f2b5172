"""Interned call paths: every attempt knows its path from the driver down as one integer.

A path's id is a hash of its parent's id and its own function name, so the same call tree gives the same
ids whatever the order in which its tasks become known. The driver is the root, id 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

ROOT = 0
#: A driver's task id: 20 bytes of ones and the job's id.
DRIVER_PREFIX = "f" * 40
_CACHE_LIMIT = 200_000


def path_id(parent: int, name: str) -> int:
    """The id (63 bits, never 0) of the path that calls ``name`` from path ``parent``."""
    digest = blake2b(f"{parent}\0{name}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 1) or 1


class PathIndex:
    """The known call paths of one session and, for recent tasks, which path each is on."""

    def __init__(self, known: list[tuple[int, int, str, int]]) -> None:
        self._depth: dict[int, int] = {ROOT: 0}
        for identifier, _, _, depth in known:
            self._depth[identifier] = depth
        self._interned: dict[tuple[int, str], int] = {(parent, name): i for i, parent, name, _ in known}
        self._of_task: dict[str, int] = {}
        #: Those that the file does not have yet.
        self.fresh: list[tuple[int, int, str, int]] = []

    def of_task(self, task_id: str) -> int | None:
        """The path of a task that was a caller lately, or None."""
        if task_id.startswith(DRIVER_PREFIX):
            return ROOT
        return self._of_task.get(task_id)

    def forget(self, task_ids: Iterable[str]) -> None:
        """The paths of tasks are not what they were."""
        for task_id in task_ids:
            self._of_task.pop(task_id, None)

    def forget_some(self) -> None:
        """Drop the older half of too many tasks: between flushes, when the file has what memory forgets."""
        if len(self._of_task) > _CACHE_LIMIT:
            for old in list(self._of_task)[: len(self._of_task) // 2]:
                del self._of_task[old]

    def resolve(
        self,
        calls: Iterable[tuple[str, str]],
        callers: Iterable[tuple[str, str | None, str | None, int | None]],
    ) -> list[tuple[str, str, int]]:
        """The paths of calls, each of a task and the name of what it called, as far as they are known.

        ``callers``: attempts of some of these tasks, each with who called it, its name and, unless that is to
        be found as well, its path.
        """
        told: dict[str, tuple[str, str]] = {}
        known: dict[str, int] = {}
        for task_id, submitter, name, path in callers:
            if path is not None:
                known.setdefault(task_id, path)
            elif submitter is not None and name is not None:
                told.setdefault(task_id, (submitter, name))
        found = []
        for task_id, name in calls:
            parent = self._find(task_id, known, told)
            if parent is not None:
                found.append((task_id, name, self._intern(parent, name)))
        return found

    def _find(self, task_id: str, known: dict[str, int], told: dict[str, tuple[str, str]]) -> int | None:
        """The path of a task, up to the next of its callers that is known, and from there down again."""
        chain: list[str] = []
        seen: set[str] = set()
        path: int | None = None
        while task_id not in seen:
            path = known.get(task_id)
            if path is None and task_id not in told:
                path = self.of_task(task_id)
            if path is not None or task_id not in told:
                break
            seen.add(task_id)
            chain.append(task_id)
            task_id = told[task_id][0]
        else:
            return None  # it called itself
        if path is None:
            return None
        self._of_task[task_id] = path
        for one in reversed(chain):
            path = known[one] = self._of_task[one] = self._intern(path, told[one][1])
        return path

    def _intern(self, parent: int, name: str) -> int:
        key = (parent, name)
        known = self._interned.get(key)
        if known is None:
            known = self._interned[key] = path_id(parent, name)
            depth = self._depth[known] = self._depth.get(parent, 0) + 1
            self.fresh.append((known, parent, name, depth))
        return known
