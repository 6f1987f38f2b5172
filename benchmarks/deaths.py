"""Causes of death, compared with the truth: each kind happens for real in a recorded cluster.

    python benchmarks/deaths.py                       # all kinds, about 15 minutes
    python benchmarks/deaths.py --only cancel idle    # some of them
    python benchmarks/deaths.py --facts /tmp/facts    # write what is recorded of each, and compare nothing

Prints the cause that Rayscope shows for each worker, actor, node, or job, and the verdict: it is right,
unknown (the truth may be among the candidates), or wrong. The exit status is 1 if one is wrong, or if
fewer than 23 are right.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psutil

from common import HERE, Http, RayscopeServer, header, parse_arguments, save, table
from rayscope.cli import serving
from whatif import Cluster

PROGRAMS = HERE / "deaths_programs.py"
#: How many must be right.
MIN_RIGHT = 23
#: How long a death may take to be in the record, s.
WAIT_S = 25.0
#: How long a program may take, s.
PROGRAM_S = 200.0
#: How long later reports may take, such as that of a job's state, s.
SETTLE_S = 8.0


class Impossible(Exception):
    """This machine cannot cause this kind of death."""


@dataclass
class Said:
    """The output of a program: its job, what died, and the errors of its tasks."""

    jobs: list[str] = field(default_factory=list)
    subjects: list[tuple[str, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    ready: int | None = None

    def read(self, line: str) -> None:
        """Read a line of the program's output."""
        word, _, rest = line.strip().partition(" ")
        if word == "JOB" and rest not in self.jobs:
            self.jobs.append(rest)
        elif word == "SUBJECT":
            kind, _, id_ = rest.partition(" ")
            self.subjects.append((kind, id_))
        elif word == "ERROR":
            self.errors.append(rest)
        elif word == "READY":
            self.ready = int(rest)

    def read_all(self, lines: Iterable[str]) -> None:
        """Read all lines."""
        for line in lines:
            self.read(line)


