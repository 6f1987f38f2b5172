"""Shared by the benchmarks: report headers, tables, and a monitored server process."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import http.client
import importlib.metadata
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import psutil

HERE = Path(__file__).parent
SRC = HERE.parent / "src"
CACHE = Path(os.environ.get("RAYSCOPE_BENCH_CACHE", "~/.cache/rayscope-benchmarks")).expanduser()


def environment() -> dict[str, str]:
    """The environment variables, with this checkout's package first in PYTHONPATH."""
    paths = [str(SRC), str(HERE), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def parse_arguments(parser: argparse.ArgumentParser, **smallest: Any) -> argparse.Namespace:
    """Parse the command line. With ``--smallest``, ``smallest`` replaces the defaults of these options.

    ``--quick`` is its name in older commits, with which ``ab.py`` compares.
    """
    names = ("--smallest", "--quick")
    parser.add_argument(*names, action="store_true", help="the least work with which every part runs")
    if not set(names).isdisjoint(sys.argv):
        parser.set_defaults(**smallest)
    return parser.parse_args()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def machine() -> str:
    """A short description of the machine."""
    memory = psutil.virtual_memory().total / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}"


def versions(packages: Sequence[str]) -> dict[str, str]:
    """The versions of Python and of the packages."""
    return {"Python": platform.python_version(), **{name: _version(name) for name in packages}}


def now() -> str:
    """The current date and time, in UTC."""
    return f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC"


def header(title: str, packages: Sequence[str]) -> str:
    """The title, the machine, versions, and the machine's load."""
    before = psutil.cpu_percent(interval=2.0)
    lines = [
        f"# {title}",
        "",
        f"- Date: {now()}",
        f"- Machine: {machine()}",
        "- " + ", ".join(f"{name} {version}" for name, version in versions(packages).items()),
        f"- Other load before the start: {before:.0f} % of all cores over 2 s, load average "
        + " ".join(f"{value:.1f}" for value in os.getloadavg()),
    ]
    return "\n".join(lines) + "\n"


def save(file: Path, packages: Sequence[str], results: Any) -> None:
    """Write results as JSON with date, machine and command: see ``benchmarks/results``."""
    about = {
        "date": now(),
        "machine": machine(),
        "versions": versions(packages),
        "command": " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "load_average": os.getloadavg(),
    }
    file.write_text(json.dumps({**about, "results": results}, indent=1) + "\n", encoding="utf-8")


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def quantile(values: Sequence[float], q: float) -> float:
    """The ``q``-quantile of the values, 0 if there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * q))] if ordered else 0.0


def ms(seconds: float) -> str:
    """Seconds as whole milliseconds."""
    return f"{seconds * 1000:.0f} ms"


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Run ``count`` busy processes, to simulate other programs on the machine."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def cpu_of(process: psutil.Process) -> float:
    """CPU seconds of a process and of the children it has waited for."""
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


class Http:
    """A client with a keep-alive connection, for one thread."""

    def __init__(self, url: str, timeout: float = 120) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)

    def get(self, path: str) -> Any:
        """The JSON response of a GET request. Raises RuntimeError unless the status is 200."""
        return self._request("GET", path, None)

    def post(self, path: str, body: Any) -> Any:
        """The JSON response of a POST request. Raises RuntimeError unless the status is 200."""
        return self._request("POST", path, json.dumps(body).encode())

    def _request(self, method: str, path: str, body: bytes | None) -> Any:
        self._connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        response = self._connection.getresponse()
        data = response.read()
        if response.status != 200:
            raise RuntimeError(f"{method} {path}: {response.status} {data[:300]!r}")
        return json.loads(data)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def ask_once_ended(url: str, ask: Callable[[Http], Any], timeout: float = 60) -> dict[str, Any]:
    """The response about a job once its end is recorded, or the last one after ``timeout`` s."""
    deadline = time.monotonic() + timeout
    while True:
        client = Http(url)  # a new one, because the server closes idle connections
        try:
            answer = ask(client)
            if not answer["so_far"] or time.monotonic() > deadline:
                return dict(answer)
        except RuntimeError as error:
            if time.monotonic() > deadline or " 404 " not in str(error):
                raise
        finally:
            client.close()
        time.sleep(1)


class Watched:
    """A running program with access to its output, and to its memory and CPU usage."""

    def __init__(self, command: Sequence[str], env: dict[str, str] | None = None, **options: Any) -> None:
        self.popen = subprocess.Popen(
            list(command), env=env or environment(), stdout=subprocess.PIPE, text=True, **options
        )
        # Never leave the process running, whatever fails.
        atexit.register(self._end)
        self.process = psutil.Process(self.popen.pid)
        self.peak_rss = 0
        self._done = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()

    def _end(self) -> None:
        with contextlib.suppress(OSError):
            if self.popen.poll() is None:
                self.popen.kill()

    def line(self) -> str:
        """The next line of its output. Raises RuntimeError at the end."""
        line = self.popen.stdout.readline() if self.popen.stdout else ""
        if not line:
            raise RuntimeError(f"{self.popen.args!r} ended with {self.popen.wait()}")
        return line.rstrip("\n")

    def rss(self) -> int:
        """Resident memory including children, bytes."""
        try:
            family = [self.process, *self.process.children(recursive=True)]
            return sum(one.memory_info().rss for one in family)
        except psutil.Error:
            return 0

    def cpu(self) -> float:
        """CPU seconds so far, including living children."""
        total = cpu_of(self.process)
        for child in self.process.children(recursive=True):
            try:
                total += cpu_of(child)
            except psutil.Error:
                continue
        return total

    def _sample(self) -> None:
        while not self._done.wait(0.2):
            self.peak_rss = max(self.peak_rss, self.rss())

    def stop(self, number: int = signal.SIGTERM, timeout: float = 120) -> None:
        """Request its end and wait. Kill it after the timeout."""
        self._done.set()
        self._sampler.join()
        if self.popen.poll() is None:
            self.popen.send_signal(number)
        try:
            self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        if self.popen.stdout:
            self.popen.stdout.close()


class Sink(Watched):
    """A server process that discards everything it receives."""

    def __init__(self) -> None:
        super().__init__([sys.executable, str(HERE / "sink.py")])
        self.ingest_url: str = json.loads(self.line())["url"] + "api/ingest/key/ray-events"


class RayscopeServer(Watched):
    """The real server as a separate process, on a free port."""

    def __init__(self, data_dir: Path, *, log: IO[bytes] | None = None, **settings: str) -> None:
        command = [sys.executable, str(HERE / "serve.py"), str(data_dir)]
        super().__init__(command, {**environment(), **settings}, stderr=log)
        about = json.loads(self.line())
        self.url: str = about["url"]
        self.ingest_url: str = about["ingest_url"]
        self.parser: str = about["parser"]
        deadline = time.monotonic() + 60
        while True:
            try:
                client = Http(self.url)
                client.get("/api/health")
                client.close()
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def wait_until_merged(self, timeout: float = 600, quiet: float = 0.0) -> float:
        """Wait until no batch has been waiting for ``quiet`` s. Returns when that period began."""
        client = Http(self.url)
        deadline = time.monotonic() + timeout
        since: float | None = None
        while time.monotonic() < deadline:
            now = time.monotonic()
            if client.get("/api/health")["pending_batches"]:
                since = None
            else:
                since = since or now
                if now - since >= quiet:
                    client.close()
                    return since
            time.sleep(0.02 if not quiet else 0.1)
        raise RuntimeError("batches still wait to be merged")
