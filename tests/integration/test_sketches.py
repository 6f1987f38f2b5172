"""The sketch of every detector runs on a real Ray, with small stand-ins for the rest of the program."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rayscope.insights import detect, sketches

pytestmark = [pytest.mark.ray]

NUMBERS: dict[str, Any] = {
    "batch": 2,
    "memory_bytes": 1000,
    "needed": 0.5,
    "parts": 2,
    "more": 2,
    "less": 0.5,
    "node_id": "ab",
    "taker": "use",
    "actor_class": "Board",
    "caller": "",
}
#: Sketches that no test can run, and why.
SKIPPED = {
    "head_overloaded": "it starts another cluster",
    "slow_node": "it drains a node of the cluster that other tests use",
}
#: Findings that are never about methods of actors.
OF_TASKS = ("locality", "memory_not_requested", "memory_requested_unused", "unschedulable")
#: Text of a sketch that a reader replaces, and its stand-in.
REPLACED = {
    "unschedulable": ("{...}", '{"second": 1}'),
    "worker_startup": ("{...}", '{"env_vars": {"A": "1"}}'),
    "serialization": ("return numpy", "result = numpy"),
}
#: Code that precedes a sketch, in addition to PRELUDE, and code that uses what the sketch defines.
BEFORE = {
    "unschedulable_group": 'smaller_bundles = [{"CPU": 0.1}]',
    "driver_bound": "prepare = work = int",
    "worker_startup": "ray.shutdown()",
}
AFTER = {
    "driver_bound": "refs = [prepare_and_run.remote(items)]",
    "hang": "refs = [Player.remote().__ray_ready__.remote()]",
    "nested_get": "refs = [ref]",
    "node_death": "refs = [Keeper.remote().__ray_ready__.remote()]",
    "oom_kill": "refs = [NAME.remote(1)]",
    "return_put": "refs = [NAME.remote(1)]",
    "waiting_actor": "refs = [Board.remote().__ray_ready__.remote()]",
    "worker_startup": "refs = [ray.remote(num_cpus=0.1)(lambda: 1).remote()]",
}
PRELUDE = """
import multiprocessing, ray, numpy
from concurrent.futures import ProcessPoolExecutor
quick = ray.remote(num_cpus=0.1)
load = use = outer = train = prepare = work = quick(lambda *values: 1)
summary = process = size = lambda value: 1
load_one = offer_one = lambda item: item

@quick
class Board:
    def work(self, *values):
        return 1
    offer = call = offer_batch = offer_one = work

class Late:
    def __getattr__(self, name):
        global kept
        kept = Board.remote()
        return getattr(kept, name)

board = Late()
items, item, values, rows, result = [1, 2, 3], 1, [1, 2], numpy.arange(9), 1
value = data = numpy.zeros(10)
refs = [load.remote(one) for one in items]
ref = table_ref = load.remote(1)
results = []
if KIND in ("short_lived_actors", "slow_place"):
    actors = [Board.remote(), Board.remote()]
actor = Board.remote() if KIND == "pending_resources" else None
if KIND == "object_store_full":
    use = lambda value: value
"""
DRIVER = """
import json, traceback
failed = {}
for kind, variant, code in json.loads(PROGRAMS):
    try:
        namespace = {"KIND": kind}
        exec(compile(code, kind, "exec"), namespace)
        left = namespace["refs"]
        ray.get([one for one in left if isinstance(one, ray.ObjectRef)], timeout=120)
    except Exception:
        failed[f"{kind} {variant}"] = traceback.format_exc()[-600:]
print(json.dumps(failed))
"""


def test_every_sketch_runs(cluster: Any) -> None:
    programs = []
    for detector in sorted(detect.load(), key=lambda one: one.kind == "worker_startup"):
        if detector.kind in SKIPPED or not detector.sketch:
            continue
        for name, variant in (("load", "task"), ("Board.offer", "method")):
            if variant == "method" and ("{function}" not in detector.sketch or detector.kind in OF_TASKS):
                continue
            names = {**NUMBERS, "function": name, "name": "load" if variant == "task" else "Board"}
            sketch = sketches.write(detector.sketch, names, {"Board.offer"})
            sketch = sketch.replace(*REPLACED.get(detector.kind, ("", "")))
            called = "load" if variant == "task" else "board.offer"
            after = AFTER.get(detector.kind, "").replace("NAME", called)
            programs.append(
                (detector.kind, variant, "\n".join([PRELUDE, BEFORE.get(detector.kind, ""), sketch, after]))
            )
    printed = cluster.run(DRIVER.replace("PROGRAMS", repr(json.dumps(programs))))
    assert json.loads(printed.strip().splitlines()[-1]) == {}
    assert len(programs) > 40
