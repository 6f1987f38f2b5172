"""Real workers that end in different ways, and what their node's agent reports of it."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import sql_rows
from tests.recorded import Recorded
from tests.waiting import wait_until

LINUX = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(LINUX < (6, 15), reason="from Linux 6.15 on, a pidfd has the exit status"),
]

#: Each task waits until an agent has a pidfd of its process.
ENDS = """
import glob, os, signal, time
from pathlib import Path

def is_watched(pid):
    for agent in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            name = Path(agent).read_text()
            if "DashboardAgent" in name or "dashboard/agent.py" in name:
                for file in Path(agent).with_name("fdinfo").iterdir():
                    if f"\\nPid:\\t{pid}\\n" in file.read_text():
                        return True
        except OSError:
            pass
    return False

@ray.remote(num_cpus=1, max_retries=0)
def end(how):
    pid = os.getpid()
    while not is_watched(pid):
        time.sleep(0.2)
    Path(FOLDER, how).write_text(str(pid))
    if how == "exits":
        os._exit(3)
    if how == "crashes":
        os.kill(pid, signal.SIGSEGV)
    time.sleep(600)

tasks = [end.remote(how) for how in ("exits", "crashes", "is_killed")]
killed = Path(FOLDER, "is_killed")
while not (killed.exists() and killed.read_text()):
    time.sleep(0.1)
os.kill(int(killed.read_text()), signal.SIGKILL)
for task in tasks:
    try:
        ray.get(task)
    except ray.exceptions.WorkerCrashedError:
        pass
"""


def test_exit_codes_and_signals_of_workers(cluster: Recorded, tmp_path: Path) -> None:
    cluster.run(ENDS.replace("FOLDER", repr(str(tmp_path))))
    pids = {int((tmp_path / how).read_text()): how for how in ("exits", "crashes", "is_killed")}
    wanted = ", ".join(map(str, pids))

    def known() -> list[dict[str, Any]] | None:
        query = (
            "SELECT e.*, w.worker_id, w.end_ns AS reported_ns FROM process_ends e "
            f"JOIN workers w ON w.node_id = e.node_id AND w.pid = e.pid WHERE e.pid IN ({wanted})"
        )
        rows = sql_rows(cluster.url, query, cluster.session)
        return rows if len(rows) == 3 else None

    ends = {pids[row["pid"]]: row for row in wait_until(known, "the ends of all three")}
    assert {(how, row["exit_code"], row["signal"], row["source"]) for how, row in ends.items()} == {
        ("exits", 3, None, "pidfd"),
        ("crashes", None, "SIGSEGV", "pidfd"),
        ("is_killed", None, "SIGKILL", "pidfd"),
    }
    for row in ends.values():
        assert row["start_ns"] < row["end_ns"]
        assert row["name"].startswith(("ray::", "python"))
        assert row["rss_bytes"] > 1 << 20
        assert 0 < row["memory_available"] < row["memory_total"]
        assert row["disk_free"] > 0
        assert row["fds"] > 3
        assert not row["kernel_record"]
    causes = {
        how: cluster.get("/api/v1/deaths", kind="worker", id=row["worker_id"])["items"][0]["cause"]
        for how, row in ends.items()
    }
    assert causes == {"exits": "exited", "crashes": "crashed", "is_killed": "killed"}
