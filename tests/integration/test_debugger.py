"""Debuggers on real tasks that wait at a breakpoint or at an error."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from tests.cluster import env_without_ray, free_port, start_in_turn
from tests.dap_client import DapClient
from tests.recorded import Recorded
from tests.waiting import wait_until
from websockets.exceptions import InvalidStatus

from rayscope.cli.recording import Parts, node_env

pytestmark = [pytest.mark.ray]

PROGRAM = """
import asyncio, sys, time
import ray

def inner(secret):
    doubled = secret * 2
    breakpoint()
    return doubled + 1

@ray.remote(num_cpus=0.5)
def in_task(value):
    return inner(value)

@ray.remote(num_cpus=0.5)
def loop(times):
    for number in range(times):
        breakpoint()
    return times

@ray.remote(num_cpus=0.5)
def nested(value):
    return ray.get(in_task.remote(value))

@ray.remote(num_cpus=0.5)
class Actor:
    def method(self, value):
        return inner(value)

@ray.remote(num_cpus=0.5)
class Async:
    async def method(self, value):
        await asyncio.sleep(0)
        return inner(value)

@ray.remote(num_cpus=0.5, max_retries=0, runtime_env={"env_vars": {"RAY_DEBUG_POST_MORTEM": "1"}})
def fails(value):
    divisor = value - 20
    return 1 / divisor

LEGACY = {"RAY_DEBUG": "legacy"}
legacy_fails = fails.options(runtime_env={"env_vars": {**LEGACY, "RAY_DEBUG_POST_MORTEM": "1"}})

def start(what):
    if what == "legacy":
        return [in_task.options(runtime_env={"env_vars": LEGACY}).remote(20), legacy_fails.remote(20)]
    if what == "task":
        return in_task.remote(20)
    if what == "two":
        return [in_task.remote(20), in_task.remote(30)]
    if what == "threads":
        actor = Actor.options(max_concurrency=2).remote()
        return [actor.method.remote(20), actor.method.remote(30)]
    if what == "loop":
        return loop.remote(3)
    if what in ("nested", "fails"):
        return (nested if what == "nested" else fails).remote(20)
    return (Actor if what == "actor" else Async).remote().method.remote(20)

for what in sys.argv[1:]:
    try:
        print("RESULT", ray.get(start(what)), time.time(), flush=True)
    except ZeroDivisionError:
        print("RESULT error", time.time(), flush=True)
"""


#: Starts Ray where nothing outside can reach it, and a way out to the server: a socket in the file system.
ALONE = """
import fcntl, os, socket, struct, sys, threading
import ray

SET_FLAGS, UP_AND_RUNNING = 0x8914, 0x41
fcntl.ioctl(socket.socket(), SET_FLAGS, struct.pack("16sH22x", b"lo", UP_AND_RUNNING))

def pump(source, target):
    while data := source.recv(65536):
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)

def serve():
    listener = socket.create_server(("127.0.0.1", 8700))
    while True:
        inside, _ = listener.accept()
        outside = socket.socket(socket.AF_UNIX)
        outside.connect(os.environ["WAY_OUT"])
        for ends in ((inside, outside), (outside, inside)):
            threading.Thread(target=pump, args=ends, daemon=True).start()

