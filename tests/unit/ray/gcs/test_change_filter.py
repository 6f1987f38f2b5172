"""What changed since it was last handed on."""

from __future__ import annotations

from rayscope.ray.gcs.change_filter import ChangeFilter, RowChangeFilter

Row = tuple[str, int]


def change_filter() -> ChangeFilter[Row]:
    return ChangeFilter(lambda row: row[0], lambda row: row[1])


def test_only_changes_come_again() -> None:
    table = change_filter()
    assert table.changed([("a", 1), ("b", 1)]) == [("a", 1), ("b", 1)]
    table.commit()
    assert table.changed([("a", 1), ("b", 2), ("c", 1)]) == [("b", 2), ("c", 1)]


def test_without_commit_they_come_again() -> None:
    table = change_filter()
    table.changed([("a", 1)])
    assert table.changed([("a", 1)]) == [("a", 1)]


def test_memory_is_bounded_by_the_table() -> None:
    table = change_filter()
    table.changed([(str(i), 1) for i in range(100)])
    table.commit()
    table.changed([("1", 1)])
    table.commit()
    assert len(table) == 1
    table.forget()
    assert table.changed([("1", 1)]) == [("1", 1)]


def test_rows_that_are_the_same_bytes_are_not_made_items() -> None:
    made: list[bytes] = []

    def parse(row: bytes) -> dict[str, str]:
        made.append(row)
        return dict(pair.split("=") for pair in row.decode().split())

    table: RowChangeFilter[dict[str, str]] = RowChangeFilter(
        lambda item: item["id"], lambda item: hash(frozenset(item.items()))
    )
    rows = [b"id=a x=1", b"id=b x=1"]
    assert [item["id"] for item in table.changed(rows, parse)] == ["a", "b"]
    assert len(table.changed(rows, parse)) == 2  # it was not committed
    table.commit()
    made.clear()
    assert table.changed(rows, parse) == []
    assert made == []
    assert table.changed([b"x=1 id=a", b"id=b x=2"], parse) == [
        {"id": "b", "x": "2"}
    ]  # the order is no content
    table.commit()
    assert table.changed([b"id=a x=1"], parse) == []
    table.commit()
    assert len(table) == 1
    assert [item["id"] for item in table.changed([b"id=b x=2"], parse)] == ["b"]  # it had left the table
