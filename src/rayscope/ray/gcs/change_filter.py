"""Filters for polling: they pass on only the items of a table that changed since the last poll."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from rayscope.model import Entity

Item = TypeVar("Item")


class ChangeFilter(Generic[Item]):
    """Remembers a fingerprint of each item in a table. Items that left the table are forgotten.

    Pass on the result of :meth:`changed`, then call :meth:`commit`. Without the commit the next call returns
    the same items again, so that a failed write loses nothing.

    Args:
        key: returns the identity of an item.
        fingerprint: returns a number that changes with the item's content.
    """

    def __init__(self, key: Callable[[Item], Hashable], fingerprint: Callable[[Item], int]) -> None:
        self._key = key
        self._fingerprint = fingerprint
        self._seen: dict[Hashable, int] = {}
        self._next: dict[Hashable, int] = {}

    def changed(self, items: Iterable[Item]) -> list[Item]:
        """The items that are new or differ since the last commit."""
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
        """Remember that the result of the last :meth:`changed` was passed on."""
        self._seen = self._next

    def forget(self) -> None:
        """Start over, for example for another session."""
        self._seen, self._next = {}, {}

    def __len__(self) -> int:
        return len(self._seen)


class EntityChangeFilter(ChangeFilter[Entity]):
    """:class:`ChangeFilter` for entities. It ignores the time of observation."""

    def __init__(self) -> None:
        super().__init__(
            lambda entity: (entity.kind, entity.id),
            lambda entity: hash(
                (tuple(sorted(entity.fields.items())), tuple(sorted(entity.observed.items())))
            ),
        )


class RowChangeFilter(Generic[Item]):
    """A :class:`ChangeFilter` for serialized rows. Only rows whose bytes differ are parsed and compared.

    An unchanged item may be serialized to different bytes, because the entries of a map have no fixed order.
    """

    def __init__(self, key: Callable[[Item], Hashable], fingerprint: Callable[[Item], int]) -> None:
        self._key = key
        self._fingerprint = fingerprint
        #: Hash of a row -> key of its item, key -> fingerprint, and the uncommitted versions of both.
        self._rows: dict[int, Hashable] = {}
        self._prints: dict[Hashable, int] = {}
        self._next: tuple[dict[int, Hashable], dict[Hashable, int]] = ({}, {})

    def changed(self, rows: Iterable[bytes], parse: Callable[[bytes], Item]) -> list[Item]:
        """The items that are new or differ since the last commit."""
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
        """Remember that the result of the last :meth:`changed` was passed on."""
        self._rows, prints = self._next
        self._prints.update(prints)
        if len(self._prints) > len(self._rows):  # some items have left the table
            there = set(self._rows.values())
            self._prints = {key: value for key, value in self._prints.items() if key in there}

    def __len__(self) -> int:
        return len(self._prints)
