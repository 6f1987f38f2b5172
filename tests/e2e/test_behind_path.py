"""Chromium in front of a real nginx, which serves Rayscope below a path."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from rayscope.client import Client
from rayscope.server.runner import Server
from tests.cluster import free_port
from tests.e2e.test_accessible import PAGES
from tests.waiting import wait_until

pytestmark = pytest.mark.e2e

TOKEN = "a-long-token-of-the-tests"
GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "proxy.md"
#: Debian keeps nginx where only root looks.
NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
CONFIG = """
daemon off;
master_process off;
pid {folder}/pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        {location}
    }}
}}
"""


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    return serve(root_path="/rayscope", allowed_hosts="ray.example", token=TOKEN)


@pytest.fixture
def url(server: Server, tmp_path: Path) -> Iterator[str]:
    """The address of the server behind nginx, with the location that the guide shows."""
    assert NGINX, "nginx is missing: run `make system`"
    location = re.search(r"```nginx\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert location
    shown, ours = "http://127.0.0.1:8700", server.url.removesuffix("/rayscope")
    assert shown in location[1]
    port = free_port()
    config = tmp_path / "nginx.conf"
    config.write_text(CONFIG.format(folder=tmp_path, port=port, location=location[1].replace(shown, ours)))
    log = tmp_path / "error.log"
    nginx = subprocess.Popen([NGINX, "-p", tmp_path, "-c", config, "-e", log])
    try:
        wait_until(lambda: nginx.poll() is not None or (tmp_path / "pid").exists(), "nginx")
        assert nginx.poll() is None, log.read_text()
        yield f"http://127.0.0.1:{port}/rayscope"
    finally:
        nginx.terminate()
        nginx.wait()


@pytest.mark.long
def test_every_page_below_a_path(
    server: Server, url: str, page: Page, bodies: list[bytes], make_batches: Callable[[int], list[bytes]]
) -> None:
    requests: list[str] = []
    failed: list[tuple[int, str]] = []
    pushed: list[str] = []
    links: set[str] = set()
    page.goto(url)
    page.get_by_test_id("login-token").fill(TOKEN)
    page.get_by_test_id("login-submit").click()
    expect(page.get_by_test_id("login")).to_have_count(0)
    page.context.on("request", lambda request: requests.append(request.url))
    page.context.on(
        "response", lambda got: failed.append((got.status, got.url)) if got.status >= 400 else None
    )
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: pushed.append(socket.url)))
    ingest_url = url + server.ingest_url.removeprefix(server.url)
    for body in bodies:
        httpx.post(ingest_url, content=body).raise_for_status()
    assert server.services is not None
    assert server.services.writer.flush()

    page.goto(f"{url}/")
    page.get_by_test_id("session-row").first.click()
    expect(page).to_have_url(re.compile(f"^{url}/s/session_.*/overview"))
    count = page.get_by_test_id("nav-tasks")
    expect(count).to_contain_text(re.compile(r"\d"))
    before = count.inner_text()
    httpx.post(ingest_url, content=make_batches(5)[0]).raise_for_status()
    expect(count).not_to_have_text(before)
    assert set(pushed) == {f"{url.replace('http', 'ws')}/ws/realtime"}

    session = page.url.partition("/s/")[2].partition("/")[0]
    for name in PAGES:
        page.goto(f"{url}/s/{session}/{name}")
        page.wait_for_load_state("networkidle")
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        links |= set(page.eval_on_selector_all("a[href]", "links => links.map(link => link.href)"))
    page.get_by_test_id("export-menu").click()
    with page.expect_download() as exported:
        page.get_by_test_id("export-perfetto").click()
    assert Path(exported.value.path()).stat().st_size > 1000

    with page.expect_popup() as opened:
        page.get_by_label("Documentation").first.click()
    docs = opened.value
    docs.get_by_role("link", name="Documentation").click()
    docs.get_by_role("link", name="a proxy").click()
    expect(docs).to_have_url(f"{url}/docs/how-to/proxy.md")
    docs.get_by_role("link", name="简体中文").click()
    expect(docs).to_have_url(f"{url}/docs/zh/how-to/proxy.md")
    docs.get_by_role("link", name="Rayscope", exact=True).click()
    expect(docs).to_have_url(f"{url}/")
    docs.get_by_test_id("session-row").first.wait_for()

    assert failed == []
    assert len(links) > 50
    assert [link for link in (*requests, *links) if not link.startswith((f"{url}/", "data:"))] == []


def test_the_api_below_a_path(url: str) -> None:
    assert list(Client(url, TOKEN).sessions()) == []
    moved = httpx.get(f"{url}/api/nodes", headers={"Authorization": f"Bearer {TOKEN}"}, follow_redirects=True)
    assert (moved.status_code, moved.url) == (404, f"{url}/api/v1/nodes")  # nothing is on record
    for host, status in (("ray.example", 200), ("other.example", 403)):
        assert httpx.get(f"{url}/api/health", headers={"Host": host}).status_code == status
