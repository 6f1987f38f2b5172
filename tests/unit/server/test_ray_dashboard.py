"""The front end of Ray's dashboard is served below each session, and nothing else of Ray."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from tests.story import SESSION, Story

from rayscope.ray.frontend import find_frontend
from rayscope.server import ray_dashboard
from rayscope.server.runner import Server

TOKEN = "token-of-this-server-000000000000"


@pytest.fixture
def base(serve: Callable[..., Server]) -> str:
    """The address of a session on a server with a token and a root path."""
    server = serve(token=TOKEN, root_path="/rayscope")
    assert server.services is not None
    story = Story()
    story.task("work", 0, 1, 2)
    server.services.writer.submit_records(story.batch, "events")
    assert server.services.writer.flush()
    return f"{server.url}/ray/{SESSION}"


def get(url: str, **headers: str) -> httpx.Response:
    return httpx.get(url, headers={"Authorization": f"Bearer {TOKEN}", **headers})


def test_the_page_and_its_files_need_the_token(base: str) -> None:
    build = find_frontend()
    assert build is not None
    page = get(f"{base}/")
    assert page.text == (build / "index.html").read_text()
    assert "unsafe-eval" not in page.headers["content-security-policy"]
    assert get(base).headers["location"] == f"/rayscope/ray/{SESSION}/"
    assert get(f"{base}/favicon.ico").content == (build / "favicon.ico").read_bytes()
    (script,) = (build / "static/js").glob("main.*.js")
    file = get(f"{base}/static/js/{script.name}", **{"Accept-Encoding": "gzip"})
    assert file.content == script.read_bytes()
    assert "immutable" in file.headers["cache-control"]
    for path in ("/", f"/static/js/{script.name}"):
        assert httpx.get(base + path).status_code == 401


@pytest.mark.parametrize(
    "path",
    [
        "/static/../index.html",
        "/static/..%2findex.html",
        "/static/%2e%2e/%2e%2e/%2e%2e/head.py",
        "/static/js%2f..%2f..%2f..%2f..%2fhead.py",
        "/static//etc/passwd",
        "/static/%2Fetc%2Fpasswd",
        "/static/js",
        "/static/" + "x" * 5000,
        "/index.html",
        "/speedscope-1.5.3/index.html",
    ],
)
def test_other_files_are_refused(base: str, path: str) -> None:
    answer = get(base + path)
    assert answer.status_code == 404
    assert "<" not in answer.text


def test_addresses_of_kuberays_history_server_lead_there(base: str) -> None:
    server = base.removesuffix(f"/ray/{SESSION}")
    entered = httpx.get(f"{server}/enter_cluster/default/raycluster/{SESSION}")
    assert entered.headers["location"] == f"/rayscope/s/{SESSION}"
    hostile = httpx.get(f"{server}/enter_cluster/default/raycluster/%5Cevil.example%0D")
    assert hostile.headers["location"] == "/rayscope/s/%5Cevil.example%0D"
    assert httpx.get(f"{server}/enter_cluster/default/raycluster/live").headers["location"] == "/rayscope/"
    for path in (
        *("nodes?view=summary", "nodes/a", "events", "logical/actors", "logical/actors/a", "api/jobs/"),
        *("api/cluster_status", "api/grafana_health", "api/prometheus_health", "api/serve/applications/"),
        *("api/v0/placement_groups/", "api/v0/tasks", "api/v0/tasks/summarize", "api/v0/tasks/timeline"),
        *("api/v0/cluster_metadata", "api/data/datasets/01000000"),
    ):
        assert get(f"{base}/{path}").status_code == 200, path


@pytest.mark.parametrize("session", ["nowhere", "..%2f..", "%2e%2e", "x" * 5000])
@pytest.mark.parametrize("path", ["/", "/nodes?view=summary", "/logical/actors", "/timezone"])
def test_unknown_sessions_are_refused(base: str, session: str, path: str) -> None:
    answer = get(base.removesuffix(SESSION) + session + path)
    assert answer.status_code == 404


@pytest.mark.parametrize("language", ["en-US,en;q=0.9", "zh-CN,zh;q=0.9"])
def test_a_page_names_the_remedy_if_ray_is_missing(
    base: str, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setattr(ray_dashboard, "find_frontend", lambda: None)
    page = get(f"{base}/", **{"Accept-Language": language})
    assert page.status_code == 503
    assert 'pip install "ray[default]"' in page.text
    assert f'href="/rayscope/s/{SESSION}"' in page.text
    assert ("未安装" in page.text) == language.startswith("zh")
    assert get(f"{base}/favicon.ico").status_code == 404


def test_ray_is_not_imported_to_find_its_dashboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "ray"
    (package / "dashboard/client/build").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    assert find_frontend.__wrapped__() is None
    (package / "dashboard/client/build/index.html").write_text("page")
    assert find_frontend.__wrapped__() == package / "dashboard/client/build"
