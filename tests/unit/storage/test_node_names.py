"""A node has the same name in SQL and in Python."""

from __future__ import annotations

import duckdb
import pytest

from rayscope.model.node_title import node_title
from rayscope.storage.sql.node_names import node_name


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
