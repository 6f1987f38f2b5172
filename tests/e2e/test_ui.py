"""Chromium against a real server that records a real Ray job."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, Response, Route, expect

from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.e2e.conftest import Recorded
from tests.waiting import wait_until

pytestmark = [pytest.mark.ray, pytest.mark.e2e]


def _count(page: Page) -> int:
    """The total that the table shows."""
    text = page.get_by_test_id("table-count").first.inner_text()
    return int(re.findall(r"[\d,]+", text)[-1].replace(",", ""))


def test_a_live_job_is_watched(recorded: Recorded, page: Page) -> None:
    page.goto(recorded.url)
    row = page.get_by_test_id("session-row").first
    row.wait_for()
    row.click()
    expect(page).to_have_url(re.compile(r"/s/session_.*/overview"))
    page.get_by_test_id("nav-tasks").click()
    page.get_by_test_id("task-row").first.wait_for()
    expect(page.get_by_test_id("connection-state")).to_contain_text("Connected")
    first = _count(page)
    recorded.go_on()
    # Without a reload the table follows the job.
    page.wait_for_function(
        "before => Number([...document.querySelector('[data-testid=table-count]').innerText"
        ".matchAll(/[\\d,]+/g)].pop()[0].replaceAll(',', '')) > before",
        arg=first,
    )
    recorded.finish()
    expect(page.get_by_test_id("state-chip-FAILED")).to_contain_text("6")


def test_the_counts_of_the_page_equal_the_tasks_that_ran(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    page.goto(f"{recorded.url}/s/{recorded.session}")
    page.get_by_test_id("task-row").first.wait_for()
    # 10 branches with 3 leaves, 6 waves of 60 leaves, 6 adds, 6 steps, 6 failures, one actor.
    assert _count(page) == 10 + 30 + 360 + 6 + 6 + 6 + 1
    expect(page.get_by_test_id("state-chip-FINISHED")).to_contain_text("413")


def test_why_is_my_job_slow_takes_two_clicks(recorded: Recorded, page: Page) -> None:
    page.goto(f"{recorded.url}/s/{recorded.session}")
    page.get_by_test_id("tab-functions").click()
    slowest = page.get_by_test_id("function-table").get_by_role("row").filter(has_text="slow_step")
    expect(slowest).to_contain_text("6")
    expect(page.get_by_test_id("functions-weight")).to_contain_text("critical path of")
    slowest.click()
    expect(page).to_have_url(re.compile("func_name=slow_step"))
    page.get_by_test_id("task-row").first.wait_for()
    expect(page.get_by_test_id("table-count").first).to_contain_text("6")
    assert _count(page) == 6


def test_a_failure_is_explained(recorded: Recorded, page: Page) -> None:
    page.goto(f"{recorded.url}/s/{recorded.session}")
    page.get_by_test_id("state-chip-FAILED").click()
    expect(page).to_have_url(re.compile("state=FAILED"))
    page.get_by_test_id("task-row").first.click()
    drawer = page.get_by_test_id("task-drawer")
    expect(drawer).to_contain_text("broken")
    error = page.get_by_test_id("task-error")
    expect(error).to_contain_text('has no <title> & no "body"')
    expect(page).to_have_url(re.compile("task=[0-9a-f]{48}"))
    # The link alone shows the same to a colleague.
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    expect(page.get_by_test_id("task-error")).to_contain_text("ValueError")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("task-drawer")).to_have_count(0)


def test_family_is_linked(recorded: Recorded, page: Page) -> None:
    session = recorded.session
    page.goto(f"{recorded.url}/s/{session}?func_name=branch")
    page.get_by_test_id("task-row").first.click()
    children = page.get_by_test_id("task-children")
    expect(children).to_contain_text("leaf")
    children.get_by_text("leaf").first.click()
    expect(page.get_by_test_id("call-path")).to_contain_text("branch")
    expect(page.get_by_test_id("task-parent")).to_contain_text("branch")
    # An id links to its entity.
    page.get_by_test_id("task-drawer").get_by_role("link", name="Open:").nth(1).click()
    expect(page).to_have_url(re.compile("/nodes"))
    expect(page.get_by_test_id("item-drawer")).to_contain_text(re.compile("Alive|Dead"))


def test_a_task_shows_its_waits_and_moved_objects(recorded: Recorded, page: Page) -> None:
    session = recorded.session
    page.goto(f"{recorded.url}/s/{session}?func_name=branch")
    page.get_by_test_id("task-row").first.click()
    blocked = page.get_by_test_id("task-scheduling").locator("[data-phase=blocked]")
    expect(blocked).to_contain_text(re.compile(r"Blocked\s*[\d.]+ (µs|ms|s)"))
    expect(page.get_by_test_id("task-annotations")).to_contain_text(re.compile("note\\s*(odd|even)"))
    data = page.get_by_test_id("task-data-in")
    expect(data.get_by_text("leaf")).to_have_count(3)
    expect(data).to_contain_text("ray.get")
    expect(data).to_contain_text(re.compile(r"\d (B|KiB)"))
    # From a waiting task to the one it waits for, and on to the tasks that got its value.
    page.get_by_test_id("task-waits").get_by_role("link", name="leaf").first.click()
    expect(page.get_by_test_id("call-path")).to_contain_text("leaf")
    expect(page.get_by_test_id("task-data-out")).to_contain_text("branch")
    page.goto(f"{recorded.url}/s/{session}/functions?lang=zh")
    row = page.get_by_test_id("function-table").get_by_role("row").filter(has_text="branch")
    expect(row).to_be_visible()
    expect(page.get_by_test_id("function-table")).to_contain_text("阻塞")


def test_the_driver_shows_its_hottest_lines(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    page.goto(f"{recorded.url}/s/{recorded.session}/tasks?task={'f' * 40}01000000&lang=en")
    lines = page.get_by_test_id("task-lines")
    expect(lines).to_contain_text(re.compile(r"\d+ samples at 1 Hz"))
    expect(lines.get_by_test_id("hot-line").first).to_contain_text(re.compile(r"workload\.py:\d+"))


def test_the_slowest_task_is_three_clicks_away(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    page.goto(recorded.url)
    page.locator(f"[data-testid=session-row][data-key='{recorded.session}']").click()
    # Why it took so long is on the page that opens: no click at all.
    cause = page.locator("[data-testid=why-part] [data-phase=executing]").filter(
        has_text=re.compile("^[a-z]")
    )
    # Until the end of the job is known, the path so far is shown; it may have only the driver and waiting.
    expect(cause.first).to_be_visible()
    name = cause.first.inner_text()
    cause.first.click()
    expect(page).to_have_url(re.compile(r"func_name=.+&sort=-duration_ns"))
    page.get_by_test_id("task-row").first.click()
    expect(page.get_by_test_id("task-drawer")).to_contain_text(name)


def test_failures_show_the_line_that_matters(recorded: Recorded, page: Page) -> None:
    page.goto(f"{recorded.url}/s/{recorded.session}/failures")
    group = page.locator("[data-testid=failure-row][data-kind='group final']").first
    group.wait_for()
    message = group.locator("[data-column=error_message]")
    expect(message).to_have_text(re.compile("^ValueError: page # has no <title>"))
    assert "ValueError: page " in (message.locator("[title]").get_attribute("title") or "")
    group.click()
    attempt = page.locator("[data-testid=failure-row][data-kind='attempt final']").first
    message = attempt.locator("[data-column=error_message]")
    expect(message).to_have_text(re.compile(r"^ValueError: page \d has no <title>"))
    attempt.click()
    expect(page.get_by_test_id("task-error")).to_contain_text("User exception")
    # A task that the driver submitted says so, in the reader's language.
    expect(page.get_by_test_id("call-path")).to_contain_text("Driver")
    page.get_by_test_id("task-parent").click()
    expect(page.get_by_test_id("task-drawer").get_by_role("heading", level=2)).to_have_text("Driver")
    page.goto(f"{recorded.url}/s/{recorded.session}/failures?outcome=recovered")
    page.get_by_text("No matches for these filters").wait_for()
    page.goto(f"{recorded.url}/s/{recorded.session}/failures?func_name=broken")
    group.wait_for()


def test_keys_move_a_row_that_stays_in_sight(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    page.goto(f"{recorded.url}/s/{recorded.session}")
    # By the name of the session once it is known, and by its ID before.
    expect(page).to_have_title(re.compile(r"^Tasks · (workload\.py|session_.*) · Rayscope$"))
    page.get_by_test_id("task-row").first.wait_for()
    for _ in range(60):
        page.keyboard.press("j")
    chosen = page.locator("[data-testid=task-row][aria-selected=true]")
    expect(chosen).to_be_in_viewport(ratio=0.95)
    expect(chosen).to_have_attribute("aria-rowindex", "60")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("task-drawer")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("task-drawer")).to_have_count(0)


def test_lost_spans_are_no_alarm(recorded: Recorded, page: Page) -> None:
    known = {"event_type": "", "first_ns": None, "last_ns": None}
    spans = {"source": "gcs", "reason": "profile_events_dropped", "count": 12_345, **known}
    lost: dict[str, object] = {"spans": 12_345, "by": [spans]}

    def answer(route: Route) -> None:
        summary = route.fetch().json()
        route.fulfill(json={**summary, "dropped": {**summary["dropped"], **lost}})

    page.route("**/api/v1/summary*", answer)
    page.goto(f"{recorded.url}/s/{recorded.session}")
    expect(page.get_by_test_id("banner-spans")).to_contain_text("12,345")
    expect(page.get_by_test_id("banner-dropped")).to_have_count(0)
    queue = {"source": "agent", "reason": "queue_dropped_events", "count": 7, **known}
    lost.update(total=7, by=[queue])
    expect(page.get_by_test_id("banner-dropped")).to_contain_text("7 task reports were dropped")


def test_reports_of_agents_are_shown(tmp_path: Path, page: Page) -> None:
    """Two nodes of a session that only their agents speak of: one fast and out of room, one on JSON."""
    session, second = "session_2026-01-01_00-00-00_000000_1", 10**9
    midnight = 1_767_225_600 * second  # in UTC
    server = Server(Settings(data_dir=tmp_path, port=0))
    server.start()
    lost = {"event_type": "TASK_LIFECYCLE_EVENT", "count": 1234}
    reports = [
        {
            "lane": "fast",
            "lost": [lost | {"first_ns": midnight + 61 * second, "last_ns": midnight + 125 * second}],
        },
        {"lane": "json", "reason": "Ray 9.9's AggregatorAgent works in another way than those known"},
    ]
    for number, report in enumerate(reports, start=10):
        payload = {
            "session": session,
            "node_id": f"{number}" * 28,
            "pid": number,
            "time_ns": midnight,
            **report,
        }
        httpx.post(server.ingest_url.replace("/ray-events", "/agent"), json=payload).raise_for_status()
    page.goto(f"{server.url}/s/{session}?lang=en")
    lanes = page.get_by_test_id("banner-lanes")
    expect(lanes).to_contain_text("1 of 2 nodes sends events as JSON")
    lanes.get_by_role("button").click()
    expect(lanes).to_contain_text("Ray 9.9's AggregatorAgent works in another way")
    dropped = page.get_by_test_id("banner-dropped")
    expect(dropped).to_contain_text("1,234 task reports were dropped before reaching Rayscope.")
    expect(dropped).to_contain_text("The counts on this page do not include them.")
    dropped.get_by_role("button").click()
    expect(dropped).to_contain_text("TASK_LIFECYCLE_EVENT")
    expect(dropped).to_contain_text(re.compile(r"\d\d:01:01\.000 – \d\d:02:05\.000"))
    page.goto(f"{server.url}/s/{session}?lang=zh")
    expect(page.get_by_test_id("banner-lanes")).to_contain_text("2 个节点中有 1 个")
    server.stop()


def test_a_node_shows_how_its_events_arrive(recorded: Recorded, page: Page) -> None:
    page.goto(f"{recorded.url}/s/{recorded.session}/nodes?lang=en")
    row = page.get_by_test_id("nodes-row").first
    expect(row).to_contain_text("Fast lane")
    row.click()
    page.get_by_test_id("node-tab-about").click()
    expect(page.get_by_test_id("item-drawer")).to_contain_text("Event transport")
    page.unroute_all(behavior="ignoreErrors")


def test_a_session_that_is_not_there(recorded: Recorded, page: Page) -> None:
    page.goto(f"{recorded.url}/s/nonsense")
    error = page.get_by_test_id("error-panel")
    expect(error).to_contain_text("Session not found")
    error.get_by_role("link").click()
    expect(page.get_by_test_id("session-row").first).to_be_visible()


def test_search_sort_and_deep_link(recorded: Recorded, page: Page) -> None:
    page.goto(f"{recorded.url}/s/{recorded.session}")
    page.get_by_test_id("task-row").first.wait_for()
    page.keyboard.press("/")
    page.keyboard.type("counter")
    expect(page).to_have_url(re.compile("q=counter"))
    expect(page.get_by_test_id("table-count").first).to_contain_text("7")
    assert _count(page) == 7  # 6 adds and the creation
    question = {"session": recorded.session, "limit": 1000}
    tasks = httpx.get(f"{recorded.url}/api/v1/tasks", params=question).json()["items"]
    ended = sorted((task for task in tasks if task["end_ns"]), key=lambda task: task["duration_ns"])
    for sort, expected in (("-duration_ns", ended[::-1]), ("duration_ns", ended)):
        page.goto(f"{recorded.url}/s/{recorded.session}?sort={sort}")
        expect(page.get_by_test_id("task-row").first).to_contain_text(expected[0]["func_name"])


def test_a_table_is_copied_and_downloaded(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{recorded.url}/s/{recorded.session}?q=counter&sort=name")
    rows = page.get_by_test_id("task-row")
    rows.first.hover()
    rows.first.get_by_test_id("row-menu").click()
    page.get_by_text("Copy as JSON").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert "Counter" in copied["func_name"]
    page.get_by_test_id("table-menu").click()
    with page.expect_download() as saved:
        page.get_by_test_id("table-csv").click()
    lines = list(csv.DictReader(saved.value.path().read_text(encoding="utf-8-sig").splitlines()))
    total = page.get_by_test_id("table-count").first.get_attribute("data-total")
    assert len(lines) == int(total or 0)
    names = [line["name"] for line in lines]
    assert names == sorted(names)
    assert lines[0]["task_id"] == copied["task_id"]


def test_the_rows_of_a_table_are_counted_by_a_column(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    page.goto(f"{recorded.url}/s/{recorded.session}/tasks")
    page.get_by_test_id("table-menu").click()
    page.get_by_test_id("table-group-by").select_option("state")
    groups = page.get_by_test_id("table-groups").locator("li")
    expect(groups).to_have_text(["Finished413", "Failed6"])


def test_two_languages_and_two_themes(recorded: Recorded, page: Page) -> None:
    page.goto(f"{recorded.url}/s/{recorded.session}?lang=zh")
    page.get_by_test_id("task-row").first.wait_for()
    expect(page.get_by_test_id("connection-state")).to_contain_text("已连接")
    assert page.evaluate("document.documentElement.lang").startswith("zh")
    page.get_by_test_id("lang-switch").click()
    page.get_by_test_id("lang-en").click()
    expect(page.get_by_test_id("connection-state")).to_contain_text("Connected")
    page.get_by_test_id("theme-switch").click()
    page.get_by_test_id("theme-dark").click()
    scheme = "document.documentElement.getAttribute('data-mantine-color-scheme')"
    assert page.evaluate(scheme) == "dark"


def test_times_are_shown_in_the_chosen_zone(recorded: Recorded, browser: Browser) -> None:
    page = browser.new_context(timezone_id="Asia/Kolkata").new_page()
    page.goto(f"{recorded.url}/s/{recorded.session}")
    created = page.get_by_test_id("task-row").first.locator("[data-column=created] span")
    expect(created).to_have_attribute("title", re.compile(r"\+05:30$"))
    page.get_by_test_id("zone-switch").click()
    page.get_by_test_id("zone-utc").click()
    expect(created).to_have_attribute("title", re.compile(r"\+00:00$"))
    page.reload()
    expect(created).to_have_attribute("title", re.compile(r"\+00:00$"))
    page.context.close()


def test_every_list_opens(recorded: Recorded, page: Page) -> None:
    base = f"{recorded.url}/s/{recorded.session}"
    for view, text in (
        ("actors", "Counter"),
        ("workers", "Worker"),
        ("nodes", "Head"),
        ("jobs", "workload.py"),
        ("placement-groups", "No placement groups"),
    ):
        page.goto(f"{base}/{view}")
        expect(page.locator("main")).to_contain_text(text, ignore_case=True)


def test_a_narrow_chinese_table_is_whole(recorded: Recorded, page: Page) -> None:
    page.set_viewport_size({"width": 800, "height": 900})
    page.goto(f"{recorded.url}/s/{recorded.session}/actors?lang=zh")
    row = page.get_by_test_id("actors-row").first
    row.wait_for()
    headers = page.get_by_role("columnheader")
    expect(headers.first).to_have_text("状态")
    names = {"Actor ID", "PID"}  # the same in both languages
    assert not [text for text in headers.all_inner_texts() if text.isascii() and text not in names]
    expect(row).to_contain_text(re.compile("存活|已失效"))
    # The menu covers no header.
    chooser = page.get_by_test_id("table-menu").bounding_box()
    head = headers.first.bounding_box()
    assert chooser
    assert head
    assert chooser["y"] + chooser["height"] <= head["y"]


def event_batches(session: str, number: int) -> list[bytes]:
    """Events of ``number`` finished tasks in Ray's JSON, 1,000 tasks a batch."""
    import base64

    def b64(text: str) -> str:
        return base64.b64encode(bytes.fromhex(text)).decode()

    job, parent = b64("01000000"), b64("f" * 40 + "01000000")
    batches = []
    for start in range(0, number, 1000):
        events = []
        for index in range(start, min(start + 1000, number)):
            task = b64(f"{index + 1:016x}{'f' * 24}01000000")
            stamp = f"2026-01-01T00:{index // 60000:02d}:{index // 1000 % 60:02d}.{index % 1000:03d}Z"
            events.append(
                {
                    "eventType": "TASK_DEFINITION_EVENT",
                    "sessionName": session,
                    "timestamp": stamp,
                    "taskDefinitionEvent": {
                        "taskId": task,
                        "taskType": "NORMAL_TASK",
                        "taskName": f"step-{index % 7}",
                        "taskFunc": {"pythonFunctionDescriptor": {"functionName": f"step_{index % 7}"}},
                        "jobId": job,
                        "parentTaskId": parent,
                    },
                }
            )
            events.append(
                {
                    "eventType": "TASK_LIFECYCLE_EVENT",
                    "sessionName": session,
                    "timestamp": stamp,
                    "taskLifecycleEvent": {
                        "taskId": task,
                        "jobId": job,
                        "stateTransitions": [
                            {"state": state, "timestamp": stamp}
                            for state in ("PENDING_ARGS_AVAIL", "RUNNING", "FINISHED")
                        ],
                    },
                }
            )
        batches.append(json.dumps(events).encode())
    return batches


