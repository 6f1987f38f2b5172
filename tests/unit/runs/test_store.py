"""The file of summaries: what is kept over a restart, and what another version wrote."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rayscope.runs.store import RunStore
from rayscope.runs.summary import FunctionSummary, Marks, RunSummary
from rayscope.storage.errors import NotFound

LOAD = FunctionSummary("load", None, 2, 0, 5, 5, 6, 10, None)


def summary(session: str, job_id: str = "01000000", begin_ns: int = 1) -> RunSummary:
    return RunSummary(
        session=session,
        job_id=job_id,
        made_ns=1,
        script="train.py",
        entrypoint="python train.py",
        tags=("main",),
        metadata={},
        cluster=None,
        nodes=1,
        begin_ns=begin_ns,
        end_ns=None,
        outcome="SUCCEEDED",
        tasks=2,
        attempts=2,
        failed=0,
        cpu_ns=None,
        gpu_ns=None,
        peak_memory=None,
        ray_version=None,
        git_commit=None,
        is_traced=True,
        recording="events",
        dropped=0,
        functions_left_out=0,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "runs.sqlite"


def test_runs_and_marks_are_kept(path: Path) -> None:
    store = RunStore(path)
    store.add(summary("a"), [LOAD])
    store.mark("a", "01000000", Marks(("mine",), is_baseline=True))
    store.add(summary("a", begin_ns=2), [])  # a later summary of the run keeps its marks
    store.set_complete("a", is_complete=True)
    store.close()
    store = RunStore(path)
    (run,) = store.runs()
    assert (run.begin_ns, run.tags, run.marks.is_baseline) == (2, ("mine",), True)
    assert store.functions([run.key, ("none", "1")]) == [[], []]
    assert store.complete == {"a"}
    store.close()
    assert path.stat().st_mode & 0o077 == 0


def test_what_another_version_wrote_is_summarized_again(path: Path) -> None:
    store = RunStore(path)
    for session in ("a", "b"):
        store.add(summary(session), [LOAD])
        store.set_complete(session, is_complete=True)
    store.close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE runs SET summary = '{}' WHERE session = 'a'")
    store = RunStore(path)
    assert [run.summary.session for run in store.runs()] == ["b"]
    assert store.complete == {"b"}
    store.add(summary("a"), [LOAD])
    assert store.functions([("a", "01000000")]) == [[LOAD]]
    store.close()


def test_only_a_known_run_can_be_marked_and_a_removed_one_is_gone(path: Path) -> None:
    store = RunStore(path)
    store.add(summary("a"), [LOAD])
    with pytest.raises(NotFound):
        store.mark("a", "02000000", Marks(is_left_out=True))
    store.remove([("a", "01000000")])
    assert store.runs() == []
    store.close()
