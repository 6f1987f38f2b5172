"""The tracer on real clusters: every object that moved, and nothing that did not."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests import dataflow
from tests.cluster import env_without_ray, run_in_turn
from tests.conftest import read_rows
from tests.dataflow import printed_json

from rayscope.cluster.tasks import flow_sql
from rayscope.storage.catalog import Catalog
from rayscope.tracer.settings import MAX_SPANS

pytestmark = [pytest.mark.ray]
WORKLOADS = Path(__file__).parent / "workloads"


class Lab:
    """A data directory, and a place for Ray."""

    def __init__(self, folder: Path) -> None:
        self.data, self.ray = folder / "data", Path(tempfile.mkdtemp(prefix="rst-"))

    def run(self, script: Path, *args: str, options: Sequence[str] = (), status: int = 0, **more: str) -> str:
        """Run a script with ``rayscope run`` to its end and return its output.

        ``more`` is added to its environment.
        """
        env = env_without_ray() | {"HOME": str(self.data.parent), **more}
        command = [sys.executable, "-m", "rayscope.cli", "run", "--exit", "--data-dir", str(self.data)]
        command += ["--port", "0", *options, str(script), *args]
        done = run_in_turn(command, self.ray, env=env)
        assert done.returncode == status, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def sql(self, query: str) -> list[list[Any]]:
        return read_rows(self.data, query)

    def tracing(self) -> dict[str, Any]:
        """The record's data about the tracer."""
        with contextlib.closing(Catalog(self.data, read_only=True)) as catalog:
            (name,) = catalog.names()
            with catalog.reading(name) as file:
                return flow_sql.tracing(file)

    def end(self) -> None:
        shutil.rmtree(self.ray, ignore_errors=True)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    yield made
    made.end()


def test_every_edge_of_a_known_data_flow_is_found_and_none_invented(lab: Lab) -> None:
    init = {"num_cpus": 4, "_temp_dir": str(lab.ray), "include_dashboard": False}
    expected = printed_json(lab.run(dataflow.WORKLOAD, json.dumps(init)))
    rows = lab.sql(dataflow.QUERY)
    assert dataflow.differences(expected, rows) == []
    compared = Counter(edge[3] for edge in expected if edge[5] is not None)
    assert compared["argument"] >= 20
    assert compared["return"] >= 20
    print(f"{len(rows)} edges, {sum(compared.values())} with bytes that Ray tells")


@dataclass
class Ran:
    """Several drivers of one cluster have run: what they printed, and the record."""

    lab: Lab
    printed: str

    def lines(self, *arguments: str) -> Any:
        """The answer of ``rayscope lines``."""
        command = [sys.executable, "-m", "rayscope.cli", "lines", "--format", "json"]
        command += ["--data-dir", str(self.lab.data), *arguments]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    lab = Lab(tmp_path_factory.mktemp("drivers"))
    names = ("faults.py", "waits.py", "cancels.py", "abandons.py", "same_names.py", "sampled.py")
    scripts = [WORKLOADS / name for name in names]
    yield Ran(lab, lab.run(WORKLOADS / "drivers.py", str(lab.ray), *map(str, scripts)))
    lab.end()


def test_functions_of_one_name_are_told_apart(ran: Ran) -> None:
    names = ["clean", "score", "step (same_names.py:25)", "step (same_names.py:32)"]
    with contextlib.closing(Catalog(ran.lab.data, read_only=True)) as catalog:
        (session,) = catalog.names()
        with catalog.reading(session) as file:
            attempts = {row["func_name"]: row["attempts"] for row in flow_sql.scheduling(file, 0)}
    assert {name: attempts.get(name) for name in names} == dict.fromkeys(names, 2)
    # Python 3.11 and later distinguish two lambdas on one line.
    lambdas = [number for name, number in attempts.items() if name.startswith("<lambda> (same_names.py:")]
    assert lambdas == ([2, 2] if sys.version_info >= (3, 11) else [4])


