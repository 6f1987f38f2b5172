"""How an agent notices that processes of its node end. They are real, and not children of the watching process."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests.waiting import wait_until

from rayscope.agent import entry, exits, report
from rayscope.agent.exit_events import ExitEvents
from rayscope.agent.exits import KernelLog, Memory, Watcher
from rayscope.agent.settings import EXPORT_ADDR, WATCH_EXITS
from rayscope.model.agent import ProcessEnd
from rayscope.storage.schema import ENTITY_COLUMNS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pidfds are Linux's")

#: Linux's version, such as (6, 18). From 6.15 on, a pidfd has the exit status.
LINUX = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
KNOWS_STATUS = pytest.mark.skipif(LINUX < (6, 15), reason="needs Linux 6.15")
MIB = 1 << 20

#: A parent like the raylet. Each word on its stdin is a program that a child runs after SIGUSR1.
PARENT = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
if sys.argv[1] == "ignores":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
elif sys.argv[1] == "fetches":
    def fetch(*_):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
    signal.signal(signal.SIGCHLD, fetch)
for line in sys.stdin:
    child = os.fork()
    if not child:
        signal.sigwait([signal.SIGUSR1])
        exec(line)
        os._exit(99)
    print(child, flush=True)
"""


class Node:
    """A parent with children, watched from here. ``ways``: how it fetches the status of its children."""

    def __init__(self, way: str, folder: Path) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, "-c", PARENT, way],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.pid = self._parent.pid
        self.reporter = report.Reporter()
        self.watcher = Watcher(self.pid, self.reporter, str(folder))

    def fork(self, program: str = "") -> int:
        """Start a child that will run ``program``. Returns its PID."""
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        print(program, file=self._parent.stdin, flush=True)
        return int(self._parent.stdout.readline())

    def look(self) -> None:
        self.watcher._next_look = 0
        self.watcher.step()

    def ends(self, count: int = 1) -> list[dict[str, Any]]:
        """Watch until ``count`` processes have ended."""

        def known() -> Any:
            self.watcher.step()
            ended = self.reporter.report()["ended"]
            return ended if len(ended) >= count else None

        ended: list[dict[str, Any]] = wait_until(known, "the ends")
        assert len(ended) == count
        return ended

    def stop(self) -> None:
        """Kill the parent and what it has started."""
        if self._parent.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
            self._parent.communicate()


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Node]]:
    monkeypatch.setattr(exits, "EVERY_S", 0.05)
    started: list[Node] = []

    def start(way: str = "fetches") -> Node:
        started.append(Node(way, tmp_path))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.mark.parametrize("way", ["fetches", "ignores"])
@pytest.mark.parametrize("source", [pytest.param("pidfd", marks=KNOWS_STATUS), "connector"])
def test_exit_codes_and_signals(
    node: Callable[..., Node], monkeypatch: pytest.MonkeyPatch, way: str, source: str
) -> None:
    if source == "connector":
        if not ExitEvents(needed=True).is_open:
            pytest.skip("needs root in the first namespaces")
        monkeypatch.setattr(exits, "is_needed", lambda: True)
        monkeypatch.setattr(exits, "_GET_INFO", 0)
    raylet = node(way)
    codes = {raylet.fork(f"os._exit({code})"): code for code in (0, 3, 255)}
    signals = {raylet.fork(): number for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, 40)}
    raylet.look()
    for pid in codes:
        os.kill(pid, signal.SIGUSR1)
    for pid, number in signals.items():
        os.kill(pid, number)
    ends = {end["pid"]: end for end in raylet.ends(7)}
    assert {end["source"] for end in ends.values()} == {source}
    assert {pid: end["exit_code"] for pid, end in ends.items() if "exit_code" in end} == codes
    names = {pid: "SIG40" if number == 40 else signal.Signals(number).name for pid, number in signals.items()}
    assert {pid: end["signal"] for pid, end in ends.items() if "signal" in end} == names


