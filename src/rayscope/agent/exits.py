"""Notices when a worker of the node or its raylet ends, and reports what the operating system knows of it.

Ray itself often knows only that a connection broke. A thread of the agent holds a file descriptor (pidfd) of
each process, so it learns of an end at once, and from Linux 6.15 on also of its exit status. It looks at the
processes and at the node's memory once a second, and reports the last values before the end.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import resource
import select
import signal
import struct
import threading
import time
from collections import deque
from typing import Any, NamedTuple

from rayscope.agent.exit_events import ExitEvents, is_needed
from rayscope.agent.report import Reporter, argument

log = logging.getLogger("rayscope.agent")

#: Interval between looks, in seconds.
EVERY_S = 1.0
#: The kernel counts a kill before the process ends, which may take this many looks on a busy machine.
_KILL_LOOKS = 5
#: Interval between looks at a process's open file descriptors and its cgroup, in looks.
_MORE_EVERY = 5
#: How long the parent of an ended process may take to fetch its status, and the interval of our tries, in s.
#: The kernel hands the status to others only afterwards.
_REAP_S = 2.0
_RETRY_S = 0.02
#: How long the kernel may take to log that it killed a process, in seconds.
_KERNEL_LOG_S = 0.05
#: Maximum number of processes that are watched at once. Each needs a file descriptor.
_MAX_WATCHED = 2000
#: ``PIDFD_GET_INFO`` of <linux/pidfd.h> with the first version of ``struct pidfd_info``, and its flag for the
#: exit status.
_GET_INFO = 0xC040FF0B
_INFO_SIZE = 64
_INFO_EXIT = 1 << 3
_STATUS_AT = 60
#: The name of the first PID namespace. Only there are the PIDs in the kernel's log those of our processes.
FIRST_NAMESPACE = "pid:[4026531836]"
#: Cgroups without a limit report this many bytes or more.
_NO_LIMIT = 1 << 60
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")


def start(reporter: Reporter) -> None:
    """Start to watch, if Linux and its version permit it. Raises OSError if not."""
    if hasattr(os, "pidfd_open") and (raylet := os.environ.get("RAY_RAYLET_PID", "")).isdigit():
        watcher = Watcher(int(raylet), reporter, argument("--session-dir") or "/tmp")  # noqa: S108
        threading.Thread(target=watcher.run, name="rayscope-exits", daemon=True).start()


class Memory(NamedTuple):
    """The memory of a cgroup: its smallest limit and what is used of that, in bytes, and the number of
    processes that the kernel has killed for lack of memory, after the file that counts them. None if unknown.
    """

    limit: int | None
    used: int | None
    oom_kills: tuple[str, int] | None


_UNKNOWN = Memory(None, None, None)


class Stat(NamedTuple):
    """Some fields of ``/proc/PID/stat``.

    ``start_code``: at most 1 if this process may not see it. Then ``exit_status`` is not to be trusted.
    """

    state: str
    parent: int
    start_ticks: int
    start_code: int
    exit_status: int


def read_stat(pid: int) -> Stat | None:
    """Read ``/proc/PID/stat``. Returns None if there is no such process."""
    try:
        fields = _read(f"/proc/{pid}/stat", 2000).rpartition(b")")[2].split()
        return Stat(fields[0].decode(), *(int(fields[at]) for at in (1, 19, 23, 49)))
    except (OSError, ValueError, IndexError):
        return None


class Process:
    """A watched process, as it was last seen."""

    def __init__(self, pid: int, fd: int, stat: Stat) -> None:
        self.pid = pid
        self.fd = fd
        self.stat = stat
        self.name: str | None = None
        self.rss: int | None = None
        self.fds: int | None = None
        self.cgroups: tuple[str, ...] = ()
        self.status: int | None = None
        #: When it ended (ns since the epoch; monotonic, s), how its node was then, and how many processes of
        #: its cgroup the kernel had killed before.
        self.ended = 0, 0.0
        self.node: dict[str, int | None] = {}
        self.kills: tuple[str, int] | None = None

    def look(self, *, more: bool) -> None:
        """Note its title and memory, and if asked for ``more``, its cgroup and open file descriptors."""
        try:
            title = _read(f"/proc/{self.pid}/cmdline", 200).partition(b"\0")[0].decode(errors="replace")
            if not title:  # it just ended
                return
            title = title if title.startswith("ray::") else os.path.basename(title)
            self.name = _printable(title)[:60]
            self.rss = int(_read(f"/proc/{self.pid}/statm", 100).split()[1]) * _PAGE
            if more:
                self.cgroups = cgroups(_text(f"/proc/{self.pid}/cgroup"))
                path = f"/proc/{self.pid}/fd"
                self.fds = os.stat(path).st_size or len(os.listdir(path))  # Linux 6.2 counts them
        except (OSError, ValueError, IndexError):
            pass

    def exit_status(self) -> tuple[int | None, str, bool]:
        """Its exit status as of ``waitpid``, the source of that, and whether a later try may know more."""
        stat = read_stat(self.pid)  # first: once there is none, the pidfd knows the status, if ever
        info = bytearray(_INFO_SIZE)
        struct.pack_into("Q", info, 0, _INFO_EXIT)
        try:
            fcntl.ioctl(self.fd, _GET_INFO, info)
            if struct.unpack_from("Q", info)[0] & _INFO_EXIT:
                return struct.unpack_from("i", info, _STATUS_AT)[0], "pidfd", False
        except OSError:  # an older Linux
            pass
        if stat is None or stat.start_ticks != self.stat.start_ticks:
            return self.status, "none" if self.status is None else "procfs", False
        if self.stat.start_code > 1 and stat.state == "Z":
            self.status = stat.exit_status
        return self.status, "none" if self.status is None else "procfs", True


class Watcher:
    """Watches the process ``raylet`` and its children. ``folder``: where Ray keeps the session's files."""

    def __init__(self, raylet: int, reporter: Reporter, folder: str) -> None:
        self._raylet = raylet
        self._reporter = reporter
        self._folder = folder
        self._boot_ns = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        self._poll = select.poll()
        os.close(os.pidfd_open(os.getpid()))  # raises OSError if that is not permitted
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._limit = _MAX_WATCHED if files < 0 else min(_MAX_WATCHED, files // 2)
        self._watched: dict[int, Process] = {}  # by file descriptor
        self._ended: list[Process] = []
        self._seen: set[int] = {os.getpid()}
        self._looks = 0
        self._next_look = 0.0
        self._node: dict[str, int | None] = {}
        #: The memory of each cgroup at the last look, and its counts of kills at the latest looks before.
        self._memory: dict[tuple[str, ...], Memory] = {}
        self._kills_before: dict[tuple[str, ...], deque[tuple[str, int] | None]] = {}
        self._kernel_log = KernelLog()
        self._events = ExitEvents(needed=is_needed())

    def run(self) -> None:
        """Watch forever. An error costs a look, never the agent."""
        while True:
            try:
                self.step()
            except Exception as error:
                log.debug("the ends of processes cannot be watched: %r", error)
                time.sleep(EVERY_S)

    def step(self) -> None:
        """Wait for an end or the next look, and handle it."""
        wait_s = _RETRY_S if self._ended else self._next_look - time.monotonic()
        for fd, _ in self._poll.poll(max(0, wait_s) * 1000):
            self._poll.unregister(fd)
            process = self._watched.pop(fd)
            process.ended = time.time_ns(), time.monotonic()
            memory = self._memory.get(process.cgroups, _UNKNOWN)
            process.kills = next(iter(self._kills_before.get(process.cgroups, ())), memory.oom_kills)
            process.node = {**self._node, "cgroup_limit": memory.limit, "cgroup_used": memory.used}
            self._ended.append(process)
        for process in tuple(self._ended):
            is_done = True
            try:
                is_done = self._is_reported(process)
            finally:
                if is_done:
                    self._ended.remove(process)
                    os.close(process.fd)
        if (now := time.monotonic()) >= self._next_look:
            self._next_look = now + EVERY_S
            self._look()
        self._reporter.watch_ns = time.thread_time_ns()

    def _look(self) -> None:
        """Find new processes, and note how all of them and the node are."""
        pids = {int(name) for name in os.listdir("/proc") if name.isdigit()}
        unseen, self._seen = pids - self._seen, pids | {os.getpid()}
        for pid in unseen:
            stat = read_stat(pid)
            if stat is not None and self._raylet in (pid, stat.parent):
                self._watch(pid, stat)
        self._looks += 1
        for process in self._watched.values():
            process.look(more=not process.cgroups or self._looks % _MORE_EVERY == 0)
        self._kills_before = {
            groups: deque((*self._kills_before.get(groups, ()), memory.oom_kills), _KILL_LOOKS)
            for groups, memory in self._memory.items()
        }
        self._memory = {
            groups: read_memory(groups) for groups in {process.cgroups for process in self._watched.values()}
        }
        lines = dict(line.split(":", 1) for line in _text("/proc/meminfo").splitlines() if ":" in line)
        for name, line in (("memory_available", "MemAvailable"), ("memory_total", "MemTotal")):
            self._node[name] = int(lines[line].split()[0]) << 10 if line in lines else None
        try:
            disk = os.statvfs(self._folder)
            self._node["disk_free"] = disk.f_bavail * disk.f_frsize
        except OSError:
            self._node["disk_free"] = None
        self._kernel_log.read()
        self._events.read()

    def _watch(self, pid: int, stat: Stat) -> None:
        if len(self._watched) >= self._limit:
            return
        try:
            fd = os.pidfd_open(pid)
        except OSError:  # it just ended, or there are too many files
            return
        self._watched[fd] = Process(pid, fd, stat)
        self._kernel_log.killed.pop(pid, None)  # it was another process's
        self._events.forget(pid)
        self._poll.register(fd, select.POLLIN)

    def _is_reported(self, process: Process) -> bool:
        """Report an ended process, unless more will be known soon."""
        waited_s = time.monotonic() - process.ended[1]
        status, source, may_know_more = process.exit_status()
        if self._events.is_open and source != "pidfd":
            event = self._events.status(process.pid)  # comes shortly after the pidfd says that it ended
            status, source, may_know_more = (
                (status, source, True) if event is None else (event, "connector", False)
            )
        is_killed = status is not None and status & 0x7F == signal.SIGKILL
        if (may_know_more and waited_s < _REAP_S) or (is_killed and waited_s < _KERNEL_LOG_S):
            return False
        if is_killed:
            self._kernel_log.read()
        self._reporter.process_ended(
            {
                "pid": process.pid,
                "start_ns": self._boot_ns + process.stat.start_ticks * _TICK_NS,
                "end_ns": process.ended[0],
                "source": source,
                "name": process.name,
                **({} if status is None else explain(status)),
                "rss_bytes": process.rss,
                "fds": process.fds,
                **process.node,
                "oom_kills": increase(process.kills, count_kills(process.cgroups)),
                "kernel_record": self._kernel_log.killed.get(process.pid) if is_killed else None,
            }
        )
        return True


class KernelLog:
    """The records of processes that the kernel killed for lack of memory, where its log may be read.

    ``killed``: the text for each PID. Only records since this object was made are read.
    """

    def __init__(self, path: str = "/dev/kmsg", namespace: str = "/proc/self/ns/pid") -> None:
        self.killed: dict[int, str] = {}
        self._fd = -1
        try:
            if os.readlink(namespace) == FIRST_NAMESPACE:
                self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                os.lseek(self._fd, 0, os.SEEK_END)
        except OSError:
            pass

    def read(self, limit: int = 1000) -> None:
        """Read new records, up to ``limit``."""
        for _ in range(limit if self._fd >= 0 else 0):
            try:
                record = os.read(self._fd, 8192)
            except BrokenPipeError:  # records were overwritten before we read them
                continue
            except OSError:
                return
            if not record:
                return
            self.note(record)

    def note(self, record: bytes) -> None:
        """Keep a record (``prefix;text``) if it names a killed process. The last 100 are kept."""
        text = record.decode(errors="replace").partition(";")[2].partition("\n")[0]
        if found := re.search(r"Killed process (\d+)", text):
            self.killed[int(found[1])] = _printable(text)[:200]
            if len(self.killed) > 100:
                del self.killed[next(iter(self.killed))]


def explain(status: int) -> dict[str, Any]:
    """The exit code or the signal of an exit status."""
    number = status & 0x7F
    if not number:
        return {"exit_code": status >> 8 & 0xFF}
    try:
        return {"signal": signal.Signals(number).name}
    except ValueError:
        return {"signal": f"SIG{number}"}


def cgroups(text: str, base: str = "/sys/fs/cgroup") -> tuple[str, ...]:
    """The folders of a process's cgroup for memory and those above it, from its ``/proc/PID/cgroup``."""
    paths = {controllers: path for _, controllers, path in (line.split(":", 2) for line in text.splitlines())}
    first = next((path for names, path in paths.items() if "memory" in names.split(",")), None)
    if first is not None:  # cgroup v1
        base = f"{base}/memory"
    folder = f"{base}{first or paths.get('', '')}".rstrip("/")
    if ".." in folder or not os.path.isdir(folder):  # a container sees its own cgroup as the root
        folder = base
    found = [folder]
    while len(folder) > len(base):
        folder = os.path.dirname(folder)
        found.append(folder)
    return tuple(found)


def read_memory(folders: tuple[str, ...], machine: str = "/proc/vmstat") -> Memory:
    """The memory of a cgroup, from its folder and those above. If the cgroup does not count kills, they are
    those of the whole ``machine``.
    """
    limit = used = None
    for folder in folders:
        names = ("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")
        for limits, uses in names:
            here = _text(f"{folder}/{limits}").strip()
            if here.isdigit() and int(here) < (_NO_LIMIT if limit is None else limit):
                limit, used = int(here), _number(_text(f"{folder}/{uses}"))
    return Memory(limit, used, count_kills(folders, machine))


def count_kills(folders: tuple[str, ...], machine: str = "/proc/vmstat") -> tuple[str, int] | None:
    """``oom_kills`` of :func:`read_memory`."""
    files = [f"{folder}/memory.{name}" for folder in folders[:1] for name in ("events", "oom_control")]
    for file in (*files, machine):
        if count := re.search(r"^oom_kill (\d+)$", _text(file), re.MULTILINE):
            return file, int(count[1])
    return None


def increase(before: tuple[str, int] | None, after: tuple[str, int] | None) -> int | None:
    """How much a count increased, None if both are not of the same file."""
    if before is None or after is None or before[0] != after[0]:
        return None
    return max(0, after[1] - before[1])


def _number(text: str) -> int | None:
    return int(text) if text.strip().isdigit() else None


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _read(path: str, size: int) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, size)
    finally:
        os.close(fd)


def _text(path: str) -> str:
    """The text of a small file, "" if it cannot be read."""
    try:
        return _read(path, 65536).decode(errors="replace")
    except OSError:
        return ""