@pytest.mark.long
def test_100_000_tasks_stay_smooth(recorded: Recorded, page: Page) -> None:
    session = "session_2026-01-01_00-00-00_000000_1"
    with httpx.Client() as client:
        for body in event_batches(session, 100_000):
            assert client.post(recorded.server.ingest_url, content=body).status_code == 204
    services = recorded.server.services
    assert services is not None
    assert services.writer.flush()
    page.goto(f"{recorded.url}/s/{session}?sort=created_ns")
    page.get_by_test_id("task-row").first.wait_for()
    expect(page.get_by_test_id("table-count").first).to_contain_text("100,000")
    count = page.get_by_test_id("table-count").first

    def scrolled() -> bool:
        page.get_by_test_id("task-table").hover()
        page.mouse.wheel(0, 6000)
        return re.search(r"[1-9][\d,]{3,} of 100,000", count.text_content() or "") is not None

    wait_until(scrolled, "a thousand rows")
    # However far one scrolls, only what is on the screen is in the document.
    assert page.get_by_test_id("task-row").count() < 120
    assert page.evaluate("document.querySelectorAll('*').length") < 5000


def test_a_server_that_goes_and_comes_back(browser: Browser, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", port=0)
    server = Server(settings)
    server.start()
    port = int(server.url.rpartition(":")[2])
    page = browser.new_page(locale="en-US")
    page.goto(server.url)
    expect(page.get_by_test_id("sessions-empty")).to_contain_text("rayscope run")
    expect(page.get_by_test_id("connection-state")).to_contain_text("Connected")
    server.stop()
    expect(page.get_by_test_id("connection-state")).not_to_contain_text("Connected")
    again = Server(settings.model_copy(update={"port": port}))
    again.start()
    try:
        expect(page.get_by_test_id("connection-state")).to_contain_text("Connected")
    finally:
        page.close()
        again.stop()


def test_a_token_is_asked_for(browser: Browser, tmp_path: Path) -> None:
    server = Server(Settings(data_dir=tmp_path / "data", port=0, token="open sesame"))
    server.start()
    page = browser.new_page(locale="en-US")
    try:
        page.goto(server.url)
        page.get_by_test_id("login-token").fill("wrong")
        page.get_by_test_id("login-submit").click()
        expect(page.get_by_test_id("login")).to_contain_text("Wrong token")
        page.get_by_test_id("login-token").fill("open sesame")
        page.get_by_test_id("login-submit").click()
        expect(page.get_by_test_id("sessions-empty")).to_be_visible()
    finally:
        page.close()
        server.stop()


def test_the_first_page_needs_little_script(browser: Browser, tmp_path: Path) -> None:
    server = Server(Settings(data_dir=tmp_path / "data", port=0))
    server.start()
    page = browser.new_page()
    scripts: list[Response] = []
    page.on("response", lambda answer: scripts.append(answer) if ".js" in answer.url else None)
    try:
        page.goto(server.url)
        page.wait_for_load_state("networkidle")
        size = sum(int(script.headers["content-length"]) for script in scripts)
        assert 100_000 < size <= 252_000  # bytes, gzipped
    finally:
        page.close()
        server.stop()
