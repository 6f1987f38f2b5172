"""A server below a root path: whether or not the proxy removes it, and where its own URLs lead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from pydantic import ValidationError

from rayscope.client.server_url import known_server
from rayscope.server import ui
from rayscope.server.runner import Server
from rayscope.settings import OWN_PATHS, Settings

TOKEN = "a-long-token-of-the-tests"


@pytest.mark.parametrize("requested", ["", "/rayscope"], ids=["removed by the proxy", "passed on"])
def test_every_url_begins_with_the_root_path(serve: Callable[..., Server], requested: str) -> None:
    server = serve(root_path="/rayscope/", token=TOKEN)
    address = server.url.removesuffix("/rayscope")
    assert server.url == f"{address}/rayscope"
    with httpx.Client(base_url=address + requested) as client:
        assert client.get("/api/v1/sessions").status_code == 401
        assert (
            "; Path=/rayscope;" in client.post("/api/v1/login", json={"token": TOKEN}).headers["set-cookie"]
        )
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        assert client.get("/api/v1/sessions").status_code == 200
        for old, new in (
            ("/api/tasks?session=s", "/rayscope/api/v1/tasks?session=s"),
            ("/docs", "/rayscope/docs/index.md"),
            ("/docs/how-to/proxy.md?lang=zh", "/rayscope/docs/zh/how-to/proxy.md"),
        ):
            assert client.get(old).headers["location"] == new
        page = client.get("/docs/zh/index.md").text
        assert '<a href="/rayscope/">' in page
        assert '<a href="/rayscope/docs/zh/index.md">' in page
        assert client.get("/openapi.json").json()["servers"] == [{"url": "/rayscope"}]


@pytest.mark.parametrize("root_path", ["", "/rayscope"])
@pytest.mark.parametrize("path", ["", "/", "/s/session_1/tasks"])
def test_the_page_loads_its_files_from_below_the_root_path(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, root_path: str, path: str
) -> None:
    (tmp_path / "index.html").write_text('<script src="./assets/x.js"></script>')
    monkeypatch.setattr(ui, "STATIC", tmp_path)
    answer = httpx.get(serve(root_path=root_path).url + path)
    assert answer.text == f'<script src="{root_path}/assets/x.js"></script>'
    assert answer.headers["cache-control"] == "no-cache"


def test_what_the_server_says_of_itself(serve: Callable[..., Server]) -> None:
    server = serve(root_path="/rayscope")
    assert server.services is not None
    assert server.services.url == server.url
    known = known_server(server.settings.folder)
    assert known is not None
    assert (known.url, known.ingest_url) == (server.url, server.ingest_url)
    assert server.ingest_url.startswith(f"{server.url}/api/ingest/")
    assert httpx.post(server.ingest_url, content=b"[]").status_code == 204


def test_links_in_notifications_have_the_root_path() -> None:
    url = "https://ray.example/rayscope"
    assert Settings(root_path="/rayscope", external_url=f"{url}/").external_url == url
    with pytest.raises(ValidationError, match="must end with the root path, /rayscope"):
        Settings(root_path="/rayscope", external_url="https://ray.example")


@pytest.mark.parametrize(
    "path", ["rayscope", "//rayscope", "/a//b", "/a b", "/../a", "/.", '/"', "/é", "/%41"]
)
def test_a_root_path_is_a_path(path: str) -> None:
    with pytest.raises(ValidationError, match="must look like /rayscope"):
        Settings(root_path=path)


def test_a_root_path_is_none_of_our_own(serve: Callable[..., Server]) -> None:
    paths = httpx.get(f"{serve().url}/openapi.json").json()["paths"]
    others = {"assets", "compare", "docs", "enter_cluster", "ray", "runs", "s", "sessions", "ws"}
    assert {path.split("/")[1] for path in paths} | others == OWN_PATHS
    for path in OWN_PATHS:
        with pytest.raises(ValidationError, match="choose another path"):
            Settings(root_path=f"/{path}/rayscope")
    assert Settings(root_path="/").root_path == ""
    assert Settings(root_path="/tools/ray.scope-2/").root_path == "/tools/ray.scope-2"
