"""The Serve page of a live cluster in Chromium, and the page after Serve and the cluster have ended."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from playwright.sync_api import Page, expect

from tests.conftest import sql_rows
from tests.serving import FAILS, REQUESTS, Serving

pytestmark = [pytest.mark.ray, pytest.mark.e2e]


def test_serve_page(serving: Serving, page: Page) -> None:
    page.goto(f"{serving.url}/s/{serving.session}/overview?lang=en")
    page.get_by_test_id("nav-serve").click()
    expect(page.get_by_test_id("application")).to_have_count(3)
    page.get_by_test_id("applications").get_by_text("broken", exact=True).click()
    expect(page.get_by_test_id("application-name")).to_have_text("broken")
    expect(page.get_by_test_id("deployment")).to_contain_text("RuntimeError: no such model")
    expect(page.get_by_test_id("no-requests")).to_have_text("No requests in this time range.")
    expect(page.get_by_test_id("chart")).to_have_count(0)

    page.get_by_test_id("applications").get_by_text("shop", exact=True).click()
    cards = page.get_by_test_id("deployment")
    expect(cards).to_have_count(2)
    expect(cards.filter(has_text="Front")).to_contain_text("Running replicas: 1 of 1")
    expect(page.get_by_test_id("card-link")).to_have_count(1)
    expect(page.get_by_test_id("call-errors")).to_have_text(f"{100 // FAILS}% failed")
    _slow_request(page, serving)
    latency = page.locator("[data-title='Latency, p95']")
    latency.scroll_into_view_if_needed()
    expect(latency).to_contain_text("Model")
    page.get_by_test_id("autoscaler").scroll_into_view_if_needed()
    expect(page.get_by_test_id("autoscaler")).to_contain_text("Desired")
    dead = page.get_by_test_id("replica").filter(has_text="worker process has died")
    expect(dead.first).to_contain_text("Stopped")
    expect(page.get_by_test_id("controller")).to_contain_text("loops_per_second")
    page.get_by_test_id("serve-config").locator("summary", has_text="Model").click()
    expect(page.get_by_test_id("serve-config")).to_contain_text("max_replicas")
    running = page.get_by_test_id("replica").filter(has_text="Front")
    running.get_by_text("Log", exact=True).click()
    expect(page).to_have_url(re.compile("/logs.*file=serve%2Freplica_shop_Front"))

    serving.finish()
    _check_failures(serving)
    page.goto(f"{serving.url}/s/{serving.session}/serve?item=shop&lang=en")
    expect(page.get_by_test_id("application").filter(has_text="shop")).to_contain_text("Deleted")
    expect(page.get_by_test_id("card-link")).to_have_count(1)
    expect(page.get_by_test_id("call-errors")).to_have_text(f"{100 // FAILS}% failed")
    _slow_request(page, serving)
    latency.scroll_into_view_if_needed()
    expect(latency).to_contain_text("Model")

    page.get_by_test_id("applications").get_by_text("library", exact=True).click()
    for title, line in (("Batches per second", "Library.answer"), ("Loaded models", "Library")):
        chart = page.locator(f"[data-title='{title}']")
        chart.scroll_into_view_if_needed()
        expect(chart).to_contain_text(line)
    expect(page.get_by_test_id("route-charts")).to_have_count(0)

    page.get_by_test_id("applications").get_by_text("shop", exact=True).click()
    states = page.get_by_test_id("replica")
    expect(states.filter(has_text="Stopped")).to_have_count(
        len(serving.get("/api/v1/serve/shop")["replicas"])
    )
    expect(page.get_by_test_id("proxy")).to_contain_text("Stopped")
    rows = sql_rows(serving.url, "SELECT DISTINCT state FROM serve_replicas", serving.session)
    assert rows == [{"state": "STOPPED"}]


def _check_failures(serving: Serving) -> None:
    """Check that the failures are those of the program.

    Calls that Serve cancelled, or stopped at its end, are counted separately.
    """
    failures = serving.get("/api/v1/failures", limit=200)
    failed: Counter[tuple[str, str]] = Counter()
    for group in failures["items"]:
        failed[group["operator"], group["message"].partition(":")[0]] += group["attempts"]
    # The record says how many attempts Ray never defined.
    undefined = serving.get("/api/v1/summary")["dropped"]["unresolved_attempts"]
    for deployment in ("Serve: shop/Front", "Serve: shop/Model"):
        assert 0 <= REQUESTS // FAILS - failed[deployment, "ValueError"] <= undefined, failed
    assert failed["Serve: broken/Broken", "RuntimeError"] == 3
    # The rest belongs to the replica that died, and to Serve's bookkeeping about it.
    assert sum(failed.values()) - 2 * REQUESTS // FAILS - 3 < 20, failed
    states = serving.get("/api/v1/tasks", state="FAILED")["total"]
    assert sum(failed.values()) + failures["stopped_by_libraries"] == states
    graph = serving.get("/api/v1/flow/logical", only="mine")
    operators = {node["name"] for node in graph["nodes"] if node["kind"] == "library"}
    applications = {
        "Serve: shop/Front",
        "Serve: shop/Model",
        "Serve: library/Library",
        "Serve: broken/Broken",
    }
    assert operators == {*applications, "Serve: internals"}


def _slow_request(page: Page, serving: Serving) -> None:
    """One of those that took Model a second: its parts in the row, and its steps below it once it is opened."""
    # (On a busy machine others may have taken longer, and pushed some of them out.)
    listed_ids = {one["request_id"] for one in serving.get("/api/v1/serve-requests/shop")["items"]}
    request_id = next(one["request_id"] for one in serving.slow if one["request_id"] in listed_ids)
    request = page.get_by_test_id("slow-request").filter(has_text=request_id[:8])
    expect(request).to_contain_text("GET /shop")
    expect(request).to_contain_text("Front, Model")
    expect(page.get_by_test_id("mostly-spent")).to_contain_text(re.compile(r"(Front|Model) \(\d+%\)"))
    expect(request.get_by_test_id("request-parts")).to_have_attribute(
        "aria-label", re.compile(r"Queue: .*\nReplica: .*\nDownstream: 1\.\d+ s", re.S)
    )
    request.get_by_role("button").first.click()
    steps = page.get_by_test_id("request-step")
    expect(steps).to_have_count(3)
    expect(steps.first).to_contain_text("Proxy")
    expect(steps.nth(1)).to_contain_text("Front")
    expect(steps.last).to_contain_text("Model")
    expect(steps.nth(1).get_by_text("Log", exact=True)).to_have_attribute(
        "href", re.compile("file=serve%2Freplica_shop_Front")
    )