def test_a_fault_in_any_part_leaves_the_users_results_untouched(ran: Ran) -> None:
    lab, said = ran.lab, printed_json(ran.printed, "FAULTS")
    assert said["wrong"] == []
    assert said["unmet"] == []
    assert said["wanted"][-1] == "ValueError"
    (reasons,) = lab.sql("SELECT list(tracer) FROM workers WHERE tracer LIKE 'off: %Injected%'")
    assert reasons[0]
    # Requests to Ray Serve are tasks on record, and of no task is it known only that it ran.
    assert lab.sql("SELECT count(*) FROM tasks WHERE func_name LIKE '%Served.handle_request%'") == [[5]]
    assert lab.tracing()["tasks_without_events"] == 0


@pytest.mark.long
def test_workers_that_exit_while_the_tracer_reports_do_not_crash(lab: Lab) -> None:
    lab.run(WORKLOADS / "leaving.py", str(lab.ray))
    logs = [path.read_text() for path in lab.ray.glob("session_2*/logs/worker-*")]
    assert sum("LEAVES True" in text for text in logs) == 3
    assert [text for text in logs if "*** SIG" in text or "Fatal Python error" in text] == []


def test_phases_environments_annotations_and_limits(lab: Lab) -> None:
    # So low that a slow machine too makes more calls in a second than there is room for.
    span = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    environment = {MAX_SPANS: "3000", "TRACEPARENT": span}
    said = printed_json(lab.run(WORKLOADS / "traced.py", str(lab.ray), **environment), "RESULTS")
    # The two drivers, and no task, are part of the trace that their environment names.
    traces = lab.sql(
        "SELECT value, starts_with(task_id, 'ffffffff') FROM annotations WHERE name = 'traceparent'"
    )
    assert traces == [[span, True]] * 2
    # The user's own setup hook and a second runtime environment work, and their workers are traced.
    assert said["environments"] == [["the user", None], ["the user", "2"]]
    ran = lab.sql(
        "SELECT w.tracer, count(*) FROM workers w WHERE worker_id IN (SELECT worker_id FROM tasks) GROUP BY 1"
    )
    assert [tracer for tracer, _ in ran] == ["on"]
    (gets,) = lab.sql(
        "SELECT count(*) FROM data_edges e JOIN tasks t ON t.task_id = e.consumer_task_id "
        "WHERE t.func_name = 'environment' AND e.kind = 'get'"
    )
    assert gets == [2]

    # So are those whose tasks' events the code switches off: these tasks are counted.
    workers = lab.sql(
        "SELECT tracer FROM workers JOIN actors USING (worker_id) "
        f"WHERE actor_id IN {tuple(said['without_events'])}"
    )
    assert workers == [["on"], ["on"]]
    assert lab.tracing()["without_events"] == [
        {"class_name": "NoEvents", "tasks": 5},
        {"class_name": "NoEventsAsync", "tasks": 5},
    ]
    # A module that workers preload before they have a job costs none of them.
    assert lab.sql("SELECT count(*) FROM tasks WHERE error_type = 'WORKER_DIED'") == [[0]]
    # Ray's own workers, which spill objects and restore them, are left alone.
    (spilled,) = lab.sql(
        "SELECT count(*), count(*) FILTER (e.bytes > 10_000_000) FROM data_edges e "
        "JOIN tasks t ON t.task_id = e.consumer_task_id WHERE t.func_name = 'total' AND e.kind = 'argument'"
    )
    assert spilled == [20, 20]

    # Phases add up to what Ray's own times say, for each of thousands of attempts.
    (sums,) = lab.sql(
        "SELECT count(*), max(abs(waiting_args_ns + waiting_node_ns + starting_worker_ns + queued_ns + loading_ns + "
        "fetching_ns + executing_ns + awaiting_ns + blocked_ns + storing_ns - (t.end_ns - t.created_ns))), "
        "min(least(waiting_args_ns, waiting_node_ns, starting_worker_ns, queued_ns, loading_ns, fetching_ns, "
        "executing_ns, blocked_ns, storing_ns)), count(*) FILTER (is_local), max(executing_ns + blocked_ns - "
        "(t.execute_end_ns - t.execute_begin_ns)) "
        "FROM phases JOIN tasks t USING (task_id, attempt) WHERE t.end_ns IS NOT NULL"
    )
    assert sums[0] > 2700
    assert sums[1] <= 1_000_000
    assert sums[2] >= 0
    assert sums[3] == sums[0]
    assert sums[4] <= 1_000_000
    (blocked,) = lab.sql(
        "SELECT min(blocked_ns), max(blocked_ns / (executing_ns + blocked_ns)) FROM phases "
        "WHERE func_name = 'parent'"
    )
    assert blocked[0] > 0
    assert blocked[1] > 0.5

    # Beyond Ray's limit calls are summed up: none is lost.
    (calls,) = lab.sql(
        "SELECT count(*) FILTER (extra IS NULL OR extra NOT LIKE '%calls%'), "
        "sum(TRY_CAST(extra->>'calls' AS BIGINT)), sum(TRY_CAST(extra->>'bytes' AS BIGINT)) "
        "FROM spans JOIN tasks USING (task_id, attempt) WHERE func_name = 'many_gets' AND spans.name = 'ray.get'"
    )
    assert calls[0] + calls[1] == said["gets"]
    assert calls[1] > 0
    assert calls[2] > 0
    (counted,) = lab.sql("SELECT count(*) FROM annotations WHERE name = 'calls'")
    (summed,) = lab.sql(
        "SELECT sum(TRY_CAST(extra->>'calls' AS BIGINT)) FROM spans WHERE name = 'rayscope.counter'"
    )
    assert counted[0] + summed[0] == said["gets"]

    # CPU time: as the tasks measured it themselves, with what Ray's own threads add.
    used = {
        (name, number): cpu_ns
        for name, number, cpu_ns in lab.sql(
            "SELECT name, row_number() OVER (PARTITION BY name ORDER BY start_ns) - 1, cpu_ns FROM tasks "
            "WHERE name LIKE '%burn%' OR func_name IN ('rests', 'Async.turn')"
        )
    }
    burnt_ns, least_ns = said["burnt"]
    assert least_ns <= burnt_ns <= used["burns", 0] < 2 * burnt_ns
    assert least_ns <= used["burns in vain", 0] < 2 * burnt_ns
    assert used["rests", 0] < least_ns
    assert 0 < used["Async.turn", 0] < least_ns  # coroutines take turns in a thread
    # Where tasks ran beside each other, each has its own thread's time, once the first have shown it.
    threads = [used["Threaded.burns", number] for number in range(4)]
    own_ns = min(said["threads"])
    assert [cpu_ns for cpu_ns in threads[:2] if cpu_ns is not None and cpu_ns >= 2 * own_ns] == []
    assert all(own_ns <= cpu_ns < 2 * own_ns for cpu_ns in threads[2:])

    # Annotations, of a driver, an actor, its method and a coroutine.
    notes = lab.sql(
        "SELECT task_id, kind, name, value, number FROM annotations WHERE name NOT IN ('calls', 'traceparent')"
    )
    assert {tuple(note[:1] + note[2:]) for note in notes if note[1] == "annotation"} == {
        ("ff" * 20 + "01000000", "run", "nightly", None),
        ("ff" * 20 + "02000000", "forked", "a driver", None),
        (said["model"], "model", "resnet", None),
        (said["model"], "layers", "50", 50.0),
        (said["forward"], "epoch", "3", 3.0),
        (said["forward"], "note", "第一", None),
        (said["turn"], "kind", "coroutine", None),
    }
    losses = [note[4] for note in notes if note[1] == "counter"]
    assert sorted(loss for loss in losses if loss is not None) == pytest.approx([1 / 3, 1 / 2, 1])
    assert [note[3] for note in notes if note[1] == "counter" and note[4] is None] == ["nan"]
    spans = lab.sql(
        "SELECT task_id, name, extra->'user'->>'batch' FROM spans WHERE starts_with(extra, '{\"user\"')"
    )
    assert said["generated"] == [0, 2, 4]
    assert {tuple(span) for span in spans if span[1] != "generate"} == {
        (said["forward"], "forward", "32"),
        (said["forward"], "inner", None),
        (said["turn"], "turn", None),
    }


