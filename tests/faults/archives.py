"""An archive while servers are killed, share it, or have no room to restore a session: no session is lost."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import Load, Server, mounted, record, row_of, wait_for


@contextmanager
def _recorded() -> Iterator[tuple[Path, Load]]:
    """A data directory with one session, and the load that made it."""
    with tempfile.TemporaryDirectory(prefix="rayscope-faults-") as home:
        (load,) = record(Server(Path(home) / "data"))
        yield Path(home), load


def _server(folder: Path, archive: Path) -> Server:
    """A server that seals a session as soon as it can."""
    return Server(folder, archive=f"file://{archive}", archive_after_min="0")


def _is_archived(server: Server, session: str) -> bool:
    return row_of(server, session).get("location") in ("both", "archive")


def _verified(archive: Path) -> list[str]:
    """What ``rayscope archive verify`` finds wrong."""
    command = [sys.executable, "-m", "rayscope.cli", "archive", "verify", "--archive", f"file://{archive}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [f"verify: {done.stderr[-400:]}"] if done.returncode else []


def _restored(folder: Path, archive: Path, load: Load) -> list[str]:
    """Differences of the session on a server whose disk does not have it."""
    server = load.server = _server(folder, archive)
    try:
        server.start()
        wait_for(lambda: _is_archived(server, load.session), "the archive to be listed", 120)
        return load.losses()
    finally:
        server.stop()


def killed_pushes_and_restores(rounds: int) -> list[str]:
    """kill -9 while a session is sealed, and while it is brought back."""
    chance, faults = random.Random(1), []
    with _recorded() as (home, load):
        archive = home / "archive"
        pusher = _server(home / "data", archive)
        for _ in range(rounds):
            pusher.start()
            time.sleep(chance.uniform(0, 2))
            pusher.kill()
        pusher.start()
        wait_for(lambda: _is_archived(pusher, load.session), "the archive", 120)
        pusher.stop()
        faults += _verified(archive)
        reader = _server(home / "other", archive)
        for _ in range(rounds):
            reader.start()
            wait_for(lambda: _is_archived(reader, load.session), "the archive to be listed", 120)
            asking = subprocess.Popen(
                ["curl", "-s", "-o", "/dev/null", f"{reader.url}/api/v1/tasks?session={load.session}&limit=1"]
            )
            time.sleep(chance.uniform(0, 1))
            reader.kill()
            asking.wait()
        faults += _restored(home / "other", archive, load)
        left = [path.name for path in (home / "other" / "archive").glob("*")]
        if left:
            faults.append(f"a restore left {left}")
        print(f"  {rounds} kills in pushes, {rounds} in restores: {load.tasks} tasks", flush=True)
    return faults


def two_pushers(rounds: int) -> list[str]:
    """Two servers with the same session seal it into one archive at the same moment."""
    faults = []
    with _recorded() as (home, load):
        archive = home / "archive"
        for number in range(rounds):
            shutil.rmtree(archive, ignore_errors=True)
            shutil.copytree(home / "data", home / "copy")
            servers = [_server(home / "data", archive), _server(home / "copy", archive)]
            try:
                for server in servers:
                    server.start(wait=False)
                for server in servers:
                    wait_for(server.answers, "a server", 120)
                    wait_for(lambda one=server: _is_archived(one, load.session), "the archive", 120)
            finally:
                for server in servers:
                    server.kill(15)
            faults += [f"round {number}: {fault}" for fault in _verified(archive)]
            faults += [f"round {number}: {fault}" for fault in _restored(home / "third", archive, load)]
            for folder in ("copy", "third"):
                shutil.rmtree(home / folder)
        print(f"  {rounds} x two pushers: {load.tasks} tasks", flush=True)
    return faults


def full_disk_at_restore(_: int) -> list[str]:
    """No room to restore a session: the question says so, nothing half is left, and later it works."""
    faults = []
    with _recorded() as (home, load), mounted("64m") as disk:
        archive = home / "archive"
        pusher = _server(home / "data", archive)
        pusher.start()
        wait_for(lambda: _is_archived(pusher, load.session), "the archive", 120)
        pusher.stop()
        for free in ("0", "1000000"):
            server = Server(disk / "data", archive=f"file://{archive}", min_free_bytes=free)
            server.start()
            try:
                wait_for(lambda one=server: _is_archived(one, load.session), "the archive to be listed", 120)
                room = shutil.disk_usage(disk).free - 500_000
                (disk / "filler").write_bytes(bytes(room))
                status, answer = server.get(f"/api/v1/tasks?session={load.session}&limit=1")
                if status != 503 or "space" not in str(answer):
                    faults.append(f"min_free_bytes={free}: answered {status}: {str(answer)[:200]}")
                if server.get("/api/v1/summary?session=" + load.session)[0] not in (200, 503):
                    faults.append("the summary fails otherwise")
                left = list((disk / "data").rglob("record.duckdb*")) + list((disk / "data").glob("archive/*"))
                if left:
                    faults.append(f"a restore left {left}")
                if "Traceback" in server.log():
                    faults.append(f"a traceback: {server.log()[-800:]}")
            finally:
                server.stop()
                (disk / "filler").unlink(missing_ok=True)
        subprocess.run(["mount", "-o", "remount,size=2g", str(disk)], check=True)
        faults += _restored(disk / "data", archive, load)
        print(f"  full disk at a restore: {load.tasks} tasks", flush=True)
    return faults
