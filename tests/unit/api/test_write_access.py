"""Actions need the operator: the right to view everything is not enough."""

from __future__ import annotations

import asyncio
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from typer.testing import CliRunner

from rayscope.api.security import Secrets
from rayscope.api.write_access import HEADER, OPERATOR_ONLY, router
from rayscope.cli.main import app as cli
from rayscope.server.app import add_errors
from rayscope.settings import operator_token


class Client:
    """Sends requests to an application with one route for operators."""

    def __init__(self, folder: Path) -> None:
        self.app = FastAPI()
        self.app.state.services = {Secrets: Secrets("", operator_token(folder))}
        add_errors(self.app)
        self.app.include_router(router)

        @self.app.post("/act", dependencies=OPERATOR_ONLY)
        def act() -> str:
            return "done"

    def post(self, path: str, **given: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await client.post(path, **given)

        with ThreadPoolExecutor(1) as threads:  # a browser of other tests may run a loop in this thread
            return threads.submit(asyncio.run, send()).result()


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


def test_only_the_token_of_the_data_directory_allows_actions(client: Client, tmp_path: Path) -> None:
    for headers in ({}, {HEADER: ""}, {HEADER: "x" * 24}):
        refused = client.post("/act", headers=headers)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "needs_operator")
        assert "rayscope token" in refused.json()["error"]["remedy"]
    assert client.post("/act", headers={HEADER: operator_token(tmp_path)}).json() == "done"


def test_a_token_can_be_tried_and_no_cookie_does_for_it(client: Client, tmp_path: Path) -> None:
    refused = client.post("/api/v1/operator", json={"token": "wrong"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "wrong_operator_token")
    token = operator_token(tmp_path)
    given = client.post("/api/v1/operator", json={"token": token})
    assert given.status_code == 204
    assert "set-cookie" not in given.headers
    for name in ("rayscope_operator", HEADER):
        assert client.post("/act", headers={"Cookie": f"{name}={token}"}).status_code == 403


def test_the_command_prints_the_operator_token_that_only_its_owner_can_read(tmp_path: Path) -> None:
    printed = CliRunner().invoke(cli, ["operator", "--data-dir", str(tmp_path)])
    assert printed.output.strip() == operator_token(tmp_path)
    assert stat.S_IMODE((tmp_path / "operator").stat().st_mode) == 0o600


def test_the_server_has_the_log_in(running: Any) -> None:
    answer: httpx.Response = running.client.post("/api/v1/operator", json={"token": "wrong"})
    assert running.error(answer, 403)["code"] == "wrong_operator_token"
