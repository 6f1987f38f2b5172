"""Making a warehouse, and bringing an older one up to this version."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from rayscope.storage.errors import StoreError
from rayscope.warehouse import schema
from rayscope.warehouse.client import Warehouse, not_made
from rayscope.warehouse.schema import TABLES, VERSIONS, Layout, on_cluster, stored_name, text
from rayscope.warehouse.views_sql import create_views

#: Version -> the statements that lead to it from the one before. New columns need none: they are added.
MIGRATIONS: Mapping[int, Callable[[Layout], list[str]]] = MappingProxyType(
    {
        1: schema.create_tables,
        2: schema.create_tables,  # what is new: raw_deletions, and names of sessions
        3: lambda layout: [],  # the views alone: the state of a task that was canceled while it ran
        4: lambda layout: [],  # the views alone: the end of a job whose driver was killed
    }
)


def create_statements(layout: Layout) -> list[str]:
    """The whole DDL of a new warehouse, in order."""
    return [schema.create_versions(layout), *schema.create_tables(layout), *create_views(layout)]


def init(warehouse: Warehouse, layout: Layout) -> tuple[int, int]:
    """Make or migrate the tables and views. Returns the version before (0: none) and the one now.

    Raises StoreError for a newer warehouse, and for one that was made on another cluster. It may be repeated,
    and run by several at once: each statement does nothing where it is not needed.
    """
    found, cluster = read_version(warehouse)
    if found and cluster != (layout.cluster or ""):
        raise StoreError(
            f"The warehouse was made {_described(cluster)}, not {_described(layout.cluster or '')}.",
            "Give the same --cluster as then, or another database in the URL.",
            "other_cluster",
        )
    warehouse.run(schema.create_versions(layout))
    for version in range(found + 1, schema.VERSION + 1):
        for statement in MIGRATIONS[version](layout):
            warehouse.run(statement)
    _add_columns(warehouse, layout)
    for statement in create_views(layout):
        warehouse.run(statement)
    _set_retention(warehouse, layout)
    if found != schema.VERSION:
        made = f"({schema.VERSION}, {text(layout.cluster or '')})"
        warehouse.run(f"INSERT INTO {VERSIONS} (version, cluster) VALUES {made}")  # noqa: S608
    return found, schema.VERSION


def check(warehouse: Warehouse) -> Layout:
    """Where the warehouse was made. Raises StoreError if there is none, or it is of another version."""
    found, cluster = read_version(warehouse)
    if not found:
        raise not_made(warehouse.address)
    if found < schema.VERSION:
        cluster_option = f" --cluster {cluster}" if cluster else ""
        raise StoreError(
            f"The warehouse is of an older version ({found}; this Rayscope's is {schema.VERSION}).",
            f"Migrate it: rayscope warehouse init{cluster_option}",
            "older",
        )
    return Layout(cluster or None)


def read_version(warehouse: Warehouse) -> tuple[int, str]:
    """The version (0: there is none) and the cluster ('': none). Raises StoreError for a newer version."""
    there = warehouse.rows(
        "SELECT 1 FROM system.tables WHERE database = currentDatabase() AND name = {name:String}",
        {"name": VERSIONS},
    )
    if not there:
        return 0, ""
    ((version, cluster),) = warehouse.rows(f"SELECT max(version), argMax(cluster, version) FROM {VERSIONS}")  # noqa: S608
    if version > schema.VERSION:
        raise StoreError(
            f"The warehouse is of a newer Rayscope (version {version}; this one's is {schema.VERSION}).",
            "Upgrade: pip install -U 'rayscope[warehouse]'",
            "newer",
        )
    return int(version), str(cluster)


def _described(cluster: str) -> str:
    return f"on the cluster {cluster}" if cluster else "on a single node"


def _add_columns(warehouse: Warehouse, layout: Layout) -> None:
    """Add the columns that the record has and the tables lack. A key cannot change this way."""
    there = set(warehouse.rows("SELECT table, name FROM system.columns WHERE database = currentDatabase()"))
    for table in TABLES:
        local = stored_name(table, layout)
        for column in table.columns:
            for name in dict.fromkeys((local, table.name)):
                if column.merge and (name, column.name) not in there:
                    warehouse.run(
                        f"ALTER TABLE {name}{on_cluster(layout)} ADD COLUMN IF NOT EXISTS {column.ddl}"
                    )


def _set_retention(warehouse: Warehouse, layout: Layout) -> None:
    """Give the tables the rule of deletion that they do not have yet."""
    wanted = schema.ttl(layout)
    for table in TABLES:
        name = stored_name(table, layout)
        ((made,),) = warehouse.rows(
            "SELECT create_table_query FROM system.tables "
            "WHERE database = currentDatabase() AND name = {name:String}",
            {"name": name},
        )
        found = re.search(r" TTL (.+?) SETTINGS ", made)
        if (found[1] if found else "") != wanted:
            change = f"MODIFY TTL {wanted}" if wanted else "REMOVE TTL"
            warehouse.run(f"ALTER TABLE {name}{on_cluster(layout)} {change}")
