"""Interned call paths: each attempt stores its path from the driver as one integer.

A path's ID is a hash of its parent's ID and its own function name, so IDs do not depend on the order in which
tasks become known. The driver is the root and has ID 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

ROOT = 0
#: Prefix of a driver's task ID: 20 bytes of ones, followed by the job's ID.
DRIVER_PREFIX = "f" * 40
_CACHE_LIMIT = 200_000


def path_id(parent: int, name: str) -> int:
    """ID of the path that ends with a call of ``name`` from the path ``parent`` (63 bits, never 0)."""
    digest = blake2b(f"{parent}\0{name}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 1) or 1


class PathIndex:
    """The known call paths of a session, and the paths of recent tasks."""

    def __init__(self, known: list[tuple[int, int, str, int]]) -> None:
        self._depth: dict[int, int] = {ROOT: 0}
        for identifier, _, _, depth in known:
            self._depth[identifier] = depth
        self._interned: dict[tuple[int, str], int] = {(parent, name): i for i, parent, name, _ in known}
        self._of_task: dict[str, int] = {}
        #: Paths that are not in the file yet.
        self.fresh: list[tuple[int, int, str, int]] = []

    def of_task(self, task_id: str) -> int | None:
        """The path of a recent task, or None if it is not known."""
        if task_id.startswith(DRIVER_PREFIX):
            return ROOT
        return self._of_task.get(task_id)

    def forget(self, task_ids: Iterable[str]) -> None:
        """Forget the paths of tasks, because they have changed."""
        for task_id in task_ids:
            self._of_task.pop(task_id, None)

    def forget_some(self) -> None:
        """Forget the older half of the tasks if there are too many. Call this between flushes, when all are
        in the file.
        """
        if len(self._of_task) > _CACHE_LIMIT:
            for old in list(self._of_task)[: len(self._of_task) // 2]:
                del self._of_task[old]

    def resolve(
        self,
        calls: Iterable[tuple[str, str]],
        callers: Iterable[tuple[str, str | None, str | None, int | None]],
    ) -> list[tuple[str, str, int]]:
        """The calls whose paths are known, as (caller, function name, path).

        Args:
            calls: pairs of a caller's task ID and the function called.
            callers: attempts of some of the callers, each with its task ID, its own caller, its function, and
                its path. If the path is None, it is derived from its caller's.
        """
        callers_by_task: dict[str, tuple[str, str]] = {}
        known: dict[str, int] = {}
        for task_id, submitter, name, path in callers:
            if path is not None:
                known.setdefault(task_id, path)
            elif submitter is not None and name is not None:
                callers_by_task.setdefault(task_id, (submitter, name))
        found = []
        for task_id, name in calls:
            parent = self._find(task_id, known, callers_by_task)
            if parent is not None:
                found.append((task_id, name, self._intern(parent, name)))
        return found

    def _find(self, task_id: str, known: dict[str, int], callers: dict[str, tuple[str, str]]) -> int | None:
        """The path of a task, or None. Walks up to the nearest caller with a known path, then down again."""
        chain: list[str] = []
        seen: set[str] = set()
        path: int | None = None
        while task_id not in seen:
            path = known.get(task_id)
            if path is None and task_id not in callers:
                path = self.of_task(task_id)
            if path is not None or task_id not in callers:
                break
            seen.add(task_id)
            chain.append(task_id)
            task_id = callers[task_id][0]
        else:
            return None  # a cycle
        if path is None:
            return None
        self._of_task[task_id] = path
        for each in reversed(chain):
            path = known[each] = self._of_task[each] = self._intern(path, callers[each][1])
        return path

    def _intern(self, parent: int, name: str) -> int:
        key = (parent, name)
        known = self._interned.get(key)
        if known is None:
            known = self._interned[key] = path_id(parent, name)
            depth = self._depth[known] = self._depth.get(parent, 0) + 1
            self.fresh.append((known, parent, name, depth))
        return known