class Lab:
    """A server, a cluster that it records, and a small disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = RayscopeServer(folder / "data")
        try:
            self.cluster = Cluster(4, self.server.ingest_url, folder / "r")
        except BaseException:
            self.server.stop()
            raise
        self.env = {**self.cluster.env, "RAYSCOPE_DATA_DIR": str(folder / "data"), "PYTHONUNBUFFERED": "1"}
        self.log = (folder / "drivers.log").open("w")
        self.nodes: list[subprocess.Popen[Any]] = []
        self.session = ""

    def connect(self) -> None:
        """Wait until the cluster is in the record."""
        deadline = time.monotonic() + WAIT_S
        while not (session := self.get("/api/v1/sessions")["items"][0])["gcs_address"]:
            if time.monotonic() > deadline:
                raise RuntimeError("the address of the cluster is not recorded")
            time.sleep(0.5)
        self.session = session["session"]
        # The same address as in the record: `rayscope run` takes another one for another cluster.
        self.env["RAY_ADDRESS"] = session["gcs_address"]

    def get(self, path: str) -> Any:
        """The server's response."""
        client = Http(self.server.url)
        try:
            return client.get(path)
        finally:
            client.close()

    def sql(self, query: str) -> list[dict[str, Any]]:
        """The rows of a query."""
        client = Http(self.server.url)
        try:
            answer = client.post("/api/v1/sql", {"session": self.session, "sql": query, "limit": 1000})
        finally:
            client.close()
        return [
            dict(zip([name for name, _ in answer["columns"]], row, strict=True)) for row in answer["rows"]
        ]

    def start(self, program: str, *, recorded: bool = False, **env: str) -> subprocess.Popen[str]:
        """Start a program as a driver."""
        command = [sys.executable, str(PROGRAMS), program]
        if recorded:
            command = [sys.executable, "-m", "rayscope.cli", "run", "--exit", *command]
        return subprocess.Popen(
            command,
            env={**self.env, **env},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            start_new_session=True,
        )

    def run(self, program: str, **options: Any) -> Said:
        """Run a program to its end."""
        said = Said()
        said.read_all(self.lines(self.start(program, **options)))
        if not said.jobs:
            raise RuntimeError(f"{program} did not reach Ray")
        return said

    def lines(self, process: subprocess.Popen[str]) -> Iterator[str]:
        """The lines of its output, until its end. It is killed after a while."""
        timer = threading.Timer(PROGRAM_S, process.kill)
        timer.start()
        try:
            yield from process.stdout or ()
            process.wait()
        finally:
            timer.cancel()

    def until_ready(self, lines: Iterator[str], said: Said) -> int:
        """Read a program's output until it is ready. Returns its process ID."""
        for line in lines:
            said.read(line)
            if said.ready:
                return said.ready
        raise RuntimeError("the driver ended early")

    def add_node(self, resources: str, **env: str) -> tuple[str, psutil.Process]:
        """Start another raylet. Returns its ID and its process."""
        before = self._alive()
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block"]
        command += [f"--address={self.env['RAY_ADDRESS']}", "--node-ip-address=127.0.0.1", "--num-cpus=0"]
        command += ["--min-worker-port=0", "--max-worker-port=0", "--object-store-memory=100000000"]
        port = serving.free_port("127.0.0.1", random.randrange(20_000, 32_000))
        command += [f"--dashboard-agent-listen-port={port}", f"--resources={json.dumps({resources: 1})}"]
        log = (self.folder / f"node-{len(self.nodes)}.log").open("w")
        process = subprocess.Popen(command, env={**self.env, **env}, stdout=log, stderr=log)
        self.nodes.append(process)
        deadline = time.monotonic() + 60
        while not (new := self._alive() - before):
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError(Path(log.name).read_text()[-2000:])
            time.sleep(0.5)
        for child in psutil.Process(process.pid).children(recursive=True):
            if child.name().startswith("raylet"):
                return new.pop(), child
        raise RuntimeError("no raylet")

    def _alive(self) -> set[str]:
        return {row["id"] for row in self.sql("SELECT id FROM node_rows WHERE state = 'ALIVE'")}

    def wait_for_end(self, subjects: Sequence[tuple[str, str]]) -> bool:
        """Wait until all of them are dead in the record."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            left = 0
            for kind, id_ in subjects:
                rows = self.sql(f"SELECT end_ns FROM {kind}_rows WHERE id = '{id_}' AND end_ns > 0")
                left += not rows
            if not left:
                time.sleep(0.5)
                return True
            time.sleep(0.5)
        return False

    def facts(self, said: Said) -> dict[str, Any]:
        """Everything that is recorded about these jobs and subjects."""
        jobs = ", ".join(f"'{one}'" for one in said.jobs) or "''"
        ids = ", ".join(f"'{id_}'" for _, id_ in said.subjects) or "''"
        return {
            "session": self.session,
            "jobs": said.jobs,
            "subjects": said.subjects,
            "errors": said.errors,
            "worker_rows": self.sql(
                f"SELECT * FROM worker_rows WHERE job_id IN ({jobs}) OR id IN ({ids}) ORDER BY start_ns"
            ),
            "actor_rows": self.sql(
                f"SELECT * FROM actor_rows WHERE job_id IN ({jobs}) OR id IN ({ids}) ORDER BY start_ns"
            ),
            "job_rows": self.sql(f"SELECT * FROM job_rows WHERE id IN ({jobs}, {ids}) ORDER BY id"),
            "node_rows": self.sql(f"SELECT * FROM node_rows WHERE state = 'DEAD' OR id IN ({ids})"),
            "failed_attempts": self.sql(
                "SELECT * REPLACE (error_message[:600] AS error_message) "
                f"FROM attempts WHERE job_id IN ({jobs}) AND (state = 'FAILED' OR error_type IS NOT NULL)"
            ),
        }

    def stop(self) -> None:
        """Stop all of it."""
        for node in self.nodes:
            node.terminate()
        for node in self.nodes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                node.wait(20)
            node.kill()
        self.cluster.stop()
        self.server.stop()


def full_disk(name: str) -> Callable[[Lab], Said]:
    """A program that writes to a full disk."""

    def cause(lab: Lab) -> Said:
        disk = lab.folder / "full"
        disk.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)]
        if subprocess.run(command, capture_output=True).returncode:
            raise Impossible("no file system can be mounted")
        try:
            said = lab.run(name, recorded=True, DEATHS_FULL=str(disk))
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)
        said.subjects = said.subjects or [("job", said.jobs[0])]
        return said

    return cause


def kernel_oom(lab: Lab) -> Said:
    """A worker in a memory cgroup that is too small."""
    root = Path("/sys/fs/cgroup")
    folder = root / "memory" if (root / "memory").is_dir() else root
    is_enabled = folder != root or "memory" in (root / "cgroup.subtree_control").read_text().split()
    if not is_enabled or not os.access(folder / "cgroup.procs", os.W_OK):
        raise Impossible("no memory cgroup can be written")
    return lab.run("kernel_oom")


def memory_monitor(lab: Lab) -> Said:
    """A node that is soon low on memory, according to Ray."""
    memory = psutil.virtual_memory()
    if memory.available < 4 * 2**30:
        raise Impossible("less than 4 GiB of memory are available")
    threshold = 1 - memory.available / memory.total + 1.5 * 2**30 / memory.total
    lab.add_node("low", RAY_memory_usage_threshold=f"{threshold:.3f}")
    return lab.run("memory_monitor")


def on_node(end: Callable[[Lab, str, psutil.Process], Any]) -> Callable[[Lab], Said]:
    """A node that ends while an actor runs there."""

    def cause(lab: Lab) -> Said:
        node_id, raylet = lab.add_node("other")
        go = lab.folder / f"go-{node_id}"
        said = Said()
        lines = lab.lines(lab.start("on_node", DEATHS_GO=str(go)))
        lab.until_ready(lines, said)
        end(lab, node_id, raylet)
        said.subjects.insert(0, ("node", node_id))
        lab.wait_for_end(said.subjects)
        go.write_text("{}")
        said.read_all(lines)
        return said

    return cause


def drain(lab: Lab, node_id: str, reason: str, *more: str) -> None:
    """Drain a node as an autoscaler does."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "drain-node", f"--node-id={node_id}"]
    command += [f"--address={lab.env['RAY_ADDRESS']}", f"--reason=DRAIN_NODE_REASON_{reason}"]
    command += ["--reason-message=caused by a benchmark", *more]
    subprocess.run(command, env=lab.env, check=True, capture_output=True, timeout=60)


