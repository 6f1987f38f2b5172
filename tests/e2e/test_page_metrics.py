"""The page of metrics in Chromium: charts of one range and one crosshair, the explorer, and dashboards."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from rayscope.ingest import clusters
from rayscope.model.metric import Family, sample
from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.e2e.dragging import drag
from tests.story import SESSION, Story

pytestmark = [pytest.mark.e2e]

_STEP_NS = 5 * 10**9
_SAMPLES = 120


class Measured:
    """A server with a live session and ten minutes of metrics.

    Node ``k`` of three uses 10 k to 10 k + 4 percent of its CPU; 25 queues have a length each.
    """

    def __init__(self, folder: Path) -> None:
        self.server = Server(Settings(data_dir=folder, port=0))
        self.server.start()
        services: Any = self.server.services
        self.services = services
        story = Story()
        story.task("load", 0, 1, 5)
        services.writer.submit_records(story.batch, "events")
        assert services.writer.flush()
        self.end_ns = time.time_ns() // _STEP_NS * _STEP_NS
        for number in range(_SAMPLES):
            self.append_samples(self.end_ns - (_SAMPLES - 1 - number) * _STEP_NS, number % 5)

    def append_samples(self, time_ns: int, more: float) -> None:
        """A sample of each series."""
        cpu = [
            sample("ray_node_cpu_utilization", 10 * k + more, node_id=str(k) * 56, node_ip=f"10.0.0.{k}")
            for k in (1, 2, 3)
        ]
        queues = [sample("my_queue", float(n), queue=f"q{n}") for n in range(25)]
        families = [Family("ray_node_cpu_utilization", "gauge", "CPU of a node", "percent")]
        self.services.metrics.store(SESSION).append(time_ns, [*cpu, *queues], families=families)

    def url(self, more: str = "") -> str:
        """The page with a range of time that stays."""
        fixed = f"since_ns={self.end_ns - 590 * 10**9}&until_ns={self.end_ns}"
        return f"{self.server.url}/s/{SESSION}/metrics?{fixed}&{more}"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clusters, "LIVE_NS", 3600 * 10**9)  # the session lives however slow the machine is
        made = Measured(tmp_path_factory.mktemp("data"))
        yield made
        made.server.stop()


def _chart(page: Page, title: str) -> Locator:
    return page.locator(f'[data-testid=chart][data-title="{title}"]')


def _act(page: Page, token: str) -> None:
    """Confirm, with the operator's token where this tab does not know it."""
    act = page.get_by_test_id("act")
    expect(act).to_be_visible()
    field = page.locator("input[type=password]")
    if field.count() > 0:
        field.fill(token)
    page.get_by_test_id("act-confirm").click()
    expect(act).to_have_count(0)


def test_charts_have_one_range_and_one_crosshair(measured: Measured, page: Page) -> None:
    page.goto(measured.url())
    cpu = _chart(page, "CPU utilization")
    expect(cpu.locator("canvas")).to_be_visible()
    expect(cpu.get_by_test_id("legend-line")).to_have_count(4)
    expect(_chart(page, "Memory used").get_by_test_id("chart-empty")).to_be_visible()
    expect(_chart(page, "GPU utilization")).to_have_count(0)

    # The table shows the measured values.
    cpu.get_by_test_id("chart-table-toggle").click()
    for place, name in ((0, "average"), (2, "10.0.0.2")):
        row = cpu.get_by_test_id("chart-table").locator("tbody tr").nth(place)
        expect(row.locator("th")).to_contain_text(name)
        expect(row.locator("td")).to_have_text([re.compile("2.%"), "20%", "22%", "24%"])
    cpu.get_by_test_id("chart-table-toggle").click()

    cpu.get_by_test_id("legend-line").nth(2).click()
    expect(cpu.locator("[data-testid=legend-line][data-off]")).to_have_count(3)
    cpu.get_by_test_id("legend-line").nth(2).click()
    expect(cpu.locator("[data-testid=legend-line][data-off]")).to_have_count(0)

    page.goto(measured.url("board=explore&expr=ray_node_cpu_utilization"))
    chart = page.get_by_test_id("chart").first
    plot = chart.locator(".u-over")
    drag(page, plot, 1 / 4, 1 / 2)
    page.wait_for_url(lambda url: f"until_ns={measured.end_ns}" not in url)
    found = re.search(r"since_ns=(\d+)&until_ns=(\d+)", page.url)
    assert found is not None
    assert 100e9 < int(found[2]) - int(found[1]) < 200e9
    expect(page.get_by_test_id("range-text")).to_be_visible()
    plot.dblclick()
    page.wait_for_url(lambda url: "since_ns=" not in url)
    expect(page.get_by_test_id("range-picker")).to_have_attribute("data-live", "true")

    # Live: a new value appears by itself (the legend shows the value at the crosshair while there is one).
    page.mouse.move(0, 0)
    measured.append_samples(time.time_ns(), 60)
    expect(chart.get_by_test_id("legend-line").first).to_contain_text("70%")
    page.get_by_test_id("board-node").click()
    expect(_chart(page, "CPU utilization").get_by_test_id("legend-line")).to_contain_text("10.0.0.1")
    expect(page.get_by_test_id("board-variable")).to_have_value("11111111…")


