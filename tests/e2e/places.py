"""How a user reaches a view."""

from __future__ import annotations

from playwright.sync_api import FrameLocator, Page, expect

_TABS = {
    "tasks": ("tasks", "functions", "failures", "debugger"),
    "execution": ("gantt", "flame", "stack", "logical", "physical"),
    "cluster": ("nodes", "workers", "actors", "placement-groups"),
}


def open_view(page: Page | FrameLocator, view: str) -> None:
    """Open a view by the navigation and, in a place of several views, its tab."""
    place = next((place for place, tabs in _TABS.items() if view in tabs), view)
    page.get_by_test_id(f"nav-{place}").click()
    link = page.get_by_test_id(f"nav-{place}" if place not in _TABS else f"tab-{view}")
    link.click()
    expect(link).to_have_attribute("aria-current", "page")
