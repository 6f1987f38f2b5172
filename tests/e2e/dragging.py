"""Drags with the mouse across a chart."""

from __future__ import annotations

from playwright.sync_api import Locator, Page


def drag(page: Page, chart: Locator, begin: float, end: float) -> None:
    """Drag across a chart, between two shares of its width.

    Each step finds the chart where it is by then: a banner above it may come or go at any time.
    """
    box = chart.bounding_box()
    assert box is not None
    chart.hover(position={"x": box["width"] * begin, "y": 60})
    page.mouse.down()
    for share in ((begin + end) / 2, end):
        chart.hover(position={"x": box["width"] * share, "y": 90})
    page.mouse.up()