def test_what_is_known_of_an_end(node: Callable[..., Node], tmp_path: Path) -> None:
    raylet = node()
    pid = raylet.fork("data = bytearray(50 << 20); signal.pause()")
    raylet.look()
    os.kill(pid, signal.SIGUSR1)
    wait_until(lambda: (raylet.look(), raylet.watcher._seen)[1] and rss(pid) > 50 * MIB, "its memory")
    raylet.look()
    os.kill(pid, signal.SIGTERM)
    (end,) = raylet.ends()
    assert end["pid"] == pid
    assert end["name"].startswith("python")
    assert end["start_ns"] < end["end_ns"]
    assert end["end_ns"] - end["start_ns"] < 10**12
    assert 50 * MIB < end["rss_bytes"] < 100 * MIB
    assert end["fds"] >= 3
    assert 0 < end["memory_available"] < end["memory_total"]
    assert end["disk_free"] > 0
    assert end["oom_kills"] in (0, None)
    assert end["kernel_record"] is None
    said = msgspec.convert(end, ProcessEnd)  # the server accepts it
    assert {name for name, _ in ENTITY_COLUMNS["process_end"]} == {"node_id", *said.__struct_fields__}
    assert end.keys() | {"exit_code", "signal"} == set(said.__struct_fields__)


