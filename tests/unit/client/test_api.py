"""``rayscope.Client``: its answers are the API's, its lists whole, and its errors say what to do."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, get_type_hints

import pyarrow as pa
import pytest
from tests.conftest import aside
from tests.running import Running
from tests.stacks import INNER, OUTER, Stacks, add
from tests.story import Story

import rayscope
from rayscope.cli.main import COMMANDS
from rayscope.client import filters, rows
from rayscope.client.api import Api
from rayscope.client.api_logs import LogsApi
from rayscope.client.calls import Call, Listing
from rayscope.cluster.nodes.usage import NODE_COLUMNS
from rayscope.settings import Settings

DOC = Path(__file__).parents[3] / "docs" / "reference" / "client.md"
EXAMPLES = re.findall(r"```python\n(.+?)```", DOC.read_text(), re.DOTALL)

COMING = (DOC.parents[1] / "how-to" / "coming-from-rays-dashboard.md").read_text()


@pytest.fixture
def client(running: Running) -> Iterator[rayscope.Client]:
    with rayscope.Client(running.server.url, folder=running.folder) as made:
        yield made


@pytest.fixture(scope="module")
def described(running: Running) -> dict[str, Any]:
    found: dict[str, Any] = running.get("/openapi.json")
    return found


class _Stub(Api):
    session = None


def _requests() -> dict[str, Any]:
    """Every method of the client, described with a value for each of its parameters."""
    found = {}
    for name, member in {**vars(LogsApi), **vars(Api)}.items():
        if type(member).__name__ not in ("request", "paged"):
            continue
        describe = getattr(Api, name)
        given: dict[str, Any] = {}
        for parameter in list(inspect.signature(describe).parameters.values())[1:]:
            if parameter.kind is parameter.VAR_KEYWORD:
                shape = getattr(filters, re.search(r"Unpack\[(\w+)\]", parameter.annotation)[1])  # type: ignore[index]
                given |= dict.fromkeys(shape.__annotations__, "1")
            elif not (name == "logs" and parameter.name in ("actor_id", "job_id", "worker_id")):
                values = {"Sequence": ["x"], "Mapping": {"x": "y"}, "float": 1}
                kinds = [kind for kind in values if kind in parameter.annotation]
                given[parameter.name] = values[kinds[0]] if kinds else "1"
        if name == "one":
            given["kind"] = "actors"
        found[name] = describe(_Stub(), **given)
    return found


@pytest.mark.parametrize("name", sorted(_requests()))
def test_every_request_is_one_that_the_api_knows(described: dict[str, Any], name: str) -> None:
    request = _requests()[name]
    path = re.sub(r"/1(?=/|$)", "/{}", request.path)
    known = {re.sub(r"\{\w+\}", "{}", key): value for key, value in described["paths"].items()}
    method = getattr(request, "method", "GET").lower()
    operation = known[path][method]
    parameters = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"}
    sent = set(request.params) | ({"limit", "cursor"} if isinstance(request, Listing) else set())
    assert sent - {"session"} <= parameters
    assert isinstance(request, Call) or request.of_session == ("session" in parameters)
    if isinstance(request, Call) and request.body is not None:
        reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].split("/")[-1]
        assert set(request.body) <= set(described["components"]["schemas"][reference]["properties"])
    if name in ("tasks", "actors", "events"):
        assert sent - {"session"} == parameters - {"session"}


def test_the_documented_signatures_are_the_clients() -> None:
    """Optional parameters are documented by name; required ones may have any name there."""
    calls = re.findall(r"`(\w+)\(([^`()]+)\)`", DOC.read_text())
    checked = 0
    for name, arguments in calls:
        method = rayscope.Client if name == "Client" else getattr(rayscope.Client, name, None)
        if method is None:  # a function of Python's
            continue
        parameters = [one for one in inspect.signature(method).parameters.values() if one.name != "self"]
        names = [one.name for one in parameters]
        required = sum(one.default is one.empty for one in parameters if one.kind is not one.VAR_KEYWORD)
        for place, argument in enumerate(map(str.strip, arguments.split(","))):
            keyword, equals, value = argument.partition("=")
            if equals or place >= required:
                assert keyword in names, (name, argument)
            if equals and value != "…" and name == "Client":
                assert str(parameters[names.index(keyword)].default) == value
            checked += 1
    assert checked > 30


def test_the_names_that_replace_those_of_rays_dashboard_exist(
    running: Running, client: rayscope.Client
) -> None:
    here = re.sub(r"^\|.+?(?<!\\)\|", "", COMING, flags=re.MULTILINE)  # without what was there
    methods = set(re.findall(r"`client\.(\w+)\(", here))
    assert len(methods) > 8
    assert [name for name in methods if not hasattr(client, name)] == []
    paths = re.findall(r"`GET (/api/[^`]+)`, field", here)
    assert len(paths) >= 4
    for path in paths:
        if "collector" not in path:  # which this record has none of
            assert "items" in running.get(path), path
    assert set(re.findall(r"`usage\.(\w+)`", here)) <= set(NODE_COLUMNS)
    assert {name.lower() for name in re.findall(r"`RAYSCOPE_(\w+)`", here)} <= set(Settings.model_fields)
    assert set(re.findall(r"`rayscope ([a-z]+)", here)) <= set(COMMANDS)
    topics = set(re.findall(r"topic `(\w+)`", here))
    assert topics == set(running.server.services.realtime.topics) - {"alerts", "debugger", "job"}  # type: ignore[union-attr]
    (example,) = re.findall(r"```python\n(.+?)```", COMING, re.DOTALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAYSCOPE_DATA_DIR", str(running.folder))
        aside(exec, compile(example, "coming-from-rays-dashboard.md", "exec"), {})


@pytest.mark.parametrize("kind", ["actors", "nodes", "workers", "jobs", "placement_groups"])
def test_rows_of_entities_are_typed(client: rayscope.Client, kind: str) -> None:
    answer = getattr(client, kind)()
    found = answer.to_list()
    assert all(set(row) == set(get_type_hints(answer.listing.row_type())) for row in found)
    assert found or kind == "placement_groups"
    assert client.one(kind, found[0][f"{kind[:-1]}_id"])["history"] if found else True


def test_pages_make_up_the_whole(
    client: rayscope.Client, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = running.get("/api/v1/tasks", limit=1000, sort="name")
    whole = [_which(row) for row in answer["items"]]
    asked: list[str] = []
    ask = client.ask
    monkeypatch.setattr(client, "ask", lambda call: asked.append(call.path) or ask(call))
    monkeypatch.setattr(rows, "_PAGE", 3)
    found = client.tasks(sort="name")
    iterator = iter(found)
    assert _which(next(iterator)) == whole[0]
    assert asked == ["/api/v1/sessions", "/api/v1/tasks"]
    assert [_which(row) for row in iterator] == whole[1:]
    assert found.total == len(whole) == len(set(whole)) > 10
    assert found.dropped == answer["dropped"]
    assert len(asked) == 1 + -(-len(whole) // 3)
    assert [_which(row) for row in client.tasks(sort="name", limit=7)] == whole[:7]
    assert client.tasks(limit=0).to_list() == []
    assert [len(page) for page in client.tasks(limit=7).pages()] == [3, 3, 1]


def _which(row: Any) -> tuple[str, int]:
    """An attempt; how long one lasts that runs still changes between two answers."""
    return row["task_id"], row["attempt"]


def test_the_async_client_answers_the_same(client: rayscope.Client, running: Running, tmp_path: Path) -> None:
    async def ask() -> list[Any]:
        async with rayscope.AsyncClient(running.server.url) as other:
            lists = [await getattr(other, kind)().to_list() for kind in ("actors", "jobs", "events")]
            await other.export("speedscope", tmp_path / "async.json")
            graph = await other.logical()
            return [*lists, graph["attempts"], (await other.tasks().to_arrow()).schema]

    results = aside(asyncio.run, ask())
    client.export("speedscope", tmp_path / "plain.json")
    lists = [getattr(client, kind)().to_list() for kind in ("actors", "jobs", "events")]
    assert results == [*lists, client.logical()["attempts"], client.tasks().to_arrow().schema]
    traces = [json.loads((tmp_path / name).read_text())["profiles"] for name in ("async.json", "plain.json")]
    assert len(traces[0]) == len(traces[1]) > 1
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(rayscope.RayscopeError, match="not a task ID"):
        aside(asyncio.run, _wrong(running.server.url))


def test_both_clients_export_samples(fresh: Running, tmp_path: Path) -> None:
    story, stacks = Story(), Stacks()
    for name, samples in (("fit", 30), ("other", 7)):
        task = story.task(name, 0, 10, 95)
        add(story, task, 10, ("executing", False, samples, stacks.number(OUTER, INNER)))
    stacks.add_to(story)
    fresh.record(story)

    async def export() -> Path:
        async with rayscope.AsyncClient(fresh.server.url) as other:
            return await other.export_lines("collapsed", tmp_path / "async.txt", func_name="fit")

    with rayscope.Client(fresh.server.url) as client:
        paths = [aside(asyncio.run, export())]
        paths.append(client.export_lines("collapsed", tmp_path / "plain.txt", func_name="fit"))
    for path in paths:
        assert path.read_text() == "[executing];main (train.py:10);step (train.py:20) 30\n"


async def _wrong(url: str) -> None:
    async with rayscope.AsyncClient(url) as other:
        await other.task("none")


def test_hostile_values_come_back_as_they_are(fresh: Running) -> None:
    names = [
        "\x1b[2J\x1b]0;x\x07",
        "‮evil",
        '=HYPERLINK("x")',
        "a,b\r\n",
        "…/../?&#%00",
        "名字🙂",
        "' OR 1=1 --",
    ]
    story = Story()
    for number, name in enumerate(names):
        story.task(name, number, number + 1, number + 2)
    fresh.record(story)
    with rayscope.Client(fresh.server.url) as client:
        assert [row["name"] for row in client.tasks(sort="created_ns")] == names
        for name in names:
            assert [row["name"] for row in client.tasks(name=name)] == [name]
            with pytest.raises(rayscope.RayscopeError) as refused:
                client.one("actors", name)
            assert refused.value.code == ("bad_request" if "/" in name else "not_found")
        with pytest.raises(rayscope.RayscopeError, match="not found"):
            client.summary("../../etc")
        for identity in ("", ".", ".."):
            with pytest.raises(rayscope.RayscopeError, match="is not an ID"):
                client.stop_job(identity)


def test_filters_that_do_not_exist_and_times(client: rayscope.Client) -> None:
    with pytest.raises(TypeError, match="Unknown filter 'stat'"):
        client.tasks(stat="FAILED")  # type: ignore[call-arg]
    future = datetime(2100, 1, 1, tzinfo=timezone.utc)
    assert Api.metrics(client, "up", since=future).params["since_ns"] == 4_102_444_800 * 10**9
    both = client.tasks(state=["FAILED", "FINISHED"]).to_list()  # type: ignore[arg-type]
    assert {row["state"] for row in both} == {"FAILED", "FINISHED"}


def test_tables_keep_their_types(client: rayscope.Client) -> None:
    whole, nothing = client.tasks().to_arrow(), client.tasks(name="nobody").to_arrow()
    assert whole.schema == nothing.schema
    assert nothing.num_rows == 0 < whole.num_rows
    assert whole.schema.field("end_ns").type == pa.int64()
    assert client.actors().to_arrow().to_pylist() == client.actors().to_list()
    jobs = client.jobs().to_arrow()
    assert dict(jobs["tasks"].to_pylist()[0]) == client.jobs().to_list()[0]["tasks"]


def test_a_frame_of_pandas(client: rayscope.Client) -> None:
    frame = client.tasks().to_pandas()
    assert str(frame["end_ns"].dtype) == "Int64"
    assert len(frame) == client.tasks().to_arrow().num_rows


def test_pandas_is_not_needed(client: rayscope.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(rayscope.RayscopeError, match="pip install pandas"):
        client.tasks().to_pandas()


QUERY = """
    SELECT 1 AS whole, sum(n) AS total, 1.5 AS part, 'nan'::DOUBLE AS odd, 'a<b>' AS text, true AS truth,
           DATE '2026-01-31' AS day, TIMESTAMP '2026-01-31 12:00:00.5' AS moment,
           TIMESTAMPTZ '2026-01-31 12:00:00+00' AS zoned, [1, 2] AS list, NULL::BIGINT AS missing,
           18446744073709551615::UBIGINT AS large
    FROM range(3) AS numbers(n)