def node_drained(lab: Lab) -> Said:
    """An idle node. Ray refuses to drain others as idle."""
    node_id, _ = lab.add_node("other")
    time.sleep(3)
    drain(lab, node_id, "IDLE_TERMINATION")
    return Said(subjects=[("node", node_id)])


def preempt(lab: Lab, node_id: str, raylet: psutil.Process) -> None:
    """Drain a node as a cloud preempts it, and take it away."""
    drain(lab, node_id, "PREEMPTION", "--deadline-remaining-seconds=5")
    time.sleep(6)
    with contextlib.suppress(psutil.NoSuchProcess):
        raylet.terminate()


def signalled(number: int) -> Callable[[Lab], Said]:
    """A driver that gets a signal, started with ``rayscope run``."""

    def cause(lab: Lab) -> Said:
        said = Said()
        lines = lab.lines(lab.start("stay", recorded=True))
        pid = lab.until_ready(lines, said)
        time.sleep(1)
        os.kill(pid, number)  # a terminal sends it to the driver, too
        said.read_all(lines)
        said.subjects.insert(0, ("job", said.jobs[0]))
        return said

    return cause


def job_stopped(lab: Lab) -> Said:
    """A job of Ray's job API, stopped there."""
    url = f"http://127.0.0.1:{lab.cluster.dashboard_port}/api/jobs/"
    entrypoint = f"{sys.executable} {PROGRAMS} stay"
    submitted = httpx.post(url, json={"entrypoint": entrypoint}, timeout=60).raise_for_status().json()
    id_ = submitted["submission_id"]
    said = Said()
    deadline = time.monotonic() + 60
    while not said.ready:
        if time.monotonic() > deadline:
            raise RuntimeError("the submitted job did not start")
        time.sleep(1)
        said = Said()
        said.read_all(httpx.get(f"{url}{id_}/logs", timeout=60).json()["logs"].splitlines())
    httpx.post(f"{url}{id_}/stop", timeout=60).raise_for_status()
    said.subjects.insert(0, ("job", said.jobs[0]))
    return said


