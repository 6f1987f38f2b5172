"""Kept logs: appended lines are read by offset, once, within the limit."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from rayscope.storage.log_archive import LogStore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "logs.sqlite"


def test_appended_lines_are_there_after_a_restart(folder: Path) -> None:
    rng = random.Random(1)
    whole = b"".join(b"line %d %s\n" % (i, b"x" * rng.randrange(200)) for i in range(20_000))
    store = LogStore(folder)
    at = 0
    while at < len(whole):
        size = rng.choice([1, 100, 5_000, 700_000])
        # Some of it is seen twice.
        store.append("node", "../a b", max(0, at - 7), whole[max(0, at - 7) : at + size], at)
        at += size
    store.close()
    assert folder.stat().st_mode & 0o77 == 0
    store = LogStore(folder)
    assert store.read("node", "../a b", 0, 1 << 40) == [(0, whole)]
    for _ in range(20):
        begin = rng.randrange(len(whole))
        end = begin + rng.randrange(1, 300_000)
        assert store.read("node", "../a b", begin, end) == [(begin, whole[begin:end])]
    (file,) = store.files()
    assert (file.seen, file.kept) == (len(whole), len(whole))
    assert store.disk_bytes < len(whole) / 3
    store.restart("node", "../a b")
    assert store.read("node", "../a b", 0, 10) == []
    assert store.disk_bytes == 0


def test_a_gap_stays_one(folder: Path) -> None:
    store = LogStore(folder)
    store.append("node", "a", 0, b"begin\n", 1)
    store.append("node", "a", 1000, b"end\n", 2)
    assert store.read("node", "a", 0, 2000) == [(0, b"begin\n"), (1000, b"end\n")]
    assert store.offset_at("node", "a", 2) == 1000


def test_at_the_limit_rays_own_logs_go_first_and_one_file_takes_its_share(folder: Path) -> None:
    limit = 1 << 20
    store = LogStore(folder, limit)
    rng = random.Random(2)
    for number in range(12):
        for name, is_user in (("own", False), ("user", True)):
            store.append(
                "node",
                f"{name}-{number}",
                0,
                rng.randbytes(60_000),
                number + 1_000 * is_user,
                is_user=is_user,
            )
            assert store.disk_bytes <= limit
    kept = {file.name for file in store.files() if file.kept}
    assert {f"user-{number}" for number in range(12)} <= kept
    assert "own-0" not in kept
    assert "own-11" in kept
    for number in range(40):
        store.append("node", "greedy", number * 50_000, rng.randbytes(50_000), 5_000 + number)
    greedy = store.file("node", "greedy")
    assert greedy is not None
    assert greedy.seen == 2_000_000
    assert 0 < greedy.kept <= limit // 8
    assert store.read("node", "greedy", 0, 2_000_000)[-1][0] > 1_000_000


def test_a_crash_report_is_found_in_any_pieces_and_forgotten_with_its_file(folder: Path) -> None:
    report = b"RAW: Mutex corrupt: both reader and writer lock held: 0x28\n*** SIGABRT received at time=1 on cpu 0\n"
    whole = b"before\n" * 1000 + b"[mutex.cc : 2487] " + report
    store = LogStore(folder)
    for at in range(0, len(whole), 50):  # the report comes in pieces
        store.append("node", "a.err", at, whole[at : at + 50], at)
    store.append("node", "b.err", 0, b"*** SIGTERM received at time=1 on cpu 0\n", 1)
    store.append("node", "c.err", 0, b"x\n*** SIGSEGV received at time=1 on cpu 0\n", 1)
    crashes = {name: crash for _, name, crash in store.crashes()}
    assert crashes["a.err"] == (
        7000,
        "SIGABRT",
        "Mutex corrupt: both reader and writer lock held: 0x28",
        True,
    )
    assert crashes["c.err"] == (2, "SIGSEGV", None, False)
    assert set(crashes) == {"a.err", "c.err"}
    copy = LogStore(folder.with_name("copy.sqlite"))
    copy.fill_files(store.rows())
    copy.fill(store.stretches())
    assert {name: crash for _, name, crash in copy.crashes()} == crashes
    store.restart("node", "a.err")
    assert [name for _, name, _ in store.crashes()] == ["c.err"]