def test_the_peak_memory_of_attempts(lab: Lab) -> None:
    known = printed_json(lab.run(WORKLOADS / "memory.py", str(lab.ray)), "EXPECTED")
    rows = lab.sql(
        "SELECT name, peak_memory, start_memory, memory_scope FROM tasks WHERE type != 'ACTOR_CREATION_TASK'"
    )
    measured = {name: values for name, *values in rows}
    for name, (start, peak) in known["own"].items():
        slack = max(10_000_000, 0.05 * peak)
        print(name, peak, measured[name])
        assert measured[name] == [pytest.approx(peak, abs=slack), pytest.approx(start, abs=slack), "own"]
    assert len(known["own"]) == 6
    for name, peak in known["shared"].items():
        print(name, peak, measured[name])
        assert measured[name][0] >= 0.95 * peak
        assert measured[name][2] == "shared"
    assert len(known["shared"]) == 4
    assert measured["off"] == [None, None, "off"]


ENDINGS = """
import atexit, sys, threading, time
import ray, rayscope
def init():
    ray.init(num_cpus=2, _temp_dir=sys.argv[1], include_dashboard=False, log_to_driver=False)
@ray.remote
def one():
    return 1
atexit.register(lambda: rayscope.counter("late", 1))
going = True
def count():
    while going:
        rayscope.counter("rss", 1)
        time.sleep(0.0001)
thread = threading.Thread(target=count)
thread.start()
for number in range(2):
    with rayscope.span("whole", number=number):
        init()
        with rayscope.span("inside", number=number):
            assert ray.get([one.remote() for _ in range(3)]) == [1, 1, 1]
        try:
            ray.put(threading.Lock())
        except TypeError as error:
            kept = error
        ray.shutdown()
rayscope.annotate(late=1)
going = False
thread.join()
init()
assert ray.get(one.remote()) == 1
print("end", flush=True)
raise SystemExit(3)
"""