def ray_stop(lab: Lab) -> Said:
    """What ``ray stop`` does, for this cluster alone."""
    process = lab.start("stay")
    said = Said()
    lab.until_ready(lab.lines(process), said)
    head = lab.sql("SELECT id FROM node_rows WHERE is_head AND state = 'ALIVE'")[0]["id"]
    family = psutil.Process(lab.cluster.pid).children(recursive=True)
    raylets = [one for one in family if one.name().startswith("raylet")]
    servers = [one for one in family if one.name().startswith("gcs_server")]
    others = [one for one in family if one not in [*raylets, *servers]]
    for bucket in (raylets, others, servers):
        for end in (psutil.Process.terminate, psutil.Process.kill):
            for one in bucket:
                with contextlib.suppress(psutil.NoSuchProcess):
                    end(one)
            psutil.wait_procs(bucket, timeout=16 / 3)
    process.kill()
    process.wait()
    said.subjects.insert(0, ("node", head))
    return said


@dataclass(frozen=True)
class Kind:
    """A kind of death: how to cause it, and the codes of its cause that are right.

    ``shallow``: codes that are true, but hide the cause. ``says``: a text that the chain must contain.
    """

    cause: Callable[[Lab], Said]
    accepted: tuple[str, ...]
    shallow: tuple[str, ...] = ()
    says: str = ""


def by_program(name: str, *accepted: str, shallow: tuple[str, ...] = (), says: str = "") -> Kind:
    """A kind that a program causes by itself."""
    return Kind(lambda lab: lab.run(name), accepted, shallow, says)


def by_driver(name: str, *accepted: str, says: str = "") -> Kind:
    """A driver that ends by itself, started with ``rayscope run``."""

    def cause(lab: Lab) -> Said:
        said = lab.run(name, recorded=True)
        said.subjects.insert(0, ("job", said.jobs[0]))
        return said

    return Kind(cause, accepted, ("job_ended",), says)


