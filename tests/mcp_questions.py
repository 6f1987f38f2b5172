"""Programs with a planted problem, and the question about each that an assistant has to answer with ``rayscope mcp``.

The tool and its arguments are fixed for each kind of question, so no model is needed.
"""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    """A question about a program of ``benchmarks/FILE.py``.

    ``cause``: the kind of finding or the word that names the cause. ``place``: its function or class, None if
    the cause concerns the whole job or several functions. ``figure``: a pattern of the figure that was planted, on the same line.
    """

    program: str
    question: str
    cause: str
    place: str | None
    figure: str
    file: str = "detector_programs"


_CODE = "detector_programs_code"
_WAITING = "detector_programs_waiting"
_RISKS = "detector_programs_risks"
_MACHINES = "detector_programs_machines"

QUESTIONS = [
    Question("get_in_loop_bad", "slow", "get_in_loop", "work", "calls=16 "),
    Question("tiny_tasks_bad", "slow", "tiny_tasks", "double", "calls=6000 "),
    Question("straggler_bad", "slow", "straggler", "load", "stragglers=1 calls=16 "),
    Question("actor_bottleneck_bad", "slow", "actor_bottleneck", "Board", "calls=101 "),
    Question("driver_bound_bad", "slow", "driver_bound", None, r"own_ns=[3-9]\.\d+ s"),
    Question("retries_bad", "slow", "retries", "read", "failed=16 "),
    Question("unschedulable_bad", "pending", "unschedulable", "never", "needed=4 resource=TPU "),
    Question("submission_order_bad", "slow", "submission_order", "fetch", "calls=16 "),
    Question("large_argument_bad", "slow", "large_argument", "count", "argument_bytes=10000", _CODE),
    Question("large_closure_bad", "slow", "large_closure", "look_up", "code_bytes=60000", _CODE),
    Question("nested_get_bad", "slow", "nested_get", "add", "calls=6 ", _CODE),
    Question("redefined_function_bad", "slow", "redefined_function", "double", "definitions=150 ", _CODE),
    Question("return_put_bad", "slow", "return_put", "load", "calls=100 ", _CODE),
    Question("unnecessary_get_bad", "slow", "unnecessary_get", "make", "value_bytes=10000", _CODE),
    Question("deadlock_bad", "stuck", "deadlock", "inner", "tasks=2 .* holder=outer holders=2 ", _WAITING),
    Question("hang_bad", "stuck", "hang", "Player.ping", "open=4 ", _WAITING),
    Question("idle_actors_bad", "slow", "idle_actors", "Service", "actors=2 ", _WAITING),
    Question("idle_gap_bad", "slow", "idle_gap", None, "barriers=3 ", _WAITING),
    Question(
        "pending_resources_bad",
        "pending",
        "pending_resources",
        "evaluate",
        "waiting=4 .* holder=Model ",
        _WAITING,
    ),
    Question("short_lived_actors_bad", "slow", "short_lived_actors", "Parser", "actors=24 ", _WAITING),
    Question("unbounded_pending_bad", "slow", "unbounded_pending", "small", r"pending=1\d{4} ", _WAITING),
    Question("unschedulable_group_bad", "pending", "unschedulable_group", None, "1000 CPU", _WAITING),
    Question("out_of_band_reference_bad", "slow", "out_of_band_reference", None, "references=1", _RISKS),
    Question("forked_process_bad", "slow", "forked_process", None, "forks=1", _RISKS),
    Question("data_skew_bad", "slow", "data_skew", "aggregate", "skewed=1 calls=16 ", _MACHINES),
    Question(
        "over_asked_cpus_bad", "slow", "over_asked_cpus", "download", "calls=20 reserved=2.0 ", _MACHINES
    ),
    Question("under_asked_cpus_bad", "slow", "under_asked_cpus", "digest", "reserved=0.5 ", _MACHINES),
    Question("single_core_actor_bad", "slow", "single_core_actor", "Cruncher", "reserved=2.0 ", _MACHINES),
    Question("serialization_bad", "slow", "serialization", "count", "data_bytes=50", _MACHINES),
    Question("worker_startup_bad", "slow", "worker_startup", None, r"starts=\d+ ", _MACHINES),
]
