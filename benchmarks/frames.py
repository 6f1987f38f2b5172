"""Time until the views of a large record appear in Chromium, and how smoothly they move.

    python benchmarks/frames.py                     # a million tasks
    python benchmarks/frames.py --keep DIR          # generate the record there, and keep it

Headless Chromium shows the pages of a real server at 1440 x 900. Measured for each view: the time from the
click on its name until its picture is on the canvas (first visit, nothing cached), and the time between
frames while the chart is dragged, zoomed with the wheel and moved by keys, recorded in the page. At last, the
record is compared with a copy of itself: the answers about both critical paths, that of the comparison, the
time from the navigation to its page until the verdict is painted, and the comparison when no path is known.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from common import RayscopeServer, header, parse_arguments, quantile, table
from rayscope.storage.catalog import Catalog
from views import SESSION, generate

#: Records the times between frames until they are read.
_RECORD = """() => {
    const seen = []; let last = performance.now(); let on = true;
    const frame = (now) => { seen.push(now - last); last = now; if (on) requestAnimationFrame(frame); };
    requestAnimationFrame((now) => { last = now; requestAnimationFrame(frame); });
    window.__frames = () => { on = false; return seen; };
}"""
#: Clicks, and waits until the canvas reports that it was drawn, in ms.
_OPEN = """([link, drawn]) => new Promise((resolve, reject) => {
    const began = performance.now();
    document.querySelector(link).click();
    const look = () => {
        if (document.querySelector(drawn)) requestAnimationFrame(() => resolve(performance.now() - began));
        else if (performance.now() - began > 60000) reject(new Error('nothing drawn: ' + drawn));
        else requestAnimationFrame(look);
    };
    look();
})"""
_VIEWS = {
    "gantt": '[data-testid="gantt-chart"] canvas[data-bars]:not([data-bars="0"])',
    "flame": '[data-testid="flame"][data-boxes]:not([data-boxes="0"])',
}


def _frames(page: Page, act: Any) -> list[float]:
    page.evaluate(_RECORD)
    act()
    seen: list[float] = page.evaluate("() => window.__frames()")
    return seen


def _row(name: str, frames: list[float]) -> list[str]:
    return [
        name,
        str(len(frames)),
        *(f"{quantile(frames, q):.0f} ms" for q in (0.5, 0.95)),
        f"{max(frames):.0f} ms",
    ]


def _moves(page: Page) -> list[list[str]]:
    """Drag, zoom and use keys on the Gantt chart."""
    chart = page.locator('[data-testid="gantt-chart"] canvas').first
    box = chart.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)

    def wheel(by: int) -> None:
        for _ in range(40):
            page.mouse.wheel(0, by)
            page.wait_for_timeout(30)

    def drag() -> None:
        for way in (1, -1, 1, -1):
            page.mouse.move(x - way * 300, y)
            page.mouse.down()
            for step in range(60):
                page.mouse.move(x - way * (300 - step * 10), y)
                page.wait_for_timeout(12)
            page.mouse.up()

    def keys() -> None:
        chart.focus()
        for key in "wwwwddddaaaassss" * 3:
            page.keyboard.press(key)
            page.wait_for_timeout(60)

    return [
        _row("zoom in with the wheel", _frames(page, lambda: wheel(-120))),
        _row("drag, zoomed in", _frames(page, drag)),
        _row("zoom out with the wheel", _frames(page, lambda: wheel(120))),
        _row("drag, all of it", _frames(page, drag)),
        _row("W, A, S, D", _frames(page, keys)),
    ]


def _copy(folder: Path) -> str:
    """Copy the session under another name, and return that."""
    other = SESSION.replace("_1", "_2")
    target = folder / "sessions" / other
    if not target.exists():
        shutil.copytree(folder / "sessions" / SESSION, target, ignore=shutil.ignore_patterns("about.json"))
        catalog = Catalog(folder)
        catalog.add(other)
        catalog.save_about(other)
        catalog.close()
    return other


def _time_request(url: str, what: str, path: str, **params: str) -> list[str]:
    """The time of a request, as a row."""
    began = time.monotonic()
    httpx.get(f"{url}/api/v1{path}", params=params, timeout=300).raise_for_status()
    return [what, f"{1000 * (time.monotonic() - began):,.0f} ms"]


def _compared(browser: Browser, url: str, other: str) -> list[list[str]]:
    rows = [
        _time_request(url, f"critical path of {session}", "/flow/critical-path", session=session)
        for session in (SESSION, other)
    ]
    for what in ("comparison, once both paths are known", "comparison again"):
        rows.append(_time_request(url, what, "/compare", a=SESSION, b=other))
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{url}/compare?a={SESSION}&b={other}", wait_until="commit")
    page.get_by_test_id("compare-verdict").wait_for()
    took = page.evaluate("() => new Promise((seen) => requestAnimationFrame(() => seen(performance.now())))")
    rows.append(["its page, from the navigation to the verdict", f"{took:,.0f} ms"])
    return rows


def main() -> int:
    """Generate the record, serve it, and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--keep", type=Path, help="generate here, and keep it")
    args = parse_arguments(parser, tasks=10_000)
    print(header("The views in Chromium", ["rayscope", "duckdb", "playwright"]), flush=True)
    folder = (args.keep / str(args.tasks)) if args.keep else Path(tempfile.mkdtemp(prefix="rsv-"))
    try:
        if not any(folder.glob("sessions/*/record.duckdb")):
            generate(folder, args.tasks)
        other = _copy(folder)
        server = RayscopeServer(folder)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium-headless-shell"))
            opened = []
            for view, drawn in _VIEWS.items():
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                page.goto(f"{server.url}/s/{SESSION}/stack")
                page.wait_for_load_state("networkidle")
                took = page.evaluate(_OPEN, [f'[data-testid="tab-{view}"]', drawn])
                opened.append([view, f"{took:,.0f} ms"])
                print(f"  {view}: {took:.0f} ms", file=sys.stderr, flush=True)
                if view == "gantt":
                    moved = _moves(page)
                page.close()
            compared = _compared(browser, server.url, other)
            browser.close()
        server.stop()
        server = RayscopeServer(folder)
        compared.append(
            _time_request(
                server.url, "comparison after a restart, no path known", "/compare", a=SESSION, b=other
            )
        )
        server.stop()
        print(f"{args.tasks:,} tasks\n\n" + table(["View", "from the click to the picture"], opened))
        print(table(["Comparison", "time"], compared))
        print(table(["Gantt chart", "frames", "p50", "p95", "max"], moved))
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