KINDS: dict[str, Kind] = {
    "exit_task": by_program("exit_task", "exited", says="3"),
    "exit_zero": by_program("exit_zero", "exited", says="0"),
    "sys_exit": by_program("sys_exit", "actor_exited"),
    "sys_exit_3": by_program("sys_exit_3", "exited", says="3"),
    "sys_exit_task": by_program("sys_exit_task", "exited", says="3"),
    "segfault": by_program("segfault", "crashed", says="SIGSEGV"),
    "abort": by_program("abort", "crashed", says="SIGABRT"),
    "sigkill": by_program("sigkill", "killed"),
    "sigkill_actor": by_program("sigkill_actor", "killed"),
    "sigterm": by_program("sigterm", "terminated"),
    "memory_monitor": Kind(memory_monitor, ("memory_monitor",)),
    "kernel_oom": Kind(kernel_oom, ("kernel_oom",)),
    "ray_kill": by_program("ray_kill", "ray_kill"),
    "out_of_scope": by_program("out_of_scope", "out_of_scope"),
    "exit_actor": by_program("exit_actor", "actor_exited"),
    "terminate": by_program("terminate", "actor_exited"),
    "owner_died": by_program("owner_died", "exited", shallow=("owner_died",)),
    "owner_died_task": by_program("owner_died_task", "exited", shallow=("owner_died", "terminated")),
    "cancel": by_program("cancel", "cancelled"),
    "max_calls": by_program("max_calls", "max_calls"),
    "idle": by_program("idle", "idle"),
    "job_over": by_program("job_over", "job_ended", "finished"),
    "init_raises": by_program("init_raises", "creation_failed", says="ZeroDivisionError"),
    "init_exits": by_program("init_exits", "exited", says="4"),
    "import_error": by_program("import_error", "creation_failed", says="only_here"),
    "group_removed": by_program("group_removed", "placement_group_removed"),
    "working_dir_fails": by_program("working_dir_fails", "runtime_env_failed", says="/does/not/exist.zip"),
    "setup_hook_raises": by_program("setup_hook_raises", "worker_start_failed", shallow=("exited",)),
    "driver_interrupted": Kind(
        signalled(signal.SIGINT), ("interrupted", "driver_interrupted"), ("job_ended",)
    ),
    "driver_terminated": Kind(signalled(signal.SIGTERM), ("terminated", "driver_terminated"), ("job_ended",)),
    "driver_killed": Kind(signalled(signal.SIGKILL), ("killed", "driver_killed"), ("sigkill",)),
    "driver_raises": by_driver("raises", "driver_raised", "driver_failed", says="the driver gives up"),
    "driver_exits": by_driver("exits", "driver_failed", says="7"),
    "import_error_driver": by_driver("import_error_driver", "driver_raised", "task_failed", says="only_here"),
    "full_disk": Kind(full_disk("full_disk"), ("driver_raised", "task_failed"), (), "No space left"),
    "full_disk_actor": Kind(full_disk("full_disk_actor"), ("creation_failed",), (), "No space left"),
    "job_stopped": Kind(job_stopped, ("job_stopped",), ("job_ended",)),
    "serve_health": by_program("serve_health", "health_check_failed", shallow=("ray_kill",)),
    "tune_stop": by_program("tune_stop", "tune_stopped", shallow=("out_of_scope", "placement_group_removed")),
    "train_restart": by_program(
        "train_restart", "train_restarted", "killed", shallow=("ray_kill", "placement_group_removed")
    ),
    "node_stopped": Kind(on_node(lambda lab, node_id, raylet: raylet.terminate()), ("node_stopped",)),
    "node_lost": Kind(on_node(lambda lab, node_id, raylet: raylet.kill()), ("node_lost",)),
    "node_drained": Kind(node_drained, ("node_drained",)),
    "node_preempted": Kind(on_node(preempt), ("node_preempted",)),
    "ray_stop": Kind(ray_stop, ("node_stopped",)),
}


class Shown(NamedTuple):
    """What Rayscope shows of something that died, and the verdict."""

    kind: str
    subject: str
    cause: str
    source: str
    verdict: str
    answer: dict[str, Any]

    def row(self) -> tuple[str, ...]:
        """A row of the table."""
        return self.kind, self.subject, self.cause, self.source, self.verdict


def cause_all(lab: Lab, names: Sequence[str], folder: Path | None) -> dict[str, Said | str]:
    """Cause these kinds. Those that cannot be caused have the reason instead."""
    caused: dict[str, Said | str] = {}
    for name in names:
        began = time.monotonic()
        try:
            said = KINDS[name].cause(lab)
            if not said.subjects:
                raise RuntimeError("nothing died")
        except (Impossible, RuntimeError, OSError, subprocess.SubprocessError, httpx.HTTPError) as error:
            caused[name] = " ".join(str(error).split())[-200:] or repr(error)
            print(f"{name}: {caused[name]}", file=sys.stderr, flush=True)
            continue
        caused[name] = said
        is_recorded = lab.wait_for_end(said.subjects)
        if folder:
            write_facts(lab, name, said, folder)
        took = f"{time.monotonic() - began:.0f} s"
        how = "" if is_recorded else ", but some are alive in the record"
        print(f"{name}: caused in {took}{how}", file=sys.stderr, flush=True)
    return caused


def write_facts(lab: Lab, name: str, said: Said, folder: Path) -> None:
    """Write what is recorded of a kind."""
    facts = {"kind": name, **lab.facts(said)}
    (folder / f"{name}.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")


def compare(lab: Lab, name: str, said: Said) -> list[Shown]:
    """Compare what Rayscope shows with the truth, for everything that died."""
    shown = []
    for subject, id_ in said.subjects:
        items = lab.get(f"/api/v1/deaths?session={lab.session}&kind={subject}&id={id_}")["items"]
        answer = items[0] if items else {"cause": "no death", "chain": [], "candidates": []}
        sources = dict.fromkeys(one["source"] for one in answer["chain"])
        verdict = judge(KINDS[name], answer)
        shown.append(Shown(name, subject, answer["cause"], ", ".join(sources), verdict, answer))
    return shown


def judge(kind: Kind, answer: dict[str, Any]) -> str:
    """The verdict about an answer."""
    cause, possible = answer["cause"], [one["code"] for one in answer["candidates"]]
    if cause in ("unknown", "no death"):
        if not possible:
            return "unknown"
        return "unknown, among the candidates" if {*kind.accepted} & {*possible} else "wrong"
    if cause in kind.accepted:
        is_said = any(kind.says in link["message"] for link in answer["chain"])
        return "right" if is_said else f"right, but does not say {kind.says}"
    return "shallow" if cause in kind.shallow else "wrong"


def report(caused: dict[str, Said | str], shown: list[Shown]) -> str:
    """The table, what was not caused, and the totals. Each kind counts with its first subject."""
    first = {one.kind: one for one in reversed(shown)}
    right = sum(one.verdict == "right" for one in first.values())
    wrong = sum(one.verdict == "wrong" for one in shown)
    lines = [table(("kind", "subject", "cause shown", "source", "verdict"), [one.row() for one in shown])]
    lines += [f"not caused: {name}: {why}" for name, why in caused.items() if isinstance(why, str)]
    lines.append(f"right for {right} of {len(first)} kinds; {wrong} of {len(shown)} causes are wrong")
    return "\n".join(lines)


def is_good(shown: list[Shown], min_right: int) -> bool:
    """Whether none is wrong, and enough kinds are right."""
    right = {one.kind for one in shown if one.verdict == "right"}
    return len(right) >= min_right and all(one.verdict != "wrong" for one in shown)


def main() -> int:
    """Cause all kinds, and print the table."""
    # A shell ignores it in jobs in the background, and all programs would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(KINDS), metavar="KIND")
    parser.add_argument("--facts", type=Path, help="write what is recorded of each kind into this folder")
    parser.add_argument("--save", type=Path, help="write the answers to this file, as JSON")
    args = parse_arguments(parser, only=["ray_kill"])
    print(header("Causes of death", ("ray", "rayscope")), flush=True)
    if args.facts:
        args.facts.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rsx", ignore_cleanup_errors=True) as folder:
        lab = Lab(Path(folder))
        try:
            lab.connect()
            caused = cause_all(lab, args.only or list(KINDS), args.facts)
            time.sleep(SETTLE_S)
            died = {name: said for name, said in caused.items() if isinstance(said, Said)}
            for name, said in died.items() if args.facts else ():
                write_facts(lab, name, said, args.facts)
            shown = [one for name, said in died.items() for one in compare(lab, name, said)]
        finally:
            lab.stop()
    print(report(caused, shown))
    if args.save:
        save(args.save, ("ray", "rayscope"), [one._asdict() for one in shown])
    return 0 if is_good(shown, 0 if args.only else MIN_RIGHT) else 1


if __name__ == "__main__":
    sys.exit(main())