def rss(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("may_read", [True, False])
def test_the_status_of_a_zombie_is_in_procfs(
    node: Callable[..., Node], monkeypatch: pytest.MonkeyPatch, may_read: bool
) -> None:
    monkeypatch.setattr(exits, "_REAP_S", 0.1)
    raylet = node("forgets")
    pid = raylet.fork("os._exit(3)")
    raylet.look()
    (process,) = (one for one in raylet.watcher._watched.values() if one.pid == pid)
    assert process.stat.start_code > 1
    if not may_read:
        process.stat = process.stat._replace(start_code=1)
    os.kill(pid, signal.SIGUSR1)
    (end,) = raylet.ends()
    assert (end["source"], end.get("exit_code")) == (("procfs", 3) if may_read else ("none", None))


def test_an_older_linux_knows_only_that_it_ended(
    node: Callable[..., Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exits, "_GET_INFO", 0xC040FF7F)
    raylet = node("ignores")
    pid = raylet.fork()
    raylet.look()
    os.kill(pid, signal.SIGTERM)
    (end,) = raylet.ends()
    assert (end["pid"], end["source"]) == (pid, "none")
    assert "signal" not in end
    assert "exit_code" not in end


def test_the_raylet_too_but_no_other_process(node: Callable[..., Node]) -> None:
    raylet, other = node(), node()
    pids = {raylet.fork() for _ in range(3)}
    other.fork()
    raylet.look()
    assert {process.pid for process in raylet.watcher._watched.values()} == {raylet.pid, *pids}
    raylet.stop()
    assert {end["pid"] for end in raylet.ends(4)} == {raylet.pid, *pids}


def test_a_bounded_number_is_watched_and_each_end_frees_its_file(
    node: Callable[..., Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exits, "_MAX_WATCHED", 3)
    raylet = node()
    for _ in range(5):
        raylet.fork()
    files = len(os.listdir("/proc/self/fd"))
    raylet.look()
    assert len(raylet.watcher._watched) == 3
    assert len(os.listdir("/proc/self/fd")) == files + 3
    raylet.stop()
    raylet.ends(3)
    assert len(os.listdir("/proc/self/fd")) == files - 2  # the pipes of the parent


@pytest.fixture
def small_cgroup() -> Iterator[Path]:
    """A cgroup of 64 MiB, where this user may make one."""
    own = Path(exits.cgroups(Path("/proc/self/cgroup").read_text())[0]) / f"rayscope-{os.getpid()}"
    try:
        own.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error}")
    limit = next((own / n for n in ("memory.max", "memory.limit_in_bytes") if (own / n).exists()), None)
    try:
        if limit is None:
            pytest.skip("cgroups do not limit memory here")
        limit.write_text(str(64 * MIB))
        yield own
    finally:
        wait_until(lambda: not (own / "cgroup.procs").read_text(), "an empty cgroup")
        own.rmdir()


@KNOWS_STATUS
def test_the_kernel_kills_one_for_lack_of_memory(node: Callable[..., Node], small_cgroup: Path) -> None:
    raylet = node()
    greedy, other = raylet.fork("bytearray(200 << 20)"), raylet.fork()
    (small_cgroup / "cgroup.procs").write_text(str(greedy))
    raylet.look()
    raylet.look()
    os.kill(greedy, signal.SIGUSR1)
    (end,) = raylet.ends()
    assert (end["pid"], end["signal"], end["oom_kills"]) == (greedy, "SIGKILL", 1)
    assert end["cgroup_limit"] == 64 * MIB
    assert 0 <= end["cgroup_used"] <= 64 * MIB
    if raylet.watcher._kernel_log._fd >= 0:
        assert f"Killed process {greedy} " in end["kernel_record"]
    os.kill(other, signal.SIGKILL)
    end = raylet.ends(2)[1]
    assert (end["pid"], end["signal"]) == (other, "SIGKILL")
    assert end["kernel_record"] is None


def write(folder: Path, **files: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


@KNOWS_STATUS
def test_a_kill_is_counted_some_looks_before_the_process_has_ended(
    node: Callable[..., Node], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, memory__events="oom_kill 2")
    monkeypatch.setattr(exits, "cgroups", lambda _: (str(tmp_path),))
    raylet = node()
    slow, later = raylet.fork(), raylet.fork()
    raylet.look()
    write(tmp_path, memory__events="oom_kill 3")
    raylet.look()
    raylet.look()
    os.kill(slow, signal.SIGKILL)
    assert raylet.ends()[0]["oom_kills"] == 1
    for _ in range(10):
        raylet.look()
    os.kill(later, signal.SIGKILL)
    assert raylet.ends(2)[1]["oom_kills"] == 0


def test_memory_of_a_cgroup_v2(tmp_path: Path) -> None:
    write(tmp_path, memory__current=900)
    write(tmp_path / "pod", memory__max=500 * MIB, memory__current=400 * MIB)
    write(
        tmp_path / "pod" / "worker",
        memory__max="max",
        memory__current=100 * MIB,
        memory__events="low 0\nhigh 0\nmax 17\noom 3\noom_kill 2\noom_group_kill 0",
    )
    write(tmp_path, vmstat="oom_kill 9")
    folders = exits.cgroups("0::/pod/worker\n", str(tmp_path))
    assert folders == tuple(str(tmp_path / part) for part in ("pod/worker", "pod", ""))
    vmstat = str(tmp_path / "vmstat")
    assert exits.read_memory(folders, vmstat) == Memory(
        500 * MIB, 400 * MIB, (f"{folders[0]}/memory.events", 2)
    )
    # A container sees its own cgroup as the root, and may see a path that does not exist there.
    for text in ("0::/\n", "0::/../../elsewhere\n", "0::/kubepods/x\n", ""):
        assert exits.cgroups(text, str(tmp_path)) == (str(tmp_path),)
    assert exits.read_memory((str(tmp_path),), vmstat) == Memory(None, None, (vmstat, 9))
    assert exits.read_memory((), "") == Memory(None, None, None)


def test_memory_of_a_cgroup_v1(tmp_path: Path) -> None:
    write(tmp_path / "memory", memory__limit_in_bytes=9223372036854771712, memory__usage_in_bytes=1)
    write(
        tmp_path / "memory" / "docker" / "c0ffee",
        memory__limit_in_bytes=64 * MIB,
        memory__usage_in_bytes=63 * MIB,
        memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 4",
    )
    text = "12:cpu,cpuacct:/docker/c0ffee\n4:memory:/docker/c0ffee\n1:name=systemd:/x:y\n0::/\n"
    folders = exits.cgroups(text, str(tmp_path))
    assert folders[0] == str(tmp_path / "memory" / "docker" / "c0ffee")
    assert exits.read_memory(folders, "") == Memory(
        64 * MIB, 63 * MIB, (f"{folders[0]}/memory.oom_control", 4)
    )
    other = exits.cgroups(text.replace("c0ffee", "decaf"), str(tmp_path))
    assert other == (str(tmp_path / "memory"),)
    assert exits.read_memory(other, "") == Memory(None, None, None)


def test_only_kills_that_the_same_file_counts_are_compared() -> None:
    assert exits.increase(("a", 3), ("a", 5)) == 2
    assert exits.increase(("a", 3), ("a", 0)) == 0  # a new cgroup of the same name
    assert exits.increase(("a", 3), ("b", 5)) is exits.increase(None, ("a", 1)) is None


def test_records_of_the_kernel(tmp_path: Path) -> None:
    log = KernelLog(namespace=str(tmp_path))
    log.read()  # nothing in a container
    for record in (
        b"3,1500,99,-;Memory cgroup out of memory: Killed process 71 (ray::f) total-vm:9kB, UID:0\n SUB=x\n",
        b"3,1501,99,-;Out of memory: Killed process 72 (a\xff\x1bb) total-vm:9kB\n",
        b"6,1502,99,-;oom_reaper: reaped process 73 (ray::f), now anon-rss:0kB\n",
        b"garbage",
    ):
        log.note(record)
    assert log.killed == {
        71: "Memory cgroup out of memory: Killed process 71 (ray::f) total-vm:9kB, UID:0",
        72: "Out of memory: Killed process 72 (a\N{REPLACEMENT CHARACTER} b) total-vm:9kB",
    }
    for number in range(500):
        log.note(f"3,1,1,-;Killed process {number} ({'x' * 300})".encode())
    assert len(log.killed) == 100
    assert len(log.killed[499]) == 200


def test_a_core_dump_changes_no_signal() -> None:
    assert exits.explain(signal.SIGSEGV | 0x80) == {"signal": "SIGSEGV"}


def test_only_an_agent_of_a_raylet_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr(exits, "Watcher", lambda *given: SimpleNamespace(run=lambda: started.append(given)))
    reporter = report.Reporter()
    monkeypatch.delenv("RAY_RAYLET_PID", raising=False)
    entry.watch_exits(reporter)
    monkeypatch.setenv("RAY_RAYLET_PID", "77")
    monkeypatch.setenv(WATCH_EXITS, "0")
    entry.watch_exits(reporter)
    assert not started
    monkeypatch.delenv(WATCH_EXITS)
    entry.watch_exits(reporter)
    wait_until(lambda: started, "the thread")
    assert started == [(77, reporter, "/tmp")]

    def refused(*_: Any) -> Any:
        raise PermissionError

    monkeypatch.setattr(exits, "Watcher", refused)
    entry.watch_exits(reporter)


def test_ends_wait_in_a_limited_number() -> None:
    reporter = report.Reporter()
    for number in range(report.MAX_ENDS + 5):
        reporter.process_ended({"pid": number})
    said = reporter.report()
    assert ([end["pid"] for end in said["ended"]], said["ends_dropped"]) == (list(range(5, 55)), 5)
    reporter.process_ended({"pid": -1})  # while the report is under way, it pushes out the first end
    reporter.forget(said["ended"])
    again = reporter.report()
    assert (again["ended"][0]["pid"], again["ends_dropped"]) == (55, 6)
    reporter.forget(again["ended"], is_lost=True)
    assert reporter.report()["ends_dropped"] == 56


@pytest.mark.parametrize(("refusal", "dropped"), [(503, 0), (400, 1), (413, 1)])
def test_an_end_is_sent_until_the_server_takes_it(
    monkeypatch: pytest.MonkeyPatch, refusal: int, dropped: int
) -> None:
    monkeypatch.setattr(report, "EVERY_S", 0.05)
    monkeypatch.setattr(report, "AT_MOST_EVERY_S", 0.01)
    bodies: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(report.json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(refusal if len(bodies) == 1 else 204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Keep quiet."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv(EXPORT_ADDR, f"http://127.0.0.1:{server.server_port}/api/ingest/k/ray-events")
        reporter = report.Reporter()
        reporter.process_ended({"pid": 7})
        reporter.took_lane(1)
        reporter.start()
        wait_until(lambda: len(bodies) >= 3, "reports")
        server.shutdown()
    sent = [[end["pid"] for end in body["ended"]] for body in bodies[:3]]
    assert sent == [[7], [] if dropped else [7], []]
    assert bodies[2]["ends_dropped"] == dropped