def test_a_crosshair_is_that_of_all_charts(measured: Measured, page: Page) -> None:
    (Path(measured.server.settings.folder) / "dashboards").mkdir(exist_ok=True)
    charts = [{"title": title, "queries": [{"expr": "my_queue"}]} for title in ("One", "Other")]
    path = Path(measured.server.settings.folder) / "dashboards" / "two.json"
    path.write_text(json.dumps({"title": "Two", "charts": charts}))
    page.goto(measured.url("board=d.two"))
    one, other = (_chart(page, title).locator(".u-cursor-x") for title in ("One", "Other"))
    _chart(page, "One").locator(".u-over").hover(position={"x": 120, "y": 40})
    expect(one).to_have_css("transform", "matrix(1, 0, 0, 1, 120, 0)")
    expect(other).to_have_css("transform", "matrix(1, 0, 0, 1, 120, 0)")
    path.unlink()


def test_any_expression_is_drawn_or_its_error_shown(measured: Measured, page: Page) -> None:
    page.goto(measured.url("board=explore"))
    page.get_by_test_id("metric-name").fill("my_que")
    page.get_by_role("option", name="my_queue").click()
    expect(page.get_by_test_id("expr")).to_have_text("my_queue")
    # Never thousands of lines: those with the greatest mean, and how many there are.
    expect(page.get_by_test_id("chart-left-out")).to_have_text("20 of 25")
    expect(page.get_by_test_id("legend-line")).to_have_count(20)
    page.get_by_role("button", name="queue · 25").click()
    expect(page).to_have_url(re.compile(r"expr=sum"))

    expect(page.get_by_test_id("expr")).to_have_text(re.compile("^sum"))
    # Enter would take a completion, if one is open by then.
    page.get_by_test_id("expr").fill("sum(my_queue")
    page.get_by_test_id("expr-run").click()
    expect(page.get_by_test_id("expr-error")).to_be_visible()
    page.get_by_test_id("expr").fill("sum(my_queue)")
    page.get_by_test_id("expr-run").click()
    expect(page.get_by_test_id("expr-error")).to_have_count(0)
    expect(page.get_by_test_id("legend-line")).to_contain_text("300")


def test_queries_are_completed_share_a_chart_and_are_shared_by_a_link(measured: Measured, page: Page) -> None:
    page.goto(measured.url("board=explore"))
    page.get_by_test_id("expr").press_sequentially('my_queue{queue="q2')
    page.get_by_role("option", name="q24").click()
    page.get_by_test_id("expr-more").click()
    page.get_by_test_id("expr").nth(1).press_sequentially("max(my_queue)")
    page.get_by_test_id("expr-run").click()
    expect(page.get_by_test_id("legend-line")).to_have_text([re.compile("^my_queue.*24"), re.compile("24")])

    # The link has both; what is wrong with one leaves the other.
    page.goto(page.url)
    expect(page.get_by_test_id("expr")).to_have_text(['my_queue{queue="q24"}', "max(my_queue)"])
    page.get_by_test_id("expr").nth(1).fill("max(my_queue")
    page.get_by_test_id("expr-run").click()
    expect(page.get_by_test_id("expr-error")).to_contain_text("at character 4")
    expect(page.get_by_test_id("legend-line")).to_have_count(1)
    page.get_by_test_id("expr-remove").nth(1).click()
    expect(page.get_by_test_id("expr")).to_have_count(1)

    page.get_by_text("At one moment").click()
    expect(page.get_by_test_id("instant")).to_contain_text("q24")


def test_a_dashboard_from_the_first_chart_to_its_end(measured: Measured, page: Page) -> None:
    page.goto(measured.url("board=dashboards"))
    page.get_by_test_id("dashboard-new").click()
    page.get_by_test_id("board-title").fill("My queues")
    page.get_by_test_id("chart-title").fill("All of them")
    page.get_by_test_id("chart-expr").fill("sum(my_queue)")
    page.get_by_test_id("board-add-chart").click()
    page.get_by_test_id("chart-title").nth(1).fill("One")
    page.get_by_test_id("board-save").click()
    expect(page.get_by_role("alert")).to_contain_text("needs an expression")
    page.get_by_test_id("chart-expr").nth(1).fill('my_queue{queue="q7"}')
    page.get_by_test_id("board-save").click()
    _act(page, measured.services.secrets.operator_token)
    board = page.get_by_test_id("dashboard")
    expect(board).to_have_attribute("data-name", "my-queues")
    expect(_chart(page, "One").get_by_test_id("legend-line")).to_contain_text("7")
    kept = Path(measured.server.settings.folder) / "dashboards" / "my-queues.json"
    assert [chart["title"] for chart in json.loads(kept.read_text())["charts"]] == ["All of them", "One"]

    page.get_by_test_id("dashboard-edit").click()
    page.get_by_test_id("chart-up").nth(1).click()
    page.get_by_test_id("board-save").click()
    _act(page, measured.services.secrets.operator_token)
    expect(page.get_by_test_id("chart").first).to_have_attribute("data-title", "One")

    page.goto(measured.url("board=dashboards&lang=zh"))
    page.get_by_test_id("dashboard-card").click()
    page.get_by_test_id("dashboard-delete").click()
    _act(page, measured.services.secrets.operator_token)
    expect(page.get_by_test_id("dashboards")).to_contain_text("还没有仪表板")
    assert not kept.exists()


@pytest.mark.long
def test_no_page_polls_what_is_pushed(measured: Measured, page: Page) -> None:
    for view in ("overview", "metrics"):
        with page.expect_websocket():
            page.goto(f"{measured.server.url}/s/{SESSION}/{view}")
        asked: list[str] = []
        page.on("request", lambda request, asked=asked: asked.append(urlsplit(request.url).path))
        for _ in range(4):  # 2 s apart; the state of the cluster would be asked for every 5 s
            with page.expect_request(lambda request: urlsplit(request.url).path == "/api/v1/summary"):
                pass
        assert not {"/api/v1/cluster", "/api/v1/metrics"} & set(asked)