"""


def test_sql_as_a_table(client: rayscope.Client) -> None:
    result = client.sql(QUERY)
    assert result["rows"][0][:2] == [1, 3]
    table = result.to_arrow()
    (row,) = table.to_pylist()
    moment = datetime(2026, 1, 31, 12, 0, 0, 500_000)
    assert (row["whole"], row["total"], row["part"], row["truth"]) == (1, 3, 1.5, True)
    assert row["odd"] != row["odd"]
    assert (row["day"], row["moment"], row["list"]) == (moment.date(), moment, [1, 2])
    assert row["zoned"] == moment.replace(microsecond=0, tzinfo=timezone.utc)
    assert (row["missing"], row["large"]) == (None, 2**64 - 1)
    assert table.schema.field("missing").type == pa.int64()
    frame = result.to_pandas()
    assert frame["whole"].sum() == 1
    assert frame["missing"].isna().all()
    assert client.sql("SELECT 1::HUGEINT << 100 AS n, 1 AS n").to_arrow().num_columns == 2
    assert client.sql("SELECT 1 AS n WHERE false").to_arrow().schema.field("n").type == pa.int64()


def test_sql_and_lists_in_a_notebook(client: rayscope.Client) -> None:
    result = client.sql(QUERY)
    assert repr(result).startswith("<SqlResult of 1 rows: whole INTEGER, total HUGEINT")
    assert "<td>a&lt;b&gt;</td>" in result._repr_html_()
    assert "the first 20 are shown" in client.sql("SELECT * FROM range(30)")._repr_html_()
    tasks = client.tasks(limit=20)
    assert repr(tasks) == "<Rows of TaskItem: not requested yet>"
    total = client.tasks()[:1] and client.sql("SELECT count(*) FROM tasks")["rows"][0][0]
    assert f"10 of {min(total, 20)} rows" in tasks._repr_html_()
    assert repr(tasks) == f"<Rows of TaskItem: {min(total, 20)} rows>"


def test_a_list_has_items_and_a_length(client: rayscope.Client) -> None:
    tasks = client.tasks(sort="name", limit=7)
    with pytest.raises(TypeError, match="to_list"):
        len(tasks)
    whole = list(tasks)
    assert len(tasks) == len(whole) == 7
    ids = [_which(row) for row in whole]
    assert [_which(tasks[at]) for at in (0, 3, -1)] == [ids[0], ids[3], ids[-1]]
    for part in (slice(2, 5), slice(None, 3), slice(-2, None), slice(None, None, -1), slice(5, 99)):
        assert [_which(row) for row in tasks[part]] == ids[part]
    with pytest.raises(IndexError):
        tasks[7]
    assert tasks
    assert not client.tasks(name="no such name")


def test_polars_is_not_needed(client: rayscope.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    for table in (client.sql("SELECT 1"), client.tasks(limit=1)):
        with pytest.raises(rayscope.RayscopeError, match="polars is not installed"):
            table.to_polars()


def test_which_server_is_meant(running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAYSCOPE_URL", raising=False)
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(running.folder))
    with rayscope.Client() as client:
        assert client.url == running.server.url
        assert client.health()["status"] == "ok"
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(tmp_path))
    with pytest.raises(rayscope.RayscopeError, match="rayscope serve") as missing:
        rayscope.Client()
    assert missing.value.code == "no_server"
    for text in (str(running.folder), running.folder):
        with rayscope.Client(folder=text) as found:
            assert found.url == running.server.url
    monkeypatch.setenv("RAYSCOPE_URL", running.server.ingest_url)
    with rayscope.Client() as client:
        assert client.url == running.server.url
    for wrong in ("nohost", "ftp://x", "http://", "http://[", "http://x:y"):
        with pytest.raises(rayscope.RayscopeError, match="http://HOST:PORT"):
            rayscope.Client(wrong)


def test_the_operators_token_goes_to_its_own_server_alone(running: Running, tmp_path: Path) -> None:
    job = running.get("/api/v1/jobs")["items"][0]["job_id"]
    with rayscope.Client(running.server.url, folder=running.folder) as client:
        assert running.server.services is not None
        assert running.server.services.secrets.operator_token  # makes the file
        with pytest.raises(rayscope.RayscopeError) as refusal:
            client.stop_job(job)
        assert refusal.value.code != "needs_operator"
    (tmp_path / "operator").write_text("a secret of another server")
    shown: list[str | None] = []
    with (
        _odd_server(lambda handler: shown.append(handler.headers["X-Rayscope-Operator"])) as url,
        rayscope.Client(url, folder=running.folder) as client,
        pytest.raises(rayscope.RayscopeError),
    ):
        client.stop_job(job)
    assert shown == [None]
    with (
        rayscope.Client(running.server.url, folder=tmp_path) as client,
        pytest.raises(rayscope.RayscopeError, match="RAYSCOPE_OPERATOR") as refused,
    ):
        client.stop_job(job)
    assert (refused.value.code, refused.value.status) == ("needs_operator", 403)


class _odd_server:
    """A server that is none of ours: it answers with HTML, and ``look`` sees each request."""

    def __init__(self, look: Any, body: bytes = b"<html>", status: int = 200) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                look(self)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *_: Any) -> None: ...

        self._server = HTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> str:
        Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"null", b"\xff", b'{"items": 3, "next": null}'])
@pytest.mark.parametrize("status", [200, 404, 500])
def test_other_servers_are_recognized_as_such(body: bytes, status: int) -> None:
    with _odd_server(lambda _: None, body, status) as url, rayscope.Client(url) as client:
        with pytest.raises(rayscope.RayscopeError) as refused:
            client.tasks(session="s").to_list()
        assert refused.value.code == "not_rayscope"
        assert refused.value.remedy


def test_unreachable_wrong_token_and_old_server(serve: Any) -> None:
    with rayscope.Client("http://127.0.0.1:1") as client:
        with pytest.raises(
            rayscope.RayscopeError, match=r"Could not reach a Rayscope server.*rayscope serve"
        ) as gone:
            client.sessions().to_list()
        assert (gone.value.code, gone.value.status) == ("unreachable", 0)
    server = serve(token="right")
    for token in (None, "wrong"):
        with rayscope.Client(server.url, token=token) as client:
            with pytest.raises(rayscope.RayscopeError, match="RAYSCOPE_TOKEN") as refused:
                client.sessions().to_list()
            assert (refused.value.code, refused.value.status) == ("unauthorized", 401)
    with rayscope.Client(server.url, token="right") as client:
        assert client.sessions().to_list() == []
        with pytest.raises(rayscope.RayscopeError, match="Upgrade Rayscope there") as old:
            client.ask(Call("GET", "/api/from_the_future"))
        assert old.value.code == "old_server"


def test_importing_rayscope_is_light() -> None:
    """Every traced process does it."""
    heavy = "['httpx', 'msgspec', 'pyarrow', 'pandas', 'ray', 'typer', 'rich', 'pydantic', 'asyncio']"
    script = (
        f"import sys, rayscope; print([m for m in {heavy} if m in sys.modules], rayscope.Client.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "Client"]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_of_the_documentation_run(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(running.folder))
    monkeypatch.delenv("RAYSCOPE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    aside(
        exec,
        compile(EXAMPLES[number], f"docs/reference/client.md[{number}]", "exec"),
        {"__name__": "example"},
    )
