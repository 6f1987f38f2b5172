"""Interned call paths: every attempt knows its path from the driver down as one integer.

A path's id is a hash of its parent's id and its own function name, so the same call tree gives the same
ids whatever the order in which its tasks become known. The driver is the root, id 0.
"""

from __future__ import annotations

from hashlib import blake2b

from rayscope.model import Attempt

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
        self.fresh: list[tuple[int, int, str, int]] = []

    def of_task(self, task_id: str) -> int | None:
        """The path of a recently seen task, or None."""
        if task_id.startswith(DRIVER_PREFIX):
            return ROOT
        return self._of_task.get(task_id)

    def remember(self, task_id: str, path: int) -> None:
        """Note the path of a task that may become a parent."""
        self._of_task[task_id] = path

    def forget(self, task_id: str) -> None:
        """The path of a task is not what it was."""
        self._of_task.pop(task_id, None)

    def forget_some(self) -> None:
        """Drop the older half of too many tasks: between flushes, when the file has what memory forgets."""
        if len(self._of_task) > _CACHE_LIMIT:
            for old in list(self._of_task)[: len(self._of_task) // 2]:
                del self._of_task[old]

    def resolve(self, attempt: Attempt) -> int | None:
        """The path of an attempt, or None while its own name or its parent's path is unknown."""
        if attempt.type == "DRIVER_TASK":
            return ROOT
        name = attempt.func_name or attempt.name
        submitter = attempt.submitter
        if submitter is None or name is None:
            return None
        parent = self.of_task(submitter)
        if parent is None:
            return None
        return self._intern(parent, name)

    def _intern(self, parent: int, name: str) -> int:
        key = (parent, name)
        known = self._interned.get(key)
        if known is None:
            known = self._interned[key] = path_id(parent, name)
            depth = self._depth[known] = self._depth.get(parent, 0) + 1
            self.fresh.append((known, parent, name, depth))
        return known
