"""What was already handed on, so that polling a table yields what changed and not the table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from rayscope.model import Entity

Item = TypeVar("Item")


class ChangeFilter(Generic[Item]):
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


class EntityChangeFilter(ChangeFilter[Entity]):
    """:class:`ChangeFilter` for entities; when one was observed makes no difference."""

    def __init__(self) -> None:
        super().__init__(
            lambda entity: (entity.kind, entity.id),
            lambda entity: hash(
                (tuple(sorted(entity.fields.items())), tuple(sorted(entity.observed.items())))
            ),
        )


class RowChangeFilter(Generic[Item]):
    """The same for rows as they came, bytes: only those that differ are made items, and compared as such.

    (An item's bytes may differ where its content does not: the order of a map's entries is any.)
    """

    def __init__(self, key: Callable[[Item], Hashable], fingerprint: Callable[[Item], int]) -> None:
        self._key = key
        self._fingerprint = fingerprint
        #: Hash of a row -> its item's key; key -> fingerprint. And what is to be taken over.
        self._rows: dict[int, Hashable] = {}
        self._prints: dict[Hashable, int] = {}
        self._next: tuple[dict[int, Hashable], dict[Hashable, int]] = ({}, {})

    def changed(self, rows: Iterable[bytes], parse: Callable[[bytes], Item]) -> list[Item]:
        """The items that are new or differ from those of the last committed call."""
        known, found = self._rows, []
        current: dict[int, Hashable] = {}
        prints: dict[Hashable, int] = {}
        for row in rows:
            mark = hash(row)
            identity = known.get(mark)
            if identity is None:
                item = parse(row)
                identity = self._key(item)
                print_now = prints[identity] = self._fingerprint(item)
                if self._prints.get(identity) != print_now:
                    found.append(item)
            current[mark] = identity
        self._next = current, prints
        return found

    def commit(self) -> None:
        """Take the items of the last :meth:`changed` as handed on."""
        self._rows, prints = self._next
        self._prints.update(prints)
        if len(self._prints) > len(self._rows):  # some have left the table
            there = set(self._rows.values())
            self._prints = {key: value for key, value in self._prints.items() if key in there}

    def __len__(self) -> int:
        return len(self._prints)
