"""What changed since it was last handed on."""

from __future__ import annotations

from rayscope.sources.seen import Seen

Row = tuple[str, int]


def seen() -> Seen[Row]:
    return Seen(lambda row: row[0], lambda row: row[1])


def test_only_changes_come_again() -> None:
    table = seen()
    assert table.changed([("a", 1), ("b", 1)]) == [("a", 1), ("b", 1)]
    table.commit()
    assert table.changed([("a", 1), ("b", 2), ("c", 1)]) == [("b", 2), ("c", 1)]


def test_without_commit_they_come_again() -> None:
    table = seen()
    table.changed([("a", 1)])
    assert table.changed([("a", 1)]) == [("a", 1)]


def test_memory_is_bounded_by_the_table() -> None:
    table = seen()
    table.changed([(str(i), 1) for i in range(100)])
    table.commit()
    table.changed([("1", 1)])
    table.commit()
    assert len(table) == 1
    table.forget()
    assert table.changed([("1", 1)]) == [("1", 1)]
