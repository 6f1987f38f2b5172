"""A node has the same name in SQL and in Python."""

from __future__ import annotations

import duckdb
import pytest

from rayscope.model.node_title import node_title, unique_titles
from rayscope.storage.sql.node_names import node_name, unique_node_name


@pytest.mark.parametrize(
    ("name", "host", "address", "shown"),
    [
        ("trainer", "box", "10.0.0.1", "trainer"),
        ("10.0.0.1", "box", "10.0.0.1", "box"),
        ("10.0.0.1", None, "10.0.0.1", "10.0.0.1"),
        ("", "", "10.0.0.1", "10.0.0.1"),
        (None, None, None, "abcdefgh"),
    ],
)
def test_a_node_is_called_by_its_own_name_or_its_host(
    name: str | None, host: str | None, address: str | None, shown: str
) -> None:
    node = {"node_name": name, "hostname": host, "node_ip": address, "node_id": "abcdefghijkl"}
    assert node_title(node) == shown
    found = duckdb.execute(
        f"SELECT {node_name('n')} FROM (SELECT $node_name::VARCHAR AS node_name, $hostname::VARCHAR AS hostname, "
        "$node_ip::VARCHAR AS node_ip, $node_id AS id) n",
        node,
    ).fetchone()
    assert found == (shown,)


def test_nodes_that_share_a_name_are_told_apart_by_their_ids() -> None:
    columns = ("node_id", "node_name", "hostname", "node_ip")
    nodes = [
        dict(zip(columns, row, strict=True))
        for row in (
            ("aaaaaaaa1", None, "box", "10.0.0.1"),
            ("bbbbbbbb1", "10.0.0.1", "box", "10.0.0.1"),
            ("cccccccc1", "trainer", "box", "10.0.0.1"),
            ("dddddddd1", None, None, None),
        )
    ]
    unique = {
        "aaaaaaaa1": "box · aaaaaa",
        "bbbbbbbb1": "box · bbbbbb",
        "cccccccc1": "trainer",
        "dddddddd1": "dddddddd",
    }
    assert unique_titles(nodes) == unique
    with duckdb.connect() as db:
        db.execute("CREATE TABLE node_rows (id TEXT, node_name TEXT, hostname TEXT, node_ip TEXT)")
        db.executemany("INSERT INTO node_rows VALUES ($node_id, $node_name, $hostname, $node_ip)", nodes)
        found = db.execute(
            f"SELECT given.id, {unique_node_name('n')} "
            "FROM (SELECT id FROM node_rows UNION ALL SELECT 'gone') given LEFT JOIN node_rows n ON n.id = given.id"
        ).fetchall()
    assert dict(found) == {**unique, "gone": None}
