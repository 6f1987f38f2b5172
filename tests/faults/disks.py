"""A full, read-only, or slow disk: it is reported, nothing is lost, and the server recovers by itself."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from harness import Load, Server, Skip, mounted, wait_for


def full_disk(megabytes: int = 40) -> list[str]:
    """Fill it, kill the server on it, start it on it, make room."""
    faults = []
    with mounted(f"{megabytes}m") as folder:
        server = Server(folder / "data", min_free_bytes="0")
        server.start()
        load = Load(server, threads=4, pause_s=0).start()
        try:
            wait_for(lambda: load.statuses.get(503, 0) > 20, "the disk to be full", 300)
            for path in ("/api/v1/sessions", "/api/v1/summary", f"/api/v1/tasks?session={load.session}"):
                if (status := server.get(path)[0]) != 200:
                    faults.append(f"full: {path} is answered {status}")
            if "full" not in str(server.get("/api/v1/summary")[1]):
                faults.append("full: /api/v1/summary does not say so")
            server.kill()
            server.start()
            subprocess.run(["mount", "-o", "remount,size=2g", str(folder)], check=True)
            load.finish()
            faults += load.losses()
            print(f"  full disk: {load.tasks} tasks, answers {load.statuses}", flush=True)
        finally:
            load.abandon()
            server.stop()
    return faults


def read_only_disk(batches: int = 10) -> list[str]:
    """The spool's folder, then the whole disk at a start, can only be read."""
    faults = []
    with mounted("500m") as folder:
        server = Server(folder / "data")
        server.start()
        load = Load(server).start()
        spool = folder / "data" / "spool"
        try:
            wait_for(lambda: load.acknowledged > 5, "some batches")
            subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(spool)], check=True)
            before = load.refused
            wait_for(lambda: load.refused > before + batches, "batches to be refused")
            wrong = set(load.statuses) - {0, 204, 503}
            if wrong:
                faults.append(f"read-only spool: answered {load.statuses}")
            if server.get("/api/v1/summary")[0] != 200:
                faults.append("read-only spool: reads fail")
            subprocess.run(["umount", str(spool)], check=True)
            load.finish()
            faults += load.losses()
            print(f"  read-only disk: {load.tasks} tasks, answers {load.statuses}", flush=True)
            server.kill()
            # As soon as the processes for SQL have noticed the end of their server.
            read_only = ["mount", "-o", "remount,ro", str(folder)]
            wait_for(lambda: not subprocess.run(read_only, check=False).returncode, "a read-only disk")
            try:
                server.start()
                faults += load.losses()
            except RuntimeError as error:
                if "Traceback" in str(error) or "--data-dir" not in str(error):
                    faults.append(f"read-only at the start: {error}")
        finally:
            load.abandon()
            server.stop()
            subprocess.run(["umount", "-q", str(spool)], check=False, capture_output=True)
    return faults


def slow_disk(batches: int = 20, bytes_per_s: int = 300_000) -> list[str]:
    """A disk that takes a few hundred kilobytes a second, by a control group (version 1, root)."""
    group = Path("/sys/fs/cgroup/blkio/rayscope-faults")
    if os.geteuid() != 0 or not group.parent.joinpath("blkio.throttle.write_bps_device").parent.is_dir():
        raise Skip("a slow disk needs root and control groups of version 1")
    with tempfile.TemporaryDirectory(prefix="rayscope-faults-", dir="/var/tmp") as folder:
        device = os.stat(folder).st_dev
        try:
            group.mkdir(exist_ok=True)
            (group / "blkio.throttle.write_bps_device").write_text(
                f"{os.major(device)}:{os.minor(device)} {bytes_per_s}"
            )
        except OSError as error:
            raise Skip(f"no disk can be slowed here: {error}") from error
        server = Server(Path(folder), fsync="true")
        load = Load(server, threads=4, pause_s=0)
        try:
            server.start()
            assert server.process is not None
            (group / "cgroup.procs").write_text(str(server.process.pid))
            load.start()
            began = load.acknowledged
            wait_for(lambda: load.acknowledged > began + batches, "batches on a slow disk", 60 + 10 * batches)
            slowest = server.get("/api/health")[0]
            faults = [] if slowest == 200 else [f"slow disk: /api/health is answered {slowest}"]
            load.finish()
            faults += load.losses()
            print(f"  slow disk: {load.tasks} tasks, answers {load.statuses}", flush=True)
            return faults
        finally:
            load.abandon()
            server.stop()
            if group.is_dir():
                # Processes that the server started may end a little after it.
                wait_for(lambda: not (group / "cgroup.procs").read_text(), "an empty group")
                group.rmdir()
