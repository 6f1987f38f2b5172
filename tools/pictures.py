"""Take every picture of the docs and the README from the current UI (`make pictures`).

    python tools/pictures.py                  # all of them
    python tools/pictures.py gantt stack      # these

Records `examples/flow_tree.py` and `examples/failing.py` (the tutorial's programs), `examples/quickstart.py`
(the program of `make demo`), and a live cluster with `rayscope run`. The server has its own data directory,
port, and temporary directory for Ray. Each picture waits until the page shows the relevant fact. Pictures of
the tutorial are also taken in Chinese.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from rayscope.client import Client
from rayscope.server.runner import Server
from rayscope.settings import Settings, operator_token

ROOT = Path(__file__).parent.parent
FOLDERS = {"en-US": ROOT / "docs" / "images", "zh-CN": ROOT / "docs" / "zh" / "images"}
TREE = "examples/flow_tree.py"
SLOWER = f"{TREE} --scale 0.03"
DEMO = "examples/quickstart.py"
LIVE = "tools/pictures_cluster.py"
DEBUGGED = "examples/failing.py"
#: Programs whose session is shown while they run, and those of the tutorial.
RUNNING = (LIVE, DEBUGGED)
TUTORIAL = (TREE, SLOWER, DEBUGGED)
#: A paused task runs on after this, so that its program ends, in seconds.
DEBUGGER_LIMIT_S = 60
#: Maximum time for a recording, a page, or a fact on a busy machine, in seconds.
TIMEOUT_S = 600
#: Ray waits for slow starts, workers keep the normal priority, and no token is written to ~/.ray.
RAY_ENV = {
    "RAY_raylet_start_wait_time_s": "120",
    "RAY_worker_niceness": "0",
    "RAY_AUTH_MODE": "disabled",
}
#: While one of these is on the page, data is being loaded.
LOADING = "[aria-busy=true], .mantine-Skeleton-root, .mantine-Loader-root"

#: Charts below the visible part are not loaded.
IS_LOADED = """selector => [...document.querySelectorAll(selector)].every(
    element => element.getBoundingClientRect().top >= window.innerHeight)"""


@dataclass(frozen=True)
class Picture:
    """A picture of ``page`` for the session of ``program``, once ``fact`` (a selector) is visible.

    Words in braces in ``page`` are IDs and times of the session (see `facts`). ``clicks`` are clicked first.
    """

    name: str
    program: str
    page: str
    fact: str
    clicks: tuple[str, ...] = ()


PICTURES = (
    Picture("gantt", TREE, "gantt?by=actor&path=1&job_id={job}", "[data-testid=gantt-path-part] >> nth=3"),
    Picture(
        "stack", TREE, "stack?at={middle}", "[data-testid=stack-tree] >> text=/Blocking the job|阻塞作业/"
    ),
    Picture("flame", TREE, "flame", "[data-testid=flame-functions] >> text=Worker.run"),
    Picture("logical", TREE, "logical?expand=Worker", "[data-testid^='logical-node-i:Worker@'] >> nth=7"),
    Picture("physical", TREE, "physical?at={middle}", "[data-testid=physical-legend] >> text=Worker.process"),
    Picture(
        "compare",
        SLOWER,
        "../../compare?b={session}",
        "[data-testid=waterfall-part] >> text=Worker.process",
    ),
    Picture("debugger", DEBUGGED, "debugger", "[role=row] >> text=ZeroDivisionError"),
    Picture(
        "debugger-look",
        DEBUGGED,
        "debugger",
        "[role=dialog] >> text=/holiday/",
        clicks=(
            "[role=row] button:is([aria-label='Look'], [aria-label='查看'])",
            "[data-testid=act-confirm]",
            "[data-testid=look-frame]:has-text('score')",
        ),
    ),
    Picture("overview", DEMO, "overview", "[data-testid=panel-finding] >> nth=2"),
    Picture("jobs", DEMO, "jobs/{job}", "[data-testid=job-function] >> text=Scorer.score"),
    Picture("tasks", DEMO, "tasks?task={straggler}", "[data-testid=task-drawer] >> text=load_chunk"),
    Picture("events", DEMO, "events", "[data-testid=events-row] >> text=parse"),
    Picture("nodes", LIVE, "nodes?mode=machine&item={node}", "[data-testid=item-drawer] >> text=Trainer"),
    Picture("actors", LIVE, "actors?item={actor}", "[data-testid=item-drawer] >> text=gradient norm"),
    Picture(
        "logs",
        LIVE,
        "logs",
        "[data-testid=log-lines] >> text=gradient norm",
        clicks=("[data-testid=logs-file]:has-text('Trainer')",),
    ),
    Picture(
        "placement-groups", LIVE, "placement-groups?item={group}", "[data-testid=item-drawer] >> text=GPU"
    ),
    Picture(
        "alerts", LIVE, "alerts", "[data-testid=alert][data-rule=UnschedulableDemands][data-state=firing]"
    ),
    Picture("memory", LIVE, "memory?span=60", "[data-testid=memory-suspects] tbody tr"),
    Picture("metrics", LIVE, "metrics?span=5m", "[data-title='CPU utilization'] canvas"),
)


def facts(client: Client, session: str, program: str) -> dict[str, Any]:
    """Return the IDs and times in the addresses of a session's pictures. Waits until they are recorded."""
    (job,) = wait_for(lambda: client.jobs(session=session).to_list(), "a job")
    known: dict[str, Any] = {"session": session, "job": job["job_id"]}
    if program == TREE:
        calls = client.tasks(
            session=session, func_name="Worker.process", sort="-duration_ns", limit=10
        ).to_list()
        fifth = sorted(calls, key=lambda call: call["start_ns"])[4]
        known["middle"] = fifth["start_ns"] + fifth["duration_ns"] // 2
    elif program == DEMO:
        slowest = client.tasks(session=session, func_name="load_chunk", sort="-duration_ns", limit=1)
        known["straggler"] = slowest.to_list()[0]["task_id"]
    elif program == LIVE:
        nodes = client.nodes(session=session).to_list()
        known["node"] = next(node["node_id"] for node in nodes if node["is_head"])
        actors = wait_for(lambda: client.actors(session=session, state="ALIVE").to_list(), "an actor")
        known["actor"] = actors[0]["actor_id"]
        groups = wait_for(
            lambda: client.placement_groups(session=session, state="PENDING").to_list(),
            "a pending placement group",
        )
        known["group"] = groups[0]["placement_group_id"]
    return known