threading.Thread(target=serve, daemon=True).start()
ray.init(num_cpus=2, object_store_memory=100_000_000, _temp_dir=os.environ["RAY_DIR"], log_to_driver=False)
"""


ALL_KINDS = ("task", "nested", "actor", "async_actor", "fails", "two")
IN_A_NETWORK_OF_ITS_OWN = ["unshare", "--net", "--map-root-user"]


def may_unshare() -> bool:
    with contextlib.suppress(FileNotFoundError):
        return subprocess.run([*IN_A_NETWORK_OF_ITS_OWN, "true"], capture_output=True).returncode == 0
    return False


@pytest.fixture
def debugged(cluster: Recorded) -> Iterator[Recorded]:
    """The cluster, whose server lets debuggers in."""
    cluster.services.debuggees.limit_s = 900.0
    yield cluster
    cluster.services.debuggees.limit_s = None


@pytest.fixture
def start(cluster: Recorded) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def run(what: str) -> subprocess.Popen[str]:
        process = cluster.start_driver(PROGRAM, what)
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        cluster.processes.remove(process)
    wait_until(lambda: not cluster.get("/api/v1/paused-tasks")["items"], "an empty list")


def paused(cluster: Recorded, number: int = 1) -> list[dict[str, Any]]:
    """Wait for this number of paused tasks."""

    def look() -> list[dict[str, Any]] | None:
        items: list[dict[str, Any]] = cluster.get("/api/v1/paused-tasks")["items"]
        return items if len(items) == number else None

    found: list[dict[str, Any]] = wait_until(look, f"{number} paused tasks")
    return found


def client_of(cluster: Recorded, item: dict[str, Any]) -> DapClient:
    return DapClient(cluster.url, cluster.services.secrets.operator_token, item["pause_id"])


def post(cluster: Recorded, item: dict[str, Any], what: str, **body: Any) -> httpx.Response:
    headers = {"X-Rayscope-Operator": cluster.services.secrets.operator_token}
    path = f"{cluster.url}/api/v1/paused-tasks/{item['pause_id']}/{what}"
    return httpx.post(path, json=body or None, headers=headers, timeout=60)


def result(process: subprocess.Popen[str]) -> list[str]:
    """The words of the result that the driver printed."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("RESULT"):
            return line.split()[1:]
    raise AssertionError("no result")


@pytest.mark.parametrize("what", ["task", "nested", "actor", "async_actor"])
def test_a_debugger_at_a_breakpoint(
    debugged: Recorded, start: Callable[[str], subprocess.Popen[str]], what: str
) -> None:
    driver = start(what)
    (item,) = paused(debugged)
    assert (item["state"], item["function"], item["error"]) == ("waiting", "inner", None)
    assert item["file"].endswith(".py")
    assert PROGRAM.splitlines()[item["line"] - 3].strip() in ("breakpoint()", "return doubled + 1")
    # The record learns of the task a little later.
    item = wait_until(lambda: next((one for one in paused(debugged) if one["waiters"]), None), "its waiter")
    assert (item["waiters"], item["resources"]) == (1, {"CPU": 0.5})
    # Functions of the same name have a prefix.
    assert item["func_name"].endswith(item["name"])
    client = client_of(debugged, item)
    thread = client.attach()
    frames = client.frames(thread)
    assert frames[0]["name"] == "inner"
    assert client.variables(frames[0]) == {"secret": "20", "doubled": "40"}
    assert client.ask("evaluate", expression="secret + doubled", frameId=frames[0]["id"])["result"] == "60"
    assert paused(debugged)[0]["state"] == "stopped"
    client.send("next", threadId=thread)
    client.await_message(event="stopped")
    assert client.frames(thread)[0]["line"] == frames[0]["line"] + (
        1 if PROGRAM.splitlines()[frames[0]["line"] - 3].strip() == "breakpoint()" else 0
    )
    client.leave()
    assert result(driver)[0] == "41"
    wait_until(lambda: not debugged.get("/api/v1/paused-tasks")["items"], "an empty list")


def test_a_debugger_at_an_error(
    debugged: Recorded, start: Callable[[str], subprocess.Popen[str]], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "rayscope.debugger")
    driver = start("fails")
    (item,) = paused(debugged)
    assert (item["function"], item["error"]) == ("fails", "ZeroDivisionError: division by zero")
    client = client_of(debugged, item)
    frames = client.frames(client.attach())
    assert frames[0]["name"] == "fails"
    assert client.variables(frames[0])["divisor"] == "0"
    client.leave()
    assert result(driver)[0] == "error"
    wait_until(lambda: f"has left task {item['task_id']}" in caplog.text, "the log of the debugger's use")
    assert f"is attached to task {item['task_id']}" in caplog.text
    assert "divisor" not in caplog.text


