"""Usage reports of nodes, recorded on real clusters of each version of Ray."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayscope.ray.agents.usage import UsageFeed, node_stats
from rayscope.ray.gcs.client import GcsClient

SAMPLES = Path(__file__).parents[1] / "samples"
VERSIONS = ("2.50", "2.53", "2.56", "2.60")
MIB = 1 << 20


def accounts(version: str) -> list[Any]:
    """Two accounts of the head node, one after the other; see the file for every number that is expected."""
    samples: list[Any] = json.loads((SAMPLES / f"usage-{version}.json").read_text())
    return samples


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_read_whole(version: str) -> None:
    first, second = accounts(version)
    feed = UsageFeed(GcsClient("127.0.0.1:1"))
    feed.take(first["key"], json.dumps(first["json"]), 1)
    before = feed.usage().nodes[first["key"]]
    assert (before.net_sent_bytes_s, before.disk_write_bytes_s) == (None, None)
    feed.take(second["key"], json.dumps(second["json"]), 2)
    account = second["json"]
    stats = feed.usage().nodes[first["key"]]
    assert (stats.cpu_percent, stats.cpus, stats.hostname) == (
        account["cpu"],
        account["cpus"][0],
        account["hostname"],
    )
    assert (stats.mem_total_bytes, stats.mem_used_bytes) == (account["mem"][0], account["mem"][3])
    assert stats.load == tuple(account["loadAvg"][0])
    assert {disk.path: disk.used_bytes for disk in stats.disks} == {
        path: disk["used"] for path, disk in account["disk"].items()
    }
    # The rate of Ray's own accounts is wrong in the first half minute; ours is that between two of them.
    seconds = account["now"] - first["json"]["now"]
    assert stats.disk_write_bytes_s == pytest.approx(
        (account["diskIo"][1] - first["json"]["diskIo"][1]) / seconds
    )
    assert {(one.pid, one.cpu_percent, one.rss_bytes) for one in stats.workers} == {
        (one["pid"], one["cpuPercent"], one["memoryInfo"]["rss"]) for one in account["workers"]
    }
    titles = [one.cmdline.split()[0] for one in stats.workers]
    assert titles.count("ray::RuntimeEnvAgent") == (0 if version == "2.53" else 1)
    assert any(title in ("ray::f", "ray::A.m", "ray::A", "ray::IDLE") for title in titles)
    assert set(stats.processes) == {"raylet", "agent", "gcs"}
    assert stats.processes["gcs"].pid == account["gcs"]["pid"]
    # A raylet's command line may hold a password.
    assert stats.processes["raylet"].cmdline == "raylet"


def test_gpus_by_rays_own_types() -> None:
    sample = json.loads((SAMPLES / "usage-gpu.json").read_text())
    stats = node_stats("n", json.dumps(sample["json"]), 1, None)
    first, second = stats.gpus
    assert (first.utilization, first.memory_used_bytes, first.memory_total_bytes) == (
        93,
        40960 * MIB,
        81559 * MIB,
    )
    assert (first.power_watts, first.temperature_c) == (612.345, 61)
    assert first.processes == {sample["pid"]: 30720 * MIB, 4242: 10000 * MIB}
    assert first.process_percent == {sample["pid"]: 90}
    assert (second.utilization, dict(second.processes)) == (None, {})
    # A GPU without a value does not count as zero: the mean covers the others.
    assert stats.gpu_percent == 93
    assert stats.gpu_memory == (40960 * MIB, 2 * 81559 * MIB)
    worker = next(one for one in stats.workers if one.pid == sample["pid"])
    assert (worker.gpu_memory_bytes, worker.gpu_percent) == (30720 * MIB, 90)


def test_an_unreadable_report_keeps_the_last_one() -> None:
    feed = UsageFeed(GcsClient("127.0.0.1:1"))
    feed.take("n", '{"now": 1, "cpu": 5.0, "gpus": []}', 7)
    feed.take("n", '{"now": 2, "cpu": "much", "mem": 3}', 8)
    feed.take("n", "not JSON", 9)
    feed.take("n", '{"now": 2, "bootTime": 1e308}', 9)
    usage = feed.usage()
    assert (usage.count, usage.nodes["n"].time_ns, usage.nodes["n"].cpu_percent) == (1, 7, 5.0)
    # Ray reports a disk of one byte if it does not measure disks.
    with pytest.raises(msgspec.ValidationError):
        node_stats("n", '{"workers": 3}', 1, None)
    assert node_stats("n", '{"disk": {"/": {"total": 1, "used": 0, "free": 1}}}', 1, None).disks == ()


def test_secrets_stay_in_the_command_line() -> None:
    worker = {"pid": 4, "cmdline": ["python", "train.py", "--db", "postgres://me:hunter2@db/x", "y" * 500]}
    usage = node_stats("n", json.dumps({"workers": [worker]}), 1, None).workers[0]
    assert "hunter2" not in usage.cmdline
    assert len(usage.cmdline) <= 200
    assert (usage.rss_bytes, usage.num_fds) == (None, None)


def test_an_unreachable_agent_is_reported_at_once() -> None:
    feed = UsageFeed(GcsClient("127.0.0.1:1", timeout_s=1)).start()
    try:
        for _ in range(60):
            if (usage := feed.usage()).error:
                break
            feed._task.wait(0.1)
        assert usage.error is not None
        assert usage.remedy
    finally:
        feed.stop()
    assert not feed._task.is_alive