def wait_for(look: Callable[[], Any], what: str) -> Any:
    """Return the first result that is not empty. Raises TimeoutError."""
    deadline = time.monotonic() + TIMEOUT_S
    while not (answer := look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no {what} within {TIMEOUT_S} s")
        time.sleep(1)
    return answer


@contextlib.contextmanager
def recorded(server: Server, ray_dir: str, program: str) -> Iterator[str]:
    """Yield the session of a program after its end. For the live cluster, yield it while it is running."""
    client = Client(server.url)
    before = {row["session"] for row in client.sessions()}
    folder = str(server.settings.folder)
    script, *arguments = program.split()
    path = shutil.copy(ROOT / script, ray_dir)  # pictures show no path of this machine
    command = [sys.executable, "-m", "rayscope.cli", "run", "--exit", "--data-dir", folder, path, *arguments]
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY")}
    env |= RAY_ENV | {"RAY_TMPDIR": ray_dir}
    if program == DEBUGGED:
        env["RAY_DEBUG_POST_MORTEM"] = "1"
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.PIPE)
    try:
        if program not in RUNNING and process.wait(TIMEOUT_S) != 0:
            raise SystemExit(f"{program} failed")

        def new_sessions() -> list[str]:
            rows = [row for row in client.sessions() if row["session"] not in before]
            return [row["session"] for row in rows if program in RUNNING or row["state"] == "ended"]

        yield wait_for(new_sessions, "session")[0]
        process.communicate(b"\n", timeout=TIMEOUT_S)
    finally:
        while process.poll() is None:  # the third signal kills a program that hangs
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)


def take(page: Page, picture: Picture, base: str, known: dict[str, Any], folder: Path) -> None:
    """Open the page, wait for the fact, and save the picture in the folder."""
    page.goto(f"{base}/{picture.page.format(**known)}")
    for selector in picture.clicks:
        page.locator(selector).first.click()
    page.locator(picture.fact).first.wait_for()
    page.wait_for_function(IS_LOADED, arg=LOADING)
    page.evaluate("document.fonts.ready.then(() => null)")
    file = folder / f"{picture.name}.png"
    page.screenshot(path=file, animations="disabled")
    print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1000:.0f} kB", flush=True)


@contextlib.contextmanager
def browser_page(locale: str, operator_token: str) -> Iterator[Page]:
    """Yield a page with the size of all pictures, the light theme, the locale's language and the operator's
    rights.
    """
    executable = shutil.which("chromium-headless-shell")
    if executable is None:
        raise SystemExit("chromium-headless-shell is missing: run `make system`")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(
            executable_path=executable, args=arguments, timeout=TIMEOUT_S * 1000
        )
        context = browser.new_context(
            viewport={"width": 1440, "height": 900},
            locale=locale,
            timezone_id="UTC",
            color_scheme="light",
            reduced_motion="reduce",
        )
        context.set_default_timeout(TIMEOUT_S * 1000)
        context.add_init_script(f"sessionStorage.setItem('rayscope.operator', '{operator_token}')")
        yield context.new_page()
        browser.close()


def main(names: list[str]) -> None:
    """Take the named pictures, or all."""
    unknown = set(names) - {picture.name for picture in PICTURES}
    if unknown:
        raise SystemExit(f"No picture is called {', '.join(sorted(unknown))}.")
    wanted = [picture for picture in PICTURES if not names or picture.name in names]
    # Ray's sockets need a short path.
    ray_dir = tempfile.mkdtemp(prefix="rs-")
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), port=0, debugger=True, debugger_limit_s=DEBUGGER_LIMIT_S)
        server = Server(settings)
        server.start()
        try:
            programs = [picture.program for picture in wanted]
            if SLOWER in programs:  # is compared with it
                programs.insert(0, TREE)
            for program in dict.fromkeys(programs):
                with recorded(server, ray_dir, program) as session:
                    known = facts(Client(server.url), session, program)
                    # The browser starts second, because Ray may be too slow otherwise.
                    for locale in FOLDERS if program in TUTORIAL else ["en-US"]:
                        with browser_page(locale, operator_token(Path(folder))) as page:
                            for picture in wanted:
                                if picture.program == program:
                                    take(page, picture, f"{server.url}/s/{session}", known, FOLDERS[locale])
        finally:
            server.stop()
            shutil.rmtree(ray_dir, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