def test_two_at_once_and_a_second_debugger(
    debugged: Recorded, start: Callable[[str], subprocess.Popen[str]]
) -> None:
    driver = start("two")
    items = paused(debugged, 2)
    clients = [client_of(debugged, item) for item in items]
    frames = [client.frames(client.attach())[0] for client in clients]
    values = [client.variables(frame)["secret"] for client, frame in zip(clients, frames, strict=True)]
    assert sorted(values) == ["20", "30"]
    with pytest.raises(InvalidStatus) as refused:
        client_of(debugged, items[0])
    assert refused.value.response.status_code == 403
    for client in clients:
        client.leave()
    assert "".join(result(driver)[:2]) == "[41,61]"


def test_released_on_request_and_after_the_limit(
    debugged: Recorded, start: Callable[[str], subprocess.Popen[str]]
) -> None:
    driver = start("task")
    (item,) = paused(debugged)
    assert post(debugged, item, "release").status_code == 204
    released = time.time()
    assert float(result(driver)[1]) - released < 5
    debugged.services.debuggees.limit_s = 3.0
    driver = start("task")
    (item,) = paused(debugged)
    assert item["release_ns"] - item["since_ns"] < 10e9
    ended = float(result(driver)[1])
    print(f"continued {ended - item['release_ns'] / 1e9:.2f} s after the limit")


def test_two_threads_of_an_actor_are_released_together(
    debugged: Recorded, start: Callable[[str], subprocess.Popen[str]]
) -> None:
    driver = start("threads")
    item = paused(debugged, 2)[0]
    assert post(debugged, item, "release").status_code == 204
    assert "".join(result(driver)[:2]) == "[41,61]"


def test_a_debugger_that_leaves_before_it_has_stopped_anything(
    debugged: Recorded, start: Callable[[str], subprocess.Popen[str]]
) -> None:
    driver = start("task")
    client = client_of(debugged, paused(debugged)[0])
    client.ask("initialize", clientID="test", adapterID="debugpy")
    client.send("attach", subProcess=False)
    client.await_message(event="initialized")
    client.send("configurationDone")
    client.socket.close()
    assert result(driver)[0] == "41"


def test_a_breakpoint_in_a_loop(debugged: Recorded, start: Callable[[str], subprocess.Popen[str]]) -> None:
    driver = start("loop")
    (item,) = paused(debugged)
    client = client_of(debugged, item)
    thread = client.attach()
    for number in range(3):
        assert client.variables(client.frames(thread)[0])["number"] == str(number)
        assert [one["pause_id"] for one in paused(debugged)] == [item["pause_id"]]
        if number < 2:
            client.send("continue", threadId=thread)
            client.await_message(event="stopped")
    client.leave()
    assert result(driver)[0] == "3"


def test_released_while_a_debugger_only_begins_to_attach(
    debugged: Recorded, start: Callable[[str], subprocess.Popen[str]]
) -> None:
    driver = start("task")
    (item,) = paused(debugged)
    client_of(debugged, item).ask("initialize", clientID="test", adapterID="debugpy")
    assert post(debugged, item, "release").status_code == 204
    assert result(driver)[0] == "41"


def test_the_web_page_looks(debugged: Recorded, start: Callable[[str], subprocess.Popen[str]]) -> None:
    driver = start("task")
    (item,) = paused(debugged)
    assert httpx.post(f"{debugged.url}/api/v1/paused-tasks/{item['pause_id']}/stack").status_code == 403
    answer = post(debugged, item, "stack")
    assert answer.headers["cache-control"] == "no-store"
    (thread,) = answer.json()["threads"]
    frame = thread["frames"][0]
    assert frame["function"] == "inner"
    variables = post(debugged, item, "variables", frame_id=frame["frame_id"]).json()["items"]
    assert {one["name"]: one["value"] for one in variables} == {"secret": "20", "doubled": "40"}
    source = post(debugged, item, "source", frame_id=frame["frame_id"]).json()
    assert "doubled = secret * 2" in "\n".join(source["lines"])
    assert post(debugged, item, "release").status_code == 204
    assert result(driver)[0] == "41"


