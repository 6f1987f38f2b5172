"""SQL over all sessions reads the warehouse, and nothing else can be done with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.unit.warehouse.records import make_record, publisher_of

from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import BadQuery
from rayscope.storage.schema import ENTITY_COLUMNS
from rayscope.warehouse.client import Warehouse, connect
from rayscope.warehouse.load import load
from rayscope.warehouse.query import Answer, run_sql
from rayscope.warehouse.views_sql import VIEWS


@pytest.fixture(scope="module", autouse=True)
def loaded(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("data")
    for number in range(2):
        make_record(folder, f"session_2025-12-2{number}_10-00-00_000000_{number}", number, tasks=20)
    catalog = Catalog(folder, read_only=True)
    mine = "SELECT count() FROM attempts WHERE session LIKE 'session_2025-12-2%'"
    with connect(url) as warehouse:
        for name in catalog.names():
            load(warehouse, publisher_of(warehouse), catalog.path(name), catalog.about(name))
        yield
        assert [list(row) for row in warehouse.rows(mine)] == [[40]], "a query changed something"


@pytest.fixture
def run_query(url: str) -> Callable[..., Answer]:
    """As each command does: a connection for one question."""

    def run(sql: str, limit: int = 100, timeout_s: float = 30) -> Answer:
        with connect(url) as warehouse:
            return run_sql(warehouse, sql, limit=limit, timeout_s=timeout_s)

    return run


def test_a_question_over_all_sessions(run_query: Callable[..., Answer]) -> None:
    answer = run_query(
        "SELECT session, cluster, count() AS n FROM attempts WHERE session LIKE 'session_2025-12-2%' "
        "GROUP BY ALL ORDER BY session; -- all"
    )
    assert [row[1:] for row in answer.rows] == [["host-0", 20], ["host-1", 20]]
    assert answer.columns[2] == ("n", "UInt64")
    assert not answer.truncated


def test_names_of_columns_come_without_rows_too(run_query: Callable[..., Answer]) -> None:
    answer = run_query("SELECT session, attempts AS n FROM sessions WHERE false", limit=1)
    assert (answer.columns, answer.rows) == ([("session", "String"), ("n", "Int64")], [])


def test_rows_beyond_the_limit_are_left_out(run_query: Callable[..., Answer]) -> None:
    answer = run_query("SELECT number FROM numbers(10) ORDER BY number DESC", limit=3)
    assert (answer.rows, answer.truncated) == ([[9], [8], [7]], True)
    assert not run_query("SELECT number FROM numbers(3)", limit=3).truncated


def test_a_question_that_takes_too_long_is_stopped(run_query: Callable[..., Answer]) -> None:
    with pytest.raises(BadQuery, match="too long"):
        run_query("SELECT sum(cityHash64(number)) FROM numbers(1000000000000)", timeout_s=1)


@pytest.mark.parametrize(
    "sql",
    [
        "SHOW TABLES",
        "DESCRIBE tasks",
        "EXPLAIN SELECT 1",
        "WITH 1 AS x SELECT x",
        "(SELECT 1) UNION ALL (SELECT 2)",
        "SELECT 'INTO OUTFILE', 'file(1)', `a` FROM (SELECT 'SETTINGS a = 1' AS a)",
        "SELECT formatDateTime(toDateTime(0), '%Y') AS format",
        "EXISTS tasks",
        "SELECT * APPLY(max) FROM (SELECT number AS `file(` FROM numbers(3))",
    ],
)
def test_reading_queries_are_allowed(sql: str, run_query: Callable[..., Answer]) -> None:
    assert run_query(sql).rows


WRITES = [
    "INSERT INTO raw_sessions (session) VALUES ('x')",
    "DROP TABLE raw_attempts",
    "DROP VIEW tasks",
    "DROP DATABASE {database}",
    "TRUNCATE TABLE raw_attempts",
    "ALTER TABLE raw_attempts DELETE WHERE true",
    "OPTIMIZE TABLE raw_attempts FINAL",
    "CREATE TABLE x (a Int8) ENGINE = Memory",
    "CREATE TEMPORARY TABLE x (a Int8)",
    "CREATE FUNCTION f AS x -> x",
    "RENAME TABLE raw_attempts TO y",
    "SYSTEM FLUSH LOGS",
    "SYSTEM SHUTDOWN",
    "KILL QUERY WHERE true",
    "SET readonly = 0",
    "USE system",
    "BACKUP TABLE raw_attempts TO File('x')",
    "GRANT ALL ON *.* TO default",
    "ATTACH TABLE raw_attempts",
    "SELECT 1; DROP TABLE raw_attempts",
    "SELECT 1 PARALLEL WITH KILL QUERY WHERE true",
    "INSERT INTO FUNCTION file('{path}') SELECT 1",
]
READS = [
    "SELECT * FROM file('{path}', 'LineAsString')",
    "SELECT * FROM file('{path}', 'LineAsString') -- ",
    "SELECT * FROM FILE('{path}', 'LineAsString')",
    "SELECT * FROM `file`('{path}', 'LineAsString')",
    "SELECT * FROM \"file\" ('{path}', 'LineAsString')",
    "SELECT * FROM file /* x */ ('{path}', 'LineAsString')",
    "SELECT file('{path}')",
    "SELECT `file`('{path}')",
    "SELECT (SELECT file('{path}'))",
    "WITH (SELECT file('{path}')) AS x SELECT x",
    "SELECT 1 AS `it's`, file('{path}') AS `b'`",
    "SELECT 1 AS \"it's\", file('{path}') AS \"b'\"",
    "SELECT $$'$$ AS a, file('{path}') AS b, $$'$$ AS c",
    "SELECT 'a\\'' AS a, file('{path}') AS b, '\\'' AS c",
    "SELECT * APPLY(file) FROM (SELECT '{path}' AS a)",
    "SELECT COLUMNS('a') APPLY file FROM (SELECT '{path}' AS a)",
    "SELECT * APPLY(x -> file(x)) FROM (SELECT '{path}' AS a)",
    "SELECT arrayMap(x -> file(x), ['{path}'])",
    "SELECT 1 AS `it's` INTO OUTFILE '{path}.out'",
    "SELECT hasColumnInTable('127.0.0.1:9', 'd', 't', 'c')",
    "SELECT aiGenerate('x', 'y')",
    "SELECT * FROM url('http://127.0.0.1:9/', 'LineAsString')",
    "SELECT * FROM s3('http://127.0.0.1:9/b/k', 'LineAsString')",
    "SELECT * FROM remote('127.0.0.1:9', system.one)",
    "SELECT * FROM remoteSecure('127.0.0.1:9', system.one)",
    "SELECT * FROM cluster('default', system.one)",
    "SELECT * FROM sqlite('{path}', 't')",
    "SELECT * FROM mysql('h', 'd', 't', 'u', 'p')",
    "SELECT * FROM postgresql('h:1', 'd', 't', 'u', 'p')",
    "SELECT * FROM executable('x.sh', 'CSV', 'a Int8')",
    "SELECT * FROM Python(ask)",
    "SELECT * FROM icebergLocal('{path}')",
    "SELECT * FROM filesystem('/')",
    "SELECT * FROM dictionary('x')",
    "SELECT * FROM input('a Int8')",
    "DESCRIBE TABLE file('{path}')",
    "EXPLAIN SELECT * FROM file('{path}', 'LineAsString')",
    "SELECT 1 INTO OUTFILE '{path}.out'",
    "SELECT 1 INTO OUTFILE '{path}.out' -- ",
    "SELECT 1 INTO /* x */ OUTFILE '{path}.out' FORMAT CSV",
    "SELECT 1 UNION ALL SELECT 2 INTO OUTFILE '{path}.out'",
    "SELECT demangle('x')",
    "SELECT 1 SETTINGS readonly = 0",
    "SELECT 1 SETTINGS max_execution_time = 100000",
    "SELECT * FROM (SELECT 1 SETTINGS allow_introspection_functions = 1)",
    "SELECT sleep(1)",
    "SELECT 1 FORMAT JSON",
    "SELECT nothing FROM nowhere",
    "SELEC 1",
    "",
]


@pytest.mark.parametrize("sql", WRITES + READS)
def test_everything_else_is_refused(
    sql: str, url: str, run_query: Callable[..., Answer], tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("classified")
    database = url.partition("database=")[2]
    with pytest.raises(BadQuery) as refused:
        run_query(sql.format(path=secret, database=database))
    assert "classified" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["secret.txt"]


@pytest.fixture
def frozen(url: str) -> Iterator[Warehouse]:
    with connect(url) as warehouse:
        warehouse.set({"allow_introspection_functions": 0, "allow_ddl": 0}, freeze=True)
        yield warehouse


@pytest.mark.parametrize(
    "sql", [sql for sql in WRITES if not sql.startswith(("KILL", "USE", "SELECT", "GRANT"))]
)
def test_the_engine_refuses_writes_by_itself(sql: str, frozen: Warehouse, tmp_path: Path) -> None:
    """If the look at the query's text should ever miss one."""
    with pytest.raises(BadQuery):
        frozen.run(sql.format(path=tmp_path / "x", database="system"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "function", ["file('/etc/passwd', 'LineAsString')", "url('http://127.0.0.1:9/', 'LineAsString')"]
)
def test_the_engine_refuses_files_and_urls_by_itself(function: str, frozen: Warehouse) -> None:
    with pytest.raises(BadQuery, match="readonly"):
        frozen.rows(f"SELECT * FROM {function}")


DOCS = Path(__file__).parents[3] / "docs"
EXAMPLES = re.findall(r"```sql\n(.+?)```", (DOCS / "how-to" / "warehouse.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_of_the_documentation_answers(number: int, run_query: Callable[..., Answer]) -> None:
    assert run_query(EXAMPLES[number]).columns


def test_every_view_is_documented(url: str) -> None:
    text = (DOCS / "reference" / "warehouse.md").read_text()
    documented = {name for name in VIEWS if f"`{name}`" in text or f"`{name.split('_')[0]}_*`" in text}
    assert set(VIEWS) - documented <= {f"{kind}_rows" for kind in ENTITY_COLUMNS}
    section = text.partition("## sessions")[2].partition("\n## ")[0]
    with connect(url) as warehouse:
        columns = {row[0] for row in warehouse.rows("DESCRIBE sessions")}
    assert (
        set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)))) == columns
    )