@pytest.mark.long
def test_a_driver_that_leaves_and_comes_back_ends_as_it_would(lab: Lab) -> None:
    script = lab.data.parent / "endings.py"
    script.write_text(ENDINGS)
    assert lab.run(script, str(lab.ray), status=3).splitlines()[-1] == "end"
    with contextlib.closing(Catalog(lab.data, read_only=True)) as catalog:
        names = sorted(catalog.names())
    assert len(names) == 3
    for number, name in enumerate(names[:2]):
        inside = read_rows(lab.data, "SELECT extra FROM spans WHERE name = 'inside'", name)
        assert inside == [[f'{{"user":{{"number":{number}}}}}']]
        tracers = "SELECT DISTINCT tracer FROM workers WHERE tracer IS NOT NULL"
        assert read_rows(lab.data, tracers, name) == [["on"]]


@pytest.mark.parametrize(
    ("function", "phase", "share", "is_native"),
    [
        ("loop", "executing", 0.8, False),
        ("native", "executing", 0.8, True),
        ("gets", "ray.get", 0.8, False),
        ("Threaded.first", "executing", 0.8, False),
        ("Threaded.second", "executing", 0.8, False),
        ("Async.runs", "executing", 0.4, False),
        ("Async.waits", "awaiting", 0.8, False),
        ("Async.blocks", "executing", 0.8, False),
        ("threads", "executing", 0.3, False),
    ],
)
def test_the_slow_line_of_a_function(
    ran: Ran, function: str, phase: str, share: float, is_native: bool
) -> None:
    source = (WORKLOADS / "sampled.py").read_text().splitlines()
    (slow,) = (number for number, line in enumerate(source, 1) if line.endswith(f"# slow: {function}"))
    answer = ran.lines(function)
    line = next(line for line in answer["lines"] if line["line"] == slow)
    print(function, answer["samples"], answer["phases"], line)
    assert line["file"].endswith("sampled.py")
    assert answer["is_enough"]
    assert answer["hz"] == [20.0]
    phases = {each["phase"]: each["samples"] for each in answer["phases"]}
    # The first task of a worker also loads modules, for Ray and for its arguments.
    own = answer["samples"] - phases.get("ray", 0) - phases.get("unpacking", 0)
    assert own >= 20
    assert phases[phase] >= share * own
    assert line["total_samples"] >= share * own
    assert (line["native_samples"] > 0.5 * line["self_samples"]) == is_native
    # Nothing of the other call in the same worker.
    others = {"Threaded.first": "second", "Threaded.second": "first", "Async.runs": "waits"}
    names = {each["function"].rpartition(".")[2] for each in answer["lines"]}
    assert others.get(function, "none") not in names