def frames_of_driver(cluster: Recorded, item: dict[str, Any]) -> list[str]:
    """The functions in which the driver of a paused task is, the outermost first."""
    body = {"session": cluster.session, "workers": [item["job_id"] + "f" * 48]}

    def sample() -> Any:
        answer = httpx.post(f"{cluster.url}/api/v1/flow/stack/frames", json=body, timeout=60).json()
        codes = [problem["code"] for problem in answer["problems"]]
        # The record is a few seconds behind.
        assert codes in ([], ["no_process"], ["idle_driver"]), answer["problems"]
        return answer["nodes"]

    (node,) = wait_until(sample, "the frames of the driver")
    return [frame["name"] for frame in node["frames"]]


@pytest.mark.parametrize("is_run", [False, True])
def test_the_frames_of_the_driver(cluster: Recorded, tmp_path: Path, is_run: bool) -> None:
    script = tmp_path / "job.py"
    script.write_text(f"import ray\nray.init()\n{PROGRAM}")
    env = {"RAY_ADDRESS": cluster.gcs, "RAYSCOPE_DATA_DIR": str(cluster.services.settings.data_dir)}
    command = [sys.executable, *(("-m", "rayscope.cli", "run") if is_run else ()), str(script), "nested"]
    driver = subprocess.Popen(command, env=cluster.env | env, stdout=subprocess.DEVNULL)
    try:
        names = frames_of_driver(cluster, paused(cluster)[0])
        assert (names[0], names[-1]) == ("<module>", "Worker.get_objects")
    finally:
        for process in psutil.Process(driver.pid).children(recursive=True):
            process.kill()
        driver.kill()
        driver.wait()
    wait_until(lambda: not cluster.get("/api/v1/paused-tasks")["items"], "an empty list")


def test_a_server_that_lets_no_debuggers_in(
    cluster: Recorded, start: Callable[[str], subprocess.Popen[str]]
) -> None:
    driver = start("task")
    (item,) = paused(cluster)
    assert item["release_ns"] is None
    answer = post(cluster, item, "release")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "debugger_disabled")
    driver.kill()
    wait_until(lambda: not cluster.get("/api/v1/paused-tasks")["items"], "an empty list")


