"""The file of summaries: what is kept over a restart, and what another version wrote."""

from __future__ import annotations

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from rayscope.runs.store import RunStore
from rayscope.runs.summary import FunctionSummary, Marks, Run, RunSummary
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
    store.mark("a", "01000000", lambda _: Marks(("mine",), is_baseline=True))
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
        store.mark("a", "02000000", lambda _: Marks(is_left_out=True))
    store.remove([("a", "01000000")])
    assert store.runs() == []
    store.close()


def test_concurrent_changes_of_marks_are_all_kept(path: Path) -> None:
    store = RunStore(path)
    store.add(summary("a"), [LOAD])

    def tag(number: int) -> None:
        def change(before: Marks) -> Marks:
            time.sleep(0.001)  # so that another thread could read the marks meanwhile
            return Marks((*(before.tags or ()), str(number)))

        store.mark("a", "01000000", change)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(tag, range(20)))
    (run,) = store.runs()
    assert {*run.tags} == {str(number) for number in range(20)}
    store.close()


def test_the_newest_baseline_stays_when_tags_join_two_groups(path: Path) -> None:
    store = RunStore(path)
    for begin_ns, session in enumerate(("old", "new"), start=1):
        store.add(summary(session, begin_ns=begin_ns), [LOAD])
    store.set_tags("old", ("data=large",))
    for session in ("old", "new"):
        store.mark(session, "01000000", lambda _: Marks(is_baseline=True))
    assert len({run.group for run in store.runs() if run.marks.is_baseline}) == 2
    store.set_tags("new", ("data=large",))
    store.close()
    store = RunStore(path)
    assert [run.summary.session for run in store.runs() if run.marks.is_baseline] == ["new"]
    assert [run.tags for run in store.runs()] == [("data=large",)] * 2
    store.close()


def test_the_newer_summary_and_the_newer_marks_win(path: Path) -> None:
    store = RunStore(path)
    store.add(summary("a"), [LOAD])
    key = ("a", "01000000")
    newer = msgspec.structs.replace(summary("a"), made_ns=2, tasks=3)
    store.merge([(Run(newer, Marks(is_baseline=True, changed_ns=5)), [])])
    store.merge([(Run(summary("a"), Marks(is_left_out=True, changed_ns=4)), [LOAD])])
    assert store.get(*key) == Run(newer, Marks(is_baseline=True, changed_ns=5))
    assert store.functions([key]) == [[]]
    version = store.version
    store.merge([(Run(newer, Marks(is_baseline=True, changed_ns=5)), [LOAD])])
    assert store.version == version
    future_ns = time.time_ns() + 10**12  # another server's clock is ahead
    store.merge([(Run(newer, Marks(is_left_out=True, changed_ns=future_ns)), [])])
    store.mark(*key, lambda _: Marks(("mine",)))
    assert store.get(*key).marks == Marks(("mine",), changed_ns=future_ns + 1)
    store.close()
    assert RunStore(path).get(*key).marks.tags == ("mine",)


def test_of_two_baselines_the_later_one_stays(path: Path) -> None:
    store = RunStore(path)
    store.add(summary("a"), [])
    store.mark("a", "01000000", lambda _: Marks(is_baseline=True))
    later_ns = time.time_ns() + 10**9
    store.merge([(Run(summary("b"), Marks(is_baseline=True, changed_ns=later_ns)), [])])
    store.merge([(Run(summary("c"), Marks(is_baseline=True, changed_ns=5)), [])])
    assert [run.key[0] for run in store.runs() if run.marks.is_baseline] == ["b"]


def test_marks_of_an_earlier_version_count_as_set(path: Path) -> None:
    store = RunStore(path)
    store.add(summary("a"), [])
    store.mark("a", "01000000", lambda _: Marks(("mine",)))
    store.close()
    with closing(sqlite3.connect(path)) as file, file:
        file.execute('UPDATE runs SET marks = \'{"tags": ["mine"]}\'')
    assert RunStore(path).get("a", "01000000").marks == Marks(("mine",), changed_ns=1)