def test_the_slow_line_of_a_driver(ran: Ran) -> None:
    answer = ran.lines("--driver")
    source = (WORKLOADS / "sampled.py").read_text().splitlines()
    (slow,) = (number for number, line in enumerate(source, 1) if line.endswith("# slow: driver"))
    assert any(line["line"] == slow and line["self_samples"] >= 2 for line in answer["lines"])


def test_waits_are_reported_while_they_last(ran: Ran) -> None:
    assert "timeout" in ran.printed.splitlines()
    ((job_id,),) = ran.lab.sql("SELECT DISTINCT job_id FROM tasks WHERE func_name = 'waits'")
    # The driver gave up; its task blocked until it was killed, which was not reported: so it stays open.
    rows = ran.lab.sql(
        "SELECT s.task_id LIKE 'ffff%', s.end_ns IS NULL, w.func_name, b.func_name FROM "
        "(SELECT *, unnest(blocked_on) AS other FROM spans WHERE name = 'ray.get') s "
        "LEFT JOIN tasks w ON w.task_id = s.task_id LEFT JOIN tasks b ON b.task_id = s.other "
        f"WHERE ends_with(s.task_id, '{job_id}') ORDER BY 1"
    )
    assert rows == [[False, True, "waits", "never"], [True, False, None, "waits"]]
    # Arguments are reported with a task's return values, but at most a second or two after they arrived.
    fetched = ran.lab.sql(
        f"SELECT bytes > 5000 FROM edge_rows WHERE kind = 'fetched' AND ends_with(task_lo, '{job_id}')"
    )
    assert fetched == [[True]]


def test_a_task_that_was_canceled_while_it_ran_has_failed(ran: Ran) -> None:
    assert printed_json(ran.printed, "CANCELS") == {
        "spins": "TaskCancelledError",
        "yields": "TaskCancelledError",
        "waits_for_spins": "TaskCancelledError",
        "goes_on": "done",
    }
    rows = ran.lab.sql(
        "SELECT func_name, state, reported_state, error_type FROM tasks "
        "WHERE func_name IN ('spins', 'yields', 'waits_for_spins', 'goes_on') ORDER BY ALL"
    )
    canceled = ["FAILED", "FINISHED", "TASK_CANCELLED"]
    assert rows == [
        ["goes_on", "FINISHED", "FINISHED", None],
        ["spins", *canceled],
        ["spins", *canceled],  # with its caller
        ["waits_for_spins", *canceled],
        ["yields", *canceled],
    ]
    calls = ran.lab.sql(
        "SELECT t.func_name, count(*) FROM spans s JOIN tasks t USING (task_id) "
        "WHERE s.name = 'ray.cancel' AND s.extra ->> '$.by' LIKE 'ffff%' "
        "AND t.func_name NOT LIKE 'ServeReplica:%' GROUP BY 1 ORDER BY 1"
    )
    assert calls == [["goes_on", 1], ["spins", 1], ["waits_for_spins", 1], ["yields", 1]]


def test_a_generator_that_its_driver_abandoned_did_not_finish(ran: Ran) -> None:
    # A driver that takes long to leave sees its worker die and begins a second attempt.
    attempts = ran.lab.sql("SELECT DISTINCT state, end_known_by FROM tasks WHERE func_name = 'numbers'")
    assert attempts == [["CUT_OFF", "job"]]


@pytest.mark.long
def test_without_a_tracer_no_waits_are_reported(lab: Lab) -> None:
    init = {"num_cpus": 2, "_temp_dir": str(lab.ray), "include_dashboard": False}
    assert "timeout" in lab.run(WORKLOADS / "waits.py", json.dumps(init), options=["--no-trace"])
    assert lab.sql("SELECT count(*) FROM data_edges") == [[0]]
    assert lab.sql("SELECT DISTINCT tracer FROM workers") == [[None]]
    # Ray reports the task's own call if the task has enough time to end.
    driver = "SELECT count(*) FROM spans WHERE name = 'ray.get' AND starts_with(task_id, 'ffff')"
    assert lab.sql(driver) == [[1]]