def test_a_task_of_a_submitted_job(debugged: Recorded, tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(f"import ray\nray.init()\n{PROGRAM}")
    jobs = f"{debugged.dashboard_url}/api/jobs/"
    job = httpx.post(jobs, json={"entrypoint": f"{sys.executable} {script} task"}).json()["submission_id"]
    (item,) = paused(debugged)
    assert frames_of_driver(debugged, item)[0] == "<module>"
    client = client_of(debugged, item)
    assert client.variables(client.frames(client.attach())[0]) == {"secret": "20", "doubled": "40"}
    client.leave()

    def has_succeeded() -> bool:
        status = httpx.get(f"{jobs}{job}").json()["status"]
        assert status in ("RUNNING", "SUCCEEDED")
        return bool(status == "SUCCEEDED")

    wait_until(has_succeeded, "the end of the job")


def test_a_task_without_a_tracer(cluster: Recorded) -> None:
    program = PROGRAM.replace(
        "in_task.remote(20)", "in_task.options(runtime_env={'env_vars': {'RAYSCOPE_TRACE': '0'}}).remote(20)"
    )
    driver = cluster.start_driver(program, "task")
    try:
        item = wait_until(lambda: next((one for one in paused(cluster) if one["name"]), None), "its name")
        assert (item["pause_id"], item["name"], item["since_ns"]) == (None, "in_task", None)
        assert item["func_name"].endswith("in_task")
        assert item["resources"] == {"CPU": 0.5}
    finally:
        driver.kill()
        driver.wait()
        cluster.processes.remove(driver)
    wait_until(lambda: not cluster.get("/api/v1/paused-tasks")["items"], "an empty list")


def legacy_client(cluster: Recorded, item: dict[str, Any]) -> socket.socket:
    """Connect as `ray debug` does."""
    host, _, port = item["legacy"]["address"].rpartition(":")
    return socket.create_connection((host, int(port)))


@pytest.mark.long
def test_rays_legacy_debugger(cluster: Recorded, start: Callable[[str], subprocess.Popen[str]]) -> None:
    driver = start("legacy")
    items = paused(cluster, 2)
    print(f"listed {time.time() - max(item['since_ns'] for item in items) / 1e9:.2f} s after they paused")

    def named() -> list[dict[str, Any]] | None:
        items = cluster.get("/api/v1/paused-tasks")["items"]
        # The record is a few seconds behind.
        return items if all(item["name"] and item["pid"] and item["waiters"] for item in items) else None

    items = wait_until(named, "what is recorded of them")
    at_breakpoint, at_error = sorted(items, key=lambda item: bool(item["error"]))
    assert (at_breakpoint["name"], at_error["name"]) == ("in_task", "fails")
    for item, code in ((at_breakpoint, "breakpoint()"), (at_error, "return 1 / divisor")):
        assert (item["pause_id"], item["state"], item["attempt"], item["waiters"]) == (None, "waiting", 0, 1)
        assert Path(item["file"]).read_text().splitlines()[item["line"] - 1].strip() == code
        assert item["resources"] == {"CPU": 0.5}
        task = cluster.get(f"/api/v1/tasks/{item['task_id']}")["attempts"][0]
        assert (task["worker_id"], task["worker_pid"]) == (item["worker_id"], item["pid"])
    assert at_error["error"] == "ZeroDivisionError: division by zero"
    assert at_error["legacy"]["traceback"].startswith("Traceback")
    with legacy_client(cluster, at_breakpoint) as connection:
        connection.sendall(b"p doubled\ncontinue\n")
        text = b""
        while data := connection.recv(4096):
            text += data
    assert b"40" in text
    (left,) = paused(cluster)
    assert left["legacy"]["key"] == at_error["legacy"]["key"]
    # The entry of a process that dies remains.
    psutil.Process(left["pid"]).kill()

    def end() -> dict[str, Any] | None:
        (item,) = cluster.get("/api/v1/paused-tasks")["items"]
        return item if item["state"] == "gone" else None

    gone = wait_until(end, "its end")
    assert gone["legacy"]["ended_ns"] >= gone["since_ns"]
    driver.kill()
    driver.wait()
    wait_until(lambda: all(job["end_ns"] for job in cluster.get("/api/v1/jobs")["items"]), "its end")
    # Ray's own command removes it.
    command = [sys.executable, "-m", "ray.scripts.scripts", "debug", "--address", cluster.gcs]
    subprocess.run(command, input="\n", env=cluster.env, text=True, capture_output=True)


@pytest.mark.long
@pytest.mark.skipif(not may_unshare(), reason="no network namespace can be made here")
def test_no_port_of_the_machine_can_be_reached(debugged: Recorded, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        way_out = f"{folder}/out"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(way_out)
        listener.listen()
        open_ways: list[socket.socket] = []
        arguments = (listener, debugged.url, open_ways)
        threading.Thread(target=lead_out, args=arguments, daemon=True).start()
        key = debugged.ingest_url.partition("/api/ingest/")[2]
        env = env_without_ray() | node_env(f"http://127.0.0.1:8700/api/ingest/{key}", Parts())
        env |= {"HOME": folder, "RAY_DIR": f"{folder}/r", "WAY_OUT": way_out, "RAY_AUTH_MODE": "disabled"}
        script = tmp_path / "alone.py"
        script.write_text(ALONE + PROGRAM)
        command = [*IN_A_NETWORK_OF_ITS_OWN, sys.executable, str(script), *ALL_KINDS]
        driver = start_in_turn(command, Path(folder), env=env, stdout=subprocess.PIPE)
        try:
            session = wait_until(lambda: other_session(debugged), "its session")
            first = wait_until(lambda: paused_of(debugged, session), "the paused task")[0]
            for way in open_ways:  # as when a proxy restarts: the task connects again and still waits
                with contextlib.suppress(OSError):
                    way.shutdown(socket.SHUT_RDWR)
            wait_until(lambda: not paused_of(debugged, session), "the end of its connection")
            item = wait_until(lambda: paused_of(debugged, session), "the paused task again")[0]
            assert item["pause_id"] == first["pause_id"]
            for what in ALL_KINDS:
                number = 2 if what == "two" else 1
                items = wait_until(
                    lambda number=number: of_number(debugged, session, number), f"{what} to pause"
                )
                clients = [client_of(debugged, item) for item in items]
                for client in clients:
                    variables = client.variables(client.frames(client.attach())[0])
                    if what == "fails":
                        assert variables["divisor"] == "0"
                    else:
                        assert int(variables["doubled"]) == 2 * int(variables["secret"])
                for client in clients:
                    client.leave()
                expected = {"fails": "error", "two": "[41,61]"}.get(what, "41")
                assert "".join(result(driver)[:-1]) == expected
        finally:
            driver.terminate()
            driver.wait(60)
            listener.close()


def lead_out(listener: socket.socket, url: str, open_ways: list[socket.socket]) -> None:
    """Connect what comes to ``listener`` to the server."""
    host, _, port = url.removeprefix("http://").partition(":")
    with contextlib.suppress(OSError):
        while True:
            inside, _ = listener.accept()
            outside = socket.create_connection((host, int(port)))
            open_ways += (inside, outside)
            for ends in ((inside, outside), (outside, inside)):
                threading.Thread(target=pump, args=ends, daemon=True).start()


def pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def other_session(cluster: Recorded) -> str | None:
    sessions = cluster.get("/api/v1/sessions")["items"]
    return next((one["session"] for one in sessions if one["session"] != cluster.session), None)


def of_number(cluster: Recorded, session: str, number: int) -> list[dict[str, Any]] | None:
    """The paused tasks of a session. None if it has another number of them."""
    items = paused_of(cluster, session)
    return items if len(items) == number else None


def paused_of(cluster: Recorded, session: str) -> list[dict[str, Any]]:
    answer = httpx.get(f"{cluster.url}/api/v1/paused-tasks", params={"session": session})
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def test_the_server_dies(cluster: Recorded, tmp_path: Path) -> None:
    """The task waits for a debugger of a server that ends without a farewell."""
    port = free_port()
    command = [sys.executable, "-m", "rayscope.cli", "serve", "--debugger", "--data-dir", str(tmp_path)]
    server = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: answers(url), "the server")
        key = (tmp_path / "key").read_text().strip()
        variable = "RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR"
        program = PROGRAM.replace(
            "in_task.remote(20)",
            "in_task.options(runtime_env={'env_vars': {"
            f"'{variable}': '{url}/api/ingest/{key}/ray-events'}}}}).remote(20)",
        )
        driver = cluster.start_driver(program, "task")
        wait_until(lambda: "ESTABLISHED" in connections(port), "the connection of the task")
        server.kill()
        died = time.time()
        value, ended = result(driver)
        assert value == "41"
        print(f"continued {float(ended) - died:.2f} s after the server's death")
        driver.wait(60)
        cluster.processes.remove(driver)
    finally:
        server.kill()
        server.wait()


def answers(url: str) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"{url}/api/health").status_code == 200
    return False


def connections(port: int) -> list[str]:
    """The states of connections from a worker of Ray to a port of this machine."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if (process.info["cmdline"] or [""])[0].startswith("ray::"):
            with contextlib.suppress(psutil.Error):
                found += [
                    one.status for one in process.net_connections() if one.raddr and one.raddr.port == port
                ]
    return found
