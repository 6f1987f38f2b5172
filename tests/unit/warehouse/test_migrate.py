"""A warehouse is made, migrated and refused by its version, and its DDL is that of one source."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

import pytest

from rayscope.storage.errors import StoreError
from rayscope.warehouse import migrate, schema
from rayscope.warehouse.client import Warehouse, connect
from rayscope.warehouse.schema import Column, Layout, Table
from rayscope.warehouse.views_sql import VIEWS

#: Version -> its tables. After a change of tables or views: raise ``schema.VERSION``, add a migration
#: if a key or a rule changed (new columns are added without), and pin the new version here.
FINGERPRINTS = {
    1: "3b2f4e399de36cbe",
    2: "930caf8387df2259",
    3: "d6d2a7828f1fbe80",
    4: "2665eb9ec3373e20",
    5: "dff8f2ba0c0ec013",
    6: "b0dd3236d5672d8c",
    7: "fb965dde421cae8a",
    8: "ab02848c9dd775a9",
    9: "c6104d889a603058",
    10: "96f3882d8a294fba",
}


@pytest.fixture
def empty(engine: str, request: pytest.FixtureRequest) -> Iterator[Warehouse]:
    """A database of its own, with nothing in it."""
    with connect(f"{engine}?database={request.node.name}", create=True) as opened:
        yield opened


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few tables and no views: what is tested is how they come to be."""
    monkeypatch.setattr(migrate, "TABLES", schema.TABLES[-2:])
    monkeypatch.setattr(schema, "TABLES", schema.TABLES[-2:])
    monkeypatch.setattr(migrate, "create_views", lambda layout: [])


def test_a_change_of_the_tables_is_a_new_version() -> None:
    text = "\n".join(migrate.create_statements(Layout()))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == FINGERPRINTS[schema.VERSION]


@pytest.mark.usefixtures("small")
def test_making_it_again_changes_nothing(empty: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError, match="no warehouse"):
        migrate.check(empty)
    layout = Layout(None, 30)
    assert migrate.init(empty, layout) == (0, schema.VERSION)
    assert migrate.check(empty) == Layout()
    statements: list[str] = []
    monkeypatch.setattr(Warehouse, "run", lambda self, statement: statements.append(statement))
    assert migrate.init(empty, layout) == (schema.VERSION, schema.VERSION)
    assert [statement.split("(")[0].split()[0] for statement in statements] == ["CREATE"]


@pytest.mark.usefixtures("small")
def test_an_older_one_is_migrated(empty: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate.init(empty, Layout())
    empty.run("INSERT INTO raw_drops (session, source, reason) VALUES ('s', 'a', 'b')")
    drops, sessions = schema.TABLES
    grown = Table(drops.name, (*drops.columns, Column("more", "Nullable(Int64)", "min")), drops.indexed)
    monkeypatch.setattr(migrate, "TABLES", (grown, sessions))
    before, now = schema.VERSION, schema.VERSION + 1
    monkeypatch.setattr(schema, "VERSION", now)
    upgrade = {
        now: lambda layout: [f"ALTER TABLE raw_drops{schema.on_cluster(layout)} COMMENT COLUMN source 'x'"]
    }
    monkeypatch.setattr(migrate, "MIGRATIONS", {**migrate.MIGRATIONS, **upgrade})
    with pytest.raises(StoreError, match=r"older version.*rayscope warehouse init"):
        migrate.check(empty)
    assert migrate.init(empty, Layout()) == (before, now)
    assert migrate.check(empty) == Layout()
    assert [tuple(row) for row in empty.rows("SELECT source, more FROM raw_drops FINAL")] == [("a", None)]
    comment = "SELECT comment FROM system.columns WHERE name = 'source' AND database = currentDatabase()"
    assert [tuple(row) for row in empty.rows(comment)] == [("x",)]


@pytest.mark.usefixtures("small")
def test_a_newer_one_is_refused(empty: Warehouse) -> None:
    migrate.init(empty, Layout())
    empty.run("INSERT INTO schema_version (version, cluster) VALUES (99, '')")
    for refused in (migrate.check, lambda warehouse: migrate.init(warehouse, Layout())):
        with pytest.raises(StoreError, match=r"version 99.*pip install -U") as error:
            refused(empty)
        assert error.value.code == "newer"


@pytest.mark.usefixtures("small")
def test_one_of_another_cluster_is_refused(empty: Warehouse) -> None:
    migrate.init(empty, Layout())
    with pytest.raises(StoreError, match="on a single node, not on the cluster prod"):
        migrate.init(empty, Layout("prod"))


@pytest.mark.usefixtures("small")
def test_data_that_is_too_old_is_deleted(empty: Warehouse) -> None:
    migrate.init(empty, Layout())
    for session in ("session_2020-01-01_1", "session_2099-01-01_2", "no-date"):
        empty.run(f"INSERT INTO raw_drops (session, source, reason) VALUES ('{session}', 'a', 'b')")
    migrate.init(empty, Layout(None, 30))
    empty.run("OPTIMIZE TABLE raw_drops FINAL")
    kept = {row[0] for row in empty.rows("SELECT session FROM raw_drops FINAL")}
    assert kept == {"session_2099-01-01_2", "no-date"}
    migrate.init(empty, Layout())
    ((made,),) = empty.rows(
        "SELECT create_table_query FROM system.tables WHERE name = 'raw_drops' AND database = currentDatabase()"
    )
    assert "TTL" not in made


def test_the_ddl_of_a_cluster_is_valid_and_complete(empty: Warehouse) -> None:
    """No cluster can run here: the engine parses it, and its description of each table is compared."""
    statements = migrate.create_statements(Layout("it's `prod`", 90))
    for statement in statements:
        empty.rows("SELECT formatQuery({sql:String})", {"sql": statement})
        assert " ON CLUSTER `it's \\`prod\\``" in statement
    text = "\n".join(statements)
    for table in schema.TABLES:
        local, over_all = (
            next(s for s in statements if re.match(rf"CREATE TABLE IF NOT EXISTS {name} ", s))
            for name in (f"{table.name}_local", table.name)
        )
        assert "ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/{table}'" in local
        assert ("TTL day + toIntervalDay(90)" in local) == (not table.outlives)
        assert (
            f"Distributed('it\\'s `prod`', currentDatabase(), {table.name}_local, cityHash64(session))"
            in over_all
        )
        assert table.key[0] == "session"
    assert text.count("CREATE OR REPLACE VIEW") == len(VIEWS)
    assert not [view for view, query in VIEWS.items() if re.search(r"raw_\w+_local", query)]
