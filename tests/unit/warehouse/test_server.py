"""The same by HTTP, as with a ClickHouse server: chDB runs behind a server of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.unit.warehouse.http_bridge import bridge
from tests.unit.warehouse.records import make_record, publisher_of

from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import BadQuery
from rayscope.warehouse import migrate
from rayscope.warehouse.client import connect
from rayscope.warehouse.load import load
from rayscope.warehouse.query import run_sql
from rayscope.warehouse.schema import VERSION, Layout


@pytest.fixture(scope="module")
def server(engine: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The URL of a server, and the settings of the requests that it got."""
    with bridge(urlsplit(engine).path) as (port, seen):
        yield f"clickhouse://me:secret@127.0.0.1:{port}/fleet", seen


def test_make_load_and_ask(server: tuple[str, list[dict[str, str]]], tmp_path: Path) -> None:
    url, seen = server
    make_record(tmp_path, "session_2025-11-20_10-00-00_000000_1")
    catalog = Catalog(tmp_path, read_only=True)
    (name,) = catalog.names()
    with connect(url, create=True) as warehouse:
        assert migrate.init(warehouse, Layout()) == (0, VERSION)
        made = load(warehouse, publisher_of(warehouse), catalog.path(name), catalog.about(name))
        assert made is not None
        assert load(warehouse, publisher_of(warehouse), catalog.path(name), catalog.about(name)) is None
    with connect(url) as warehouse:
        migrate.check(warehouse)
        sql = "SELECT count() AS n, uniqExact(cluster) FROM attempts -- all"
        answer = run_sql(warehouse, sql, limit=5, timeout_s=7)
    assert (answer.columns[0], answer.rows) == (("n", "UInt64"), [[60, 1]])
    assert seen[-1].items() >= {"readonly": "1", "max_execution_time": "7", "limit": "6"}.items()


def test_a_user_who_may_change_no_settings_can_ask(engine: str, server: tuple[str, Any]) -> None:
    with bridge(urlsplit(engine).path, is_reader=True) as (port, seen):
        with connect(f"clickhouse://reader@127.0.0.1:{port}/fleet") as warehouse:
            migrate.check(warehouse)
            answer = run_sql(warehouse, "SELECT count() FROM attempts", limit=5, timeout_s=5)
            assert answer.rows == [[60]]
            with pytest.raises(BadQuery, match="not allowed"):
                run_sql(warehouse, "SELECT file('/etc/passwd')", limit=5, timeout_s=5)
        assert not any("readonly" in settings for settings in seen)


@pytest.mark.parametrize(
    "sql", ["SELECT file('/etc/passwd')", "DROP TABLE raw_spans", "SELECT * FROM url('http://127.0.0.1:9/')"]
)
def test_queries_that_do_not_only_read_are_refused(sql: str, server: tuple[str, Any]) -> None:
    with connect(server[0]) as warehouse:
        with pytest.raises(BadQuery):
            run_sql(warehouse, sql, limit=5, timeout_s=5)
        warehouse.set({}, freeze=True)
        if "file" not in sql:
            with pytest.raises(BadQuery, match="readonly"):
                warehouse.rows(sql)
        assert [list(row) for row in warehouse.rows("SELECT count() FROM raw_sessions FINAL")] == [[1]]
