"""Everything that the tracer wraps, with a fault injected into each of its parts, in a driver and in workers.

Run as ``faults.py INIT``: the arguments of ``ray.init()`` as JSON. Prints what went wrong for the user
(nothing may) and whether each fault was met at all.
"""

from __future__ import annotations

import json
import signal
import sys
import types
from typing import Any

import ray
from ray import serve

#: Module (under rayscope.tracer), the name in it, and where it must be met: by the driver or a worker.
PARTS = [
    ("emit", "ready", "both"),
    ("emit", "objects", "both"),
    ("emit", "end", "both"),
    ("emit", "report", "both"),
    ("emit", "report_arguments", "both"),
    ("emit", "add_fetched", "worker"),
    ("emit", "report_contents", "worker"),
    ("emit", "spend", "both"),
    ("emit", "watch_call", "both"),
    ("emit", "unwatch_call", "both"),
    ("emit", "_send", "both"),
    ("emit", "owner", "both"),
    ("hooks", "Call", "both"),
    ("hooks", "_References", "both"),
    ("hooks", "_callee", "both"),
    ("hooks", "_size", "both"),
    ("hooks", "_check_sum", "worker"),
    ("hooks", "Returns", "worker"),
    ("hooks", "Task", "worker"),
]


class Timeout(Exception):
    """The exception that the user's signal handler raises."""


def inject(module: str, name: str) -> Any:
    import rayscope.tracer.emit
    import rayscope.tracer.hooks

    holder = getattr(rayscope.tracer, module)
    original = getattr(holder, name)

    def fails(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"Injected into {name}")

    rayscope.tracer.emit.state.on = True
    setattr(holder, name, of_rayscope(fails))
    return holder, name, original


def of_rayscope(function: Any) -> Any:
    """``function`` as if it was the tracer's own."""
    return types.FunctionType(
        function.__code__, {**globals(), "__name__": "rayscope.tracer.injected"}, closure=function.__closure__
    )


def interrupt(*_: Any) -> None:
    raise Timeout


def interrupted() -> list[str]:
    """Interrupt the tracer by signals.

    Return for each call whether its exception was lost; if not, whether the tracer is still on.
    """
    from rayscope.tracer import emit

    ready, ref = emit.ready, ray.put(1)
    signal.signal(signal.SIGALRM, interrupt)

    def signalled() -> bool:
        signal.raise_signal(signal.SIGALRM)
        return ready()

    found = []
    emit.ready = of_rayscope(signalled)
    for call in (lambda: ray.get(ref), lambda: ray.put(1), lambda: double.remote(ref)):
        try:
            call()
            found.append("lost")
        except Timeout:
            found.append("on" if emit.state.on else "off")
    emit.ready = ready
    return found


def mend(injected: Any) -> bool:
    """Whether the fault was met: the tracer is off."""
    from rayscope.tracer import emit, hooks

    holder, name, original = injected
    setattr(holder, name, original)
    met = not emit.state.on
    # Nothing but this test ever switches it on again.
    emit.state.on, hooks._thread.returns = True, None
    emit.state.tasks.clear()
    return met


@ray.remote
def double(value: int) -> int:
    return 2 * value


@ray.remote
def count(values: list[Any]) -> int:
    return len(values)


def use_everything() -> list[Any]:
    """The results of a get, a put, a wait, calls with references, an actor; the same whatever the tracer does."""
    one = ray.put(21)
    ref = double.remote(one)
    ready, rest = ray.wait([ref], timeout=60)
    found = [ray.get(ref), ray.get(count.remote([one, ref])), len(ready), len(rest), ray.get([one, ref])]
    try:
        ray.get(double.remote("x" * 3), timeout=60)
        ray.get(double.remote(None), timeout=60)
    except TypeError as error:
        found.append(type(error).__name__)
    try:
        ray.get("no reference")
    except ValueError as error:
        found.append(type(error).__name__)
    return found


@ray.remote
class Worker:
    def inject(self, module: str, name: str) -> None:
        self.injected = inject(module, name)

    def work(self, value: Any) -> list[Any]:
        return [value, *use_everything()]

    def mend(self) -> bool:
        return mend(self.injected)


@ray.remote
class Async:
    async def work(self, refs: list[Any]) -> list[Any]:
        return [await refs[0], await double.remote(refs[0])]


@serve.deployment(ray_actor_options={"num_cpus": 0})
class Served:
    def __call__(self, number: int) -> int:
        return 2 * number


def use_serve() -> int:
    """An application of Ray Serve, which by default switches off the task events of its actors."""
    serve.start(proxy_location="Disabled")
    served = serve.run(Served.bind())
    answers = [served.remote(number).result(timeout_s=60) for number in range(5)]
    serve.shutdown()
    return sum(answers)


def main() -> None:
    ray.init(**json.loads(sys.argv[1]), log_to_driver=False)
    wanted = use_everything()
    worker, coroutines = Worker.remote(), Async.remote()
    wrong, unmet = [], []
    given = list(range(50_000))  # more than 100 KB
    for module, name, where in PARTS:
        if where == "both":
            injected = inject(module, name)
            found = use_everything()
            if not mend(injected):
                unmet.append(f"driver {module}.{name}")
            if found != wanted:
                wrong.append([f"driver {module}.{name}", found])
        ray.get(worker.inject.remote(module, name))
        ref = ray.put(given)
        found = ray.get(worker.work.remote(ref))
        if not ray.get(worker.mend.remote()):
            unmet.append(f"worker {module}.{name}")
        if found != [given, *wanted]:
            wrong.append([f"worker {module}.{name}", found[1:]])
    if ray.get(coroutines.work.remote([ray.put(4)])) != [4, 8]:
        wrong.append(["coroutines", None])
    if use_serve() != 20:
        wrong.append(["serve", None])
    if interrupted() != ["on"] * 3:
        wrong.append(["interrupted", interrupted()])
    print("FAULTS " + json.dumps({"wrong": wrong, "unmet": unmet, "wanted": wanted}))


if __name__ == "__main__":
    main()
