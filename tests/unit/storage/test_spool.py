"""Batches are there whole or not at all, in order, and a full disk refuses them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rayscope.storage.errors import SpoolFull
from rayscope.storage.spool import Spool, batches


def test_keeps_the_order_across_processes(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    first = Spool(folder)
    names = [first.put(bytes([number]) * 1000) for number in range(3)]
    (folder / "00000000000000000099.part").write_bytes(b"half a bat")  # a kill in the middle of a write
    second = Spool(folder)
    names.append(second.put(b"later"))
    assert second.waiting() == names
    assert not list(folder.glob("*.part"))
    assert [second.get(name) for name in names] == [b"\0" * 1000, b"\1" * 1000, b"\2" * 1000, b"later"]
    assert second.pending_bytes == 3005
    for name in names[:2]:
        second.remove(name)
    assert second.waiting() == names[2:]
    assert second.pending_bytes == 1005


def test_a_kill_right_after_the_answer_loses_nothing(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from rayscope.storage.spool import Spool; "
        "Spool(Path(sys.argv[1])).put(b'kept' * 100_000); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "spool")], check=False)
    assert done.returncode == -9
    spool = Spool(tmp_path / "spool")
    assert [spool.get(name) for name in spool.waiting()] == [b"kept" * 100_000]


def test_too_much_waiting_is_refused_until_there_is_room(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", max_bytes=100)
    name = spool.put(b"x" * 80)
    with pytest.raises(SpoolFull) as refused:
        spool.put(b"y" * 21)
    assert refused.value.remedy
    spool.put(b"y" * 20)
    spool.remove(name)
    spool.put(b"z" * 80)


def test_a_nearly_full_disk_is_left_alone(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", min_free_bytes=1 << 60)
    with pytest.raises(SpoolFull) as refused:
        spool.put(b"x")
    assert refused.value.code == "full"
    assert spool.waiting() == []


def test_the_newest_rejected_batches_are_kept_with_the_reason(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", max_rejected=3)
    for number in range(5):
        path = spool.reject(b"%d" % number, f"reason {number}")
        assert path is not None
        assert path.with_suffix(".reason").read_text() == f"reason {number}\n"
    assert sorted(path.read_bytes() for path in spool.rejected.glob("*.json")) == [b"2", b"3", b"4"]
    assert len(list(spool.rejected.glob("*.reason"))) == len(list(batches(spool.rejected))) == 3
