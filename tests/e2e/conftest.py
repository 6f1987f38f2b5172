"""A real server, a real Ray job recorded by it, and Chromium."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from rayscope.cli.recording import child_env
from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.cluster import turn_to_start
from tests.waiting import TIMEOUT_S, wait_until

HERE = Path(__file__).parent
# A page of a busy machine may take as long to show a fact as to accept a click.
#: After this the page will not show it, ms. A page that is broken fails many tests, so less than TIMEOUT_S.
TIMEOUT_MS = 180_000.0
expect.set_options(timeout=TIMEOUT_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests that watch the running job before tests that wait for its end."""
    mine = [item for item in items if item.path.parent == HERE]
    mine.sort(key=lambda item: item.path.name != "test_ui.py")
    ours = iter(mine)
    items[:] = [next(ours) if item.path.parent == HERE else item for item in items]


@dataclass
class Recorded:
    """A server and the job that runs under it."""

    server: Server
    job: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return self.server.url

    @functools.cached_property
    def session(self) -> str:
        """The job's session, as it was when it was the only one on record."""
        items = wait_until(lambda: httpx.get(f"{self.url}/api/v1/sessions").json()["items"], "a session")
        return str(items[0]["session"])

    def go_on(self) -> None:
        """Make the job run its second half."""
        assert self.job.stdin is not None
        self.job.stdin.write("\n")
        self.job.stdin.flush()

    def finish(self) -> None:
        """Wait for the job, its last events included. Several tests may need its end."""
        if self.job.returncode is not None:
            return
        out, _ = self.job.communicate("\n", timeout=TIMEOUT_S)
        assert self.job.returncode == 0, out


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    server = Server(Settings(data_dir=tmp_path_factory.mktemp("data"), port=0))
    server.start()
    # Ray's sockets need a short path.
    ray_dir = tempfile.mkdtemp(prefix="rs-")
    job = None
    try:
        with turn_to_start():
            job = subprocess.Popen(
                [sys.executable, str(HERE / "workload.py"), ray_dir],
                env=child_env(server.ingest_url),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            recorded = Recorded(server, job)
            assert recorded.session
        yield recorded
    finally:
        if job is not None and job.poll() is None:
            job.terminate()
            job.wait(TIMEOUT_S)
        server.stop()
        shutil.rmtree(ray_dir, ignore_errors=True)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    # Half the CPU of the whole Chromium, which draws an invisible window.
    executable = shutil.which("chromium-headless-shell")
    assert executable, "chromium-headless-shell is missing: run `make system`"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=executable,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US")
    context.set_default_timeout(TIMEOUT_MS)
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))

    def console(message: Any) -> None:
        # A request that fails because the server is down or wants a token is what some tests provoke.
        provoked = ("Failed to load resource", "WebSocket connection to")
        if message.type == "error" and not any(text in message.text for text in provoked):
            problems.append(message.text)

    opened.on("console", console)
    yield opened
    context.close()
    assert not problems, problems


@pytest.fixture
def offline(browser: Browser) -> Iterator[Page]:
    """A page without a network, which no request leaves and no script fails."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US", offline=True)
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(("file:", "blob:", "data:")) else problems.append(request.url)
        ),
    )
    yield page
    context.close()
    assert not problems
