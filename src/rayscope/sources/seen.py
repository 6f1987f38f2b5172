"""What was already handed on, so that polling a table yields what changed and not the table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Seen(Generic[Item]):
    """Remembers a fingerprint of each item of a table, and nothing of items that left the table.

    ``key`` identifies an item, ``fingerprint`` changes when its content does. Use: hand on what
    :meth:`changed` returns, then :meth:`commit`; without the commit the same items come again, so that a
    failed write loses nothing.
    """

    def __init__(self, key: Callable[[Item], Hashable], fingerprint: Callable[[Item], int]) -> None:
        self._key = key
        self._fingerprint = fingerprint
        self._seen: dict[Hashable, int] = {}
        self._next: dict[Hashable, int] = {}

    def changed(self, items: Iterable[Item]) -> list[Item]:
        """The items that are new or differ from those of the last committed call."""
        key, fingerprint, seen = self._key, self._fingerprint, self._seen
        found = []
        self._next = current = {}
        for item in items:
            identity, print_now = key(item), fingerprint(item)
            current[identity] = print_now
            if seen.get(identity) != print_now:
                found.append(item)
        return found

    def commit(self) -> None:
        """Take the items of the last :meth:`changed` as handed on."""
        self._seen = self._next

    def forget(self) -> None:
        """Start anew, as for another session."""
        self._seen, self._next = {}, {}

    def __len__(self) -> int:
        return len(self._seen)
