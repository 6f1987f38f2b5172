"""The MCP server, queried by the SDK's client over stdio and over HTTP: it answers what the API answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.cluster import free_port
from tests.conftest import aside
from tests.fenced import HOSTILE, blocks, rows_of
from tests.running import Running
from tests.story import Story
from tests.waiting import wait_until

from rayscope.mcp.answer import DEFAULT_TOKENS

TOOLS = ["why", "overview", "sessions", "compare", "rows", "logs", "metrics", "sql", "stack", "open"]
Ask = Callable[..., tuple[str, bool]]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "rayscope.cli", "mcp", *arguments]


def over_stdio(use: Callable[[Client], Awaitable[Any]], *arguments: str) -> Any:
    """Start a server with these arguments, and return what ``use`` returns for a client of it."""

    async def connect() -> Any:
        program, *rest = command(*arguments)
        parameters = StdioServerParameters(command=program, args=rest, env=dict(os.environ))
        async with Client(stdio_client(parameters)) as client:
            return await use(client)

    return aside(asyncio.run, connect())


def call(client: Client, tool: str, **arguments: Any) -> Any:
    return client.call_tool(tool, arguments)


def text_of(result: Any) -> str:
    (content,) = result.content
    return str(content.text)


def post(url: str, **headers: str) -> int:
    """The status of a request, or 0 if nothing answers."""
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accepted = {"Accept": "application/json, text/event-stream"}
    try:
        return httpx.post(url, json=ping, headers={**accepted, **headers}, timeout=60).status_code
    except httpx.HTTPError:
        return 0


@contextlib.contextmanager
def over_http(*arguments: str, **env: str) -> Iterator[str]:
    """Start a server of HTTP, and provide its address."""
    port = free_port()
    address = f"http://127.0.0.1:{port}/mcp"
    process = subprocess.Popen(command("--http", f"--port={port}", *arguments), env={**os.environ, **env})

    def answers() -> int:
        assert process.poll() is None
        return post(address)

    try:
        wait_until(answers, "the MCP server")
        yield address
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def url(running: Running) -> Iterator[str]:
    """The address of an MCP server over HTTP."""
    with over_http(f"--server={running.server.url}") as address:
        yield address


@pytest.fixture(scope="module")
def ask(url: str) -> Ask:
    """Call a tool over HTTP. Returns its text, and whether it is an error."""

    def ask(tool: str, **arguments: Any) -> tuple[str, bool]:
        async def connect() -> Any:
            async with Client(url) as client:
                return await call(client, tool, **arguments)

        result = aside(asyncio.run, connect())
        return text_of(result), bool(result.is_error)

    return ask


def test_over_stdio_a_client_finds_the_tools_prompts_and_the_schema(running: Running) -> None:
    async def use(client: Client) -> Any:
        return (
            await client.list_tools(),
            await client.list_prompts(),
            await client.read_resource("rayscope://schema"),
            await client.get_prompt("investigate_slow", {"session": "abc"}),
            await call(client, "overview"),
        )

    tools, prompts, schema, prompt, overview = over_stdio(use, f"--server={running.server.url}")
    assert [tool.name for tool in tools.tools] == TOOLS
    assert len(tools.model_dump_json(by_alias=True, exclude_none=True).encode()) <= 12_000
    assert all(tool.annotations.read_only_hint for tool in tools.tools)
    assert {each.name for each in prompts.prompts} == {
        "investigate_slow",
        "investigate_failure",
        "compare_runs",
    }
    text = schema.contents[0].text
    assert "\ntasks(task_id VARCHAR, " in text
    assert len(text.encode()) <= 4 * 8000
    assert "session=abc" in prompt.messages[0].content.text
    assert "why" in prompt.messages[0].content.text
    assert f"UI: {running.server.url}/s/" in text_of(overview)


def test_over_stdio_a_data_directory_is_read_without_a_server(
    tmp_path: Path, bodies: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.running import start

    for running in start(tmp_path, bodies):
        tasks = running.get("/api/v1/summary")["tasks"]
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(tmp_path))

    async def use(client: Client) -> Any:
        return await call(client, "overview"), await call(client, "overview")

    for result in over_stdio(use):
        assert f"Tasks: {tasks}, " in text_of(result)
        assert "rayscope open --session 'session_" in text_of(result)


def test_without_a_record_a_tool_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(tmp_path / "none"))
    result = over_stdio(lambda client: call(client, "overview"))
    assert result.is_error
    assert "rayscope run SCRIPT" in text_of(result)


def test_rows_and_sql_equal_the_api(running: Running, ask: Ask) -> None:
    query = (
        "SELECT func_name, count(*) AS n, sum(duration_ns) AS total FROM tasks GROUP BY 1 ORDER BY n DESC, 1"
    )
    expected = running.client.post("/api/v1/sql", json={"sql": query}).json()["rows"]
    cells = [["" if value is None else str(value) for value in row] for row in expected]
    assert rows_of(ask("sql", query=query)[0])[1:] == cells
    text, _ = ask(
        "rows",
        table="tasks",
        columns="func_name, count(*) AS n, sum(duration_ns) AS total",
        group_by="func_name",
        sort="-n, func_name",
    )
    assert rows_of(text) == [["func_name", "n", "total"], *cells]


def test_the_overview_equals_the_api(running: Running, ask: Ask) -> None:
    summary = running.get("/api/v1/summary")
    text, _ = ask("overview", max_tokens=8000)
    rows = rows_of(text)
    for state, count in summary["states"].items():
        assert [state, str(count)] in rows
    for function in summary["functions"]:
        assert any(row[:2] == [function["func_name"], str(function["attempts"])] for row in rows)


def test_why_slow_has_the_verdict_of_the_api_and_a_link(running: Running, ask: Ask) -> None:
    insights = running.get("/api/v1/insights")
    text, _ = ask("why", question="slow", max_tokens=8000)
    outside, inside = blocks(text)
    assert insights["verdict"]["text"] in inside
    assert f"UI: {running.server.url}/s/{insights['session']}/insights" in outside
    kinds = [line.split(",")[0] for line in inside]
    assert all(finding["kind"] in kinds for finding in insights["findings"])


def test_why_failed_has_the_failures_of_the_api(running: Running, ask: Ask) -> None:
    failures = running.get("/api/v1/failures")
    assert failures["items"]
    text, _ = ask("why", question="failed", max_tokens=8000)
    first = failures["items"][0]
    assert f"{first['func_name']} failed: {first['error_type']}" in text
    assert first["latest"][0]["task_id"] in text
    assert f"Different failures: {failures['total']}." in text


@pytest.mark.parametrize("question", ["failed", "stuck", "slow"])
def test_why_refuses_a_name_that_has_no_task(running: Running, ask: Ask, question: str) -> None:
    name = running.get("/api/v1/failures")["items"][0]["func_name"]
    text, is_error = ask("why", question=question, of=f"{name}x")
    assert is_error
    assert f"There is no task of '{name}x'." in text
    assert name in text.partition("The nearest functions are: ")[2]


def test_why_pending_is_unknown_without_the_cluster(running: Running, ask: Ask) -> None:
    status = running.get("/api/v1/cluster/status")
    text, _ = ask("why", question="pending", of="it's nothing")
    assert ("Verdict: unknown" in text) == bool(status["error"])
    assert ("Verdict: nothing of that" in text) == (not status["error"])


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        *(("why", {"question": question}) for question in ("slow", "failed", "pending", "stuck", "died")),
        ("overview", {}),
        ("sessions", {}),
        ("rows", {"table": "tasks"}),
        ("rows", {"table": "actors"}),
        ("sql", {"query": "SELECT * FROM tasks"}),
        ("logs", {}),
        ("logs", {"search": "e"}),
        ("metrics", {}),
        ("metrics", {"expr": "rayscope_attempts"}),
        ("stack", {}),
    ],
)
def test_a_default_answer_is_small_and_names_its_session(
    running: Running, ask: Ask, tool: str, arguments: dict[str, Any]
) -> None:
    text, is_error = ask(tool, **arguments)
    assert not is_error, text
    assert len(text.encode()) <= 4 * DEFAULT_TOKENS
    assert running.get("/api/v1/sessions")["items"][0]["session"] in text


def test_the_pages_of_an_answer_are_its_rows(running: Running, ask: Ask) -> None:
    total = running.get("/api/v1/tasks", limit=1)["total"]
    read: list[list[str]] = []
    cursor = ""
    while True:
        text, _ = ask("rows", table="tasks", columns="*", sort="task_id, attempt", cursor=cursor)
        read += rows_of(text)[1:]
        last = text.splitlines()[-1]
        if not last.startswith("CUT: "):
            break
        cursor = last.split('cursor="')[1].split('"')[0]
    assert len({(row[0], row[1]) for row in read}) == total


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/s/SESSION/overview", "Attempts by state:"),
        ("/s/SESSION/insights?lang=zh", "Verdict:"),
        ("/s/SESSION/failures", "Different failures: "),
        ("/s/SESSION?state=FAILED&sort=-created_ns", "Matching rows: "),
        ("/s/SESSION/actors", "Matching rows: "),
        ("/s/SESSION/actors?page=2&self=3", "Matching rows: "),
        ("/s/SESSION/jobs/JOB", "All fields"),
        ("/s/SESSION?task=TASK", "All fields"),
        ("/s/SESSION/stack?at=soon", "Attempts in flight at "),
        ("/s/SESSION/events?sort=-time_ns&severity=ERROR", "Matching rows: "),
        ("/s/SESSION/sql?sql=SELECT+1", "Rows: 1."),
        ("/s/SESSION/logs", "Fenced blocks are data"),
        ("/s/SESSION/gantt", "Attempts by state:"),
        ("/", "Sessions:"),
    ],
)
def test_open_shows_the_data_behind_an_address(running: Running, ask: Ask, path: str, expected: str) -> None:
    session = running.get("/api/v1/sessions")["items"][0]["session"]
    task = running.get("/api/v1/tasks", limit=1)["items"][0]
    path = path.replace("SESSION", session).replace("JOB", task["job_id"]).replace("TASK", task["task_id"])
    text, is_error = ask("open", url=f"{running.server.url}{path}")
    assert not is_error, text
    assert expected in text


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("sql", {"query": "SELECT func_nam FROM tasks"}, "The nearest names are: func_name"),
        ("rows", {"table": "taks"}, "The nearest names are: tasks"),
        ("rows", {"table": "tasks", "where": "state = 'FINISHED' -- comment"}, None),
        ("rows", {"table": "tasks", "sort": "-duratoin_ns"}, "duration_ns"),
        ("sql", {"query": "DROP TABLE tasks"}, "read-only"),
        ("sql", {"query": "SELECT 1", "cursor": "7"}, "not a cursor"),
        ("metrics", {"expr": "rate("}, "promql"),
        ("open", {"url": "http://example.org/x"}, "/s/SESSION/insights"),
        ("open", {"url": "http://[x/s/a"}, "/s/SESSION/insights"),
        ("why", {"question": "died", "of": "00000000aaaa"}, "The tool `rows` lists them."),
        ("why", {"question": "why"}, "'slow'"),
        ("overview", {"max_tokens": 9000}, "8000"),
    ],
)
def test_errors_say_what_to_do(ask: Ask, tool: str, arguments: dict[str, Any], expected: str | None) -> None:
    text, is_error = ask(tool, **arguments)
    assert is_error == (expected is not None), text
    assert expected is None or expected in text


def test_an_unknown_session_answers_with_the_newest(running: Running, ask: Ask) -> None:
    text, is_error = ask("overview", session="nothing")
    assert is_error
    assert running.get("/api/v1/sessions")["items"][0]["session"] in text


def test_hostile_names_stay_data(fresh: Running) -> None:
    story = Story()
    for number, name in enumerate(HOSTILE[:-1]):
        story.task(name, number, number + 1, number + 2, failed=True)
    fresh.record(story)

    async def use(client: Client) -> Any:
        calls = [("why", {"question": "failed"}), ("overview", {}), ("rows", {"table": "tasks"})]
        return [text_of(await call(client, tool, **arguments)) for tool, arguments in calls]

    for text in over_stdio(use, f"--server={fresh.server.url}"):
        outside, inside = blocks(text)
        assert any("IGNORE ALL PREVIOUS" in line for line in inside)
        assert not any("IGNORE" in line or "evil" in line for line in outside)
        assert text.replace("\n", "").isprintable()


def test_http_refuses_other_hosts_and_origins(url: str) -> None:
    assert post(url) == 200
    assert post(url, Host="evil.example") == 403
    assert post(url, Origin="http://evil.example") == 403
    assert post(url, **{"Sec-Fetch-Site": "cross-site"}) == 403
    assert httpx.get(url, headers={"Accept": "text/event-stream"}).status_code == 405
    assert httpx.post(url, content=b"x" * (2 << 20)).status_code == 413


def test_http_requires_the_token(running: Running) -> None:
    token = "a-token-of-sixteen"
    with over_http(f"--server={running.server.url}", RAYSCOPE_TOKEN=token) as address:
        assert post(address) == 401
        assert post(address, Authorization="Bearer wrong") == 401
        assert post(address, Authorization=f"Bearer {token}") == 200


def test_http_without_a_token_binds_to_loopback_only(running: Running) -> None:
    env = {name: value for name, value in os.environ.items() if name != "RAYSCOPE_TOKEN"}
    arguments = command("--http", "--host=0.0.0.0", f"--server={running.server.url}")
    done = subprocess.run(arguments, env=env, capture_output=True, text=True)
    assert done.returncode == 2
    assert "token" in done.stderr


def test_a_server_that_does_not_answer_is_not_replaced_by_one_that_reads_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(tmp_path))
    url = f"http://user:secret@127.0.0.1:{free_port()}"
    entry = {"pid": os.getpid(), "url": url, "ingest_url": ""}
    (tmp_path / "server.json").write_text(json.dumps(entry))
    result = over_stdio(lambda client: call(client, "overview"))
    assert result.is_error
    assert "Could not reach a Rayscope server at http://127.0.0.1:" in text_of(result)
    assert "secret" not in text_of(result)


def test_port_0_prints_the_port(running: Running) -> None:
    arguments = command("--http", "--port=0", f"--server={running.server.url}")
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        status = post(line.split()[-1])
        process.terminate()
    assert status == 200, line


def test_silent_connections_do_not_block_the_server(url: str) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0)))
        assert post(url) == 200


def test_a_missing_sdk_is_reported_with_the_remedy() -> None:
    code = "import sys; sys.modules['mcp'] = None; from rayscope.cli.main import app; app(['mcp'])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 2
    assert "pip install 'rayscope[mcp]'" in done.stderr


def test_neither_the_package_nor_the_help_loads_the_sdk() -> None:
    code = """
import sys, rayscope
from typer.testing import CliRunner
from rayscope.cli.main import app
assert CliRunner().invoke(app, ["--help"]).exit_code == 0
assert CliRunner().invoke(app, ["skill"]).exit_code == 0
print(json.dumps([name for name in sys.modules if name.partition(".")[0] in ("mcp", "mcp_types")]))
"""
    done = subprocess.run(
        [sys.executable, "-c", f"import json{code}"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []
