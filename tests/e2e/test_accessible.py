"""Every page as axe-core sees it: no serious obstacle for any user."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.conftest import Recorded

pytestmark = [pytest.mark.ray, pytest.mark.e2e]

WEB = Path(__file__).parents[2] / "web"
AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
_TRAITS = (WEB / "src" / "base" / "url.ts").read_text().partition("const TRAITS = {")[2].partition("\n}")[0]
#: Every page of a session.
PAGES = re.findall(r"^  '?([a-z-]+)'?: \{", _TRAITS, re.MULTILINE)


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_no_page_has_a_serious_finding(recorded: Recorded, browser: Browser, theme: str) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    # Our own policy blocks foreign scripts.
    context = browser.new_context(
        bypass_csp=True, color_scheme=theme, viewport={"width": 1440, "height": 900}
    )
    page = context.new_page()
    found = []
    assert len(PAGES) > 20
    compare = f"compare?a={recorded.session}&b={recorded.session}"
    for name in ("", "runs", compare, *(f"s/{recorded.session}/{name}" for name in PAGES)):
        page.goto(f"{recorded.url}/{name}")
        page.wait_for_load_state("networkidle")
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        page.add_script_tag(path=AXE)
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += [
            (name, violation["id"], [node["target"] for node in violation["nodes"]])
            for violation in result["violations"]
            if violation["impact"] in ("serious", "critical")
        ]
    context.close()
    assert found == []
