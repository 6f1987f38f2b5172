"""Every page, panel, menu and dialog as axe-core sees it: no obstacle for any user."""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Recorded

pytestmark = [pytest.mark.ray, pytest.mark.e2e]

WEB = Path(__file__).parents[2] / "web"
AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
_TRAITS = (WEB / "src" / "base" / "url.ts").read_text().partition("const TRAITS = {")[2].partition("\n}")[0]
#: Every page of a session.
PAGES = re.findall(r"^  '?([a-z-]+)'?: \{", _TRAITS, re.MULTILINE)


#: Panels, menus and dialogs: the page of a session, and the click or key that opens each.
SURFACES: dict[str, tuple[str, Callable[[Page], object]]] = {
    "task panel": ("tasks", lambda page: page.get_by_role("row").nth(2).click()),
    "actor panel": ("actors", lambda page: page.get_by_role("row").nth(1).click()),
    "worker panel": ("workers", lambda page: page.get_by_role("row").nth(1).click()),
    "node panel": ("nodes", lambda page: page.get_by_role("row").nth(1).click()),
    "event panel": ("events", lambda page: page.get_by_role("row").nth(1).click()),
    "share menu": ("tasks", lambda page: page.get_by_test_id("share").click()),
    "export menu": ("tasks", lambda page: page.get_by_test_id("export-menu").click()),
    "table menu": ("tasks", lambda page: page.get_by_test_id("table-menu").click()),
    "chart menu": ("metrics", lambda page: page.get_by_test_id("chart-menu").first.click()),
    "palette": ("tasks", lambda page: page.keyboard.press("Control+k")),
    "keys": ("tasks", lambda page: page.get_by_test_id("keys-button").click()),
    "notify": ("alerts", lambda page: page.get_by_test_id("alerts-notify").click()),
}
#: Open menus and dialogs are outside the page's landmarks, and the title of a dialog is a header.
_OF_POPUPS = {"region", "landmark-no-duplicate-banner", "landmark-unique"}


@pytest.mark.parametrize(
    ("theme", "language"), [("light", "en"), pytest.param("dark", "zh", marks=pytest.mark.long)]
)
def test_nothing_is_an_obstacle(recorded: Recorded, browser: Browser, theme: str, language: str) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    # Our own policy blocks foreign scripts.
    context = browser.new_context(
        bypass_csp=True, color_scheme=theme, viewport={"width": 1440, "height": 900}
    )
    page = context.new_page()
    found = []

    def check(what: str, ignored: Set[str] = frozenset()) -> None:
        page.add_script_tag(path=AXE)
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found.extend(
            (what, violation["id"], [node["target"] for node in violation["nodes"]])
            for violation in result["violations"]
            if violation["id"] not in ignored
        )

    def visit(path: str) -> None:
        page.goto(f"{recorded.url}/{path}{'&' if '?' in path else '?'}lang={language}")
        page.wait_for_load_state("networkidle")

    assert len(PAGES) > 20
    compare = f"compare?a={recorded.session}&b={recorded.session}"
    job = f"s/{recorded.session}/jobs/01000000"
    for path in ("", "runs", compare, job, *(f"s/{recorded.session}/{name}" for name in PAGES)):
        visit(path)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        check(path)
    for what, (name, act) in SURFACES.items():
        visit(f"s/{recorded.session}/{name}")
        act(page)
        # A panel is beside the page, so it must be in a landmark.
        is_popup = "panel" not in what
        opened = page.get_by_role("menu").or_(page.get_by_role("dialog"))
        surface = opened if is_popup else page.get_by_role("complementary").last
        expect(surface).to_be_visible()
        expect(surface).to_have_css("opacity", "1")  # while it fades in, its contrast is low
        page.wait_for_load_state("networkidle")
        check(what, _OF_POPUPS if is_popup else frozenset())
    context.close()
    assert found == []
