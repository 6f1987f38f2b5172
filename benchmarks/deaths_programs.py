"""Drivers that die, or whose workers and actors die: the programs of ``deaths.py``.

    RAY_ADDRESS=... python benchmarks/deaths_programs.py exit_task

Each prints ``SUBJECT``, a kind, and an ID for everything that dies, the most important first, and ``JOB`` and
its job.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray

#: How long a job lives on after a death, s. The end of a job is a cause of its own.
AFTER_S = 1.5
#: Handles that must not go out of scope: that is a cause of its own.
HANDLES: list[Any] = []
FOLDER = Path(tempfile.mkdtemp(prefix="deaths-", dir=os.environ.get("TMPDIR")))


def ids() -> dict[str, Any]:
    """Return the IDs of this worker, actor, and node."""
    context = ray.get_runtime_context()
    known = {
        "worker": context.get_worker_id(),
        "actor": context.get_actor_id(),
        "node": context.get_node_id(),
    }
    return {**known, "pid": os.getpid()}


def write_ids(file: Path) -> None:
    """Write the IDs of this worker into a file."""
    part = file.with_suffix(".part")
    part.write_text(json.dumps(ids()))
    part.rename(file)


def read_ids(file: Path, timeout: float = 60) -> dict[str, Any]:
    """Wait for the file of :func:`write_ids`, and return its content."""
    deadline = time.monotonic() + timeout
    while not file.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(file)
        time.sleep(0.05)
    return dict(json.loads(file.read_text()))


def line(text: str) -> None:
    """Print a line at once: Ray prints in between."""
    sys.stdout.write(f"\n{text}\n")
    sys.stdout.flush()


def print_subject(kind: str, worker: dict[str, Any]) -> None:
    """Print the ID of something that dies."""
    line(f"SUBJECT {kind} {worker[kind]}")


def print_failure(ref: Any, timeout: float = 90) -> None:
    """Wait for a task that fails, and print its error."""
    try:
        ray.get(ref, timeout=timeout)
    except Exception as error:
        line(f"ERROR {type(error).__name__} {error}".replace("\n", " ")[:600])
    else:
        line("ERROR none")


@ray.remote(num_cpus=0.1, max_retries=0)
def die(file: Path, how: Callable[..., Any], *arguments: Any) -> Any:
    """Write the IDs of this worker, and do something fatal."""
    write_ids(file)
    return how(*arguments)


@ray.remote(num_cpus=0.1)
class Mortal:
    """An actor that runs functions."""

    def __init__(self, how: Callable[[], Any] | None = None) -> None:
        if how:
            how()

    def ids(self) -> dict[str, Any]:
        """Return the IDs of this worker, actor, and node."""
        return ids()

    def do(self, how: Callable[..., Any], *arguments: Any) -> Any:
        """Do something, maybe fatal."""
        return how(*arguments)


def task(how: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Run something fatal in a task."""
    file = FOLDER / "task"
    print_failure(die.options(**options).remote(file, how, *arguments))
    print_subject("worker", read_ids(file))


def actor(how: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Run something fatal in an actor's method."""
    mortal = Mortal.options(**options).remote()
    HANDLES.append(mortal)
    worker = ray.get(mortal.ids.remote())
    print_failure(mortal.do.remote(how, *arguments))
    print_subject("actor", worker)
    print_subject("worker", worker)


def struck(number: int) -> None:
    """Send a signal to a task's worker from another process."""
    file = FOLDER / "task"
    ref = die.remote(file, time.sleep, 60)
    worker = read_ids(file)
    time.sleep(0.5)
    os.kill(worker["pid"], number)
    print_failure(ref)
    print_subject("worker", worker)


def allocate(mib: int, seconds: float) -> int:
    """Use memory."""
    parts = []
    for _ in range(mib // 16):
        parts.append(b"x" * (16 << 20))
        time.sleep(seconds * 16 / mib)
    time.sleep(10)
    return len(parts)


def exit_task() -> None:
    task(os._exit, 3)


def exit_zero() -> None:
    actor(os._exit, 0)


def sys_exit() -> None:
    actor(sys.exit, 0)


def sys_exit_3() -> None:
    actor(sys.exit, 3)


def sys_exit_task() -> None:
    task(sys.exit, 3)


def segfault() -> None:
    task(ctypes.string_at, 0)


def abort() -> None:
    actor(os.abort)


def sigkill() -> None:
    struck(signal.SIGKILL)


def sigterm() -> None:
    struck(signal.SIGTERM)


def sigkill_actor() -> None:
    actor(lambda: os.kill(os.getpid(), signal.SIGKILL))


def ray_kill() -> None:
    mortal = Mortal.remote()
    worker = ray.get(mortal.ids.remote())
    HANDLES.append(mortal)
    ray.kill(mortal)
    print_subject("actor", worker)
    print_subject("worker", worker)


def out_of_scope() -> None:
    mortal = Mortal.remote()
    worker = ray.get(mortal.ids.remote())
    del mortal
    print_subject("actor", worker)
    print_subject("worker", worker)


def exit_actor() -> None:
    actor(ray.actor.exit_actor)


def terminate() -> None:
    mortal = Mortal.remote()
    worker = ray.get(mortal.ids.remote())
    HANDLES.append(mortal)
    print_failure(mortal.__ray_terminate__.remote())
    print_subject("actor", worker)
    print_subject("worker", worker)


def own() -> Any:
    """Start an actor that this actor owns, and return its IDs."""
    owned = Mortal.remote()
    ray.util.deaths_kept = owned
    return ray.get(owned.ids.remote())


def owner_died() -> None:
    owner = Mortal.remote()
    owned = ray.get(owner.do.remote(own))
    print_failure(owner.do.remote(os._exit, 5))
    print_subject("actor", owned)
    print_subject("worker", owned)


def owner_died_task() -> None:
    """A task whose owner, another worker, is killed."""
    file = FOLDER / "inner"

    @ray.remote(num_cpus=0.1, max_retries=0)
    def outer() -> None:
        ref = die.remote(file, time.sleep, 60)
        read_ids(file)
        time.sleep(0.5)
        os._exit(5)
        ray.get(ref)

    print_failure(outer.remote())
    print_subject("worker", read_ids(file))


def max_calls() -> None:
    file = FOLDER / "task"
    print_failure(ray.remote(num_cpus=0.1, max_calls=1)(write_ids).remote(file))
    print_subject("worker", read_ids(file))


def init_raises() -> None:
    mortal = Mortal.remote(lambda: 1 / 0)
    HANDLES.append(mortal)
    print_failure(mortal.ids.remote())
    line(f"SUBJECT actor {mortal._actor_id.hex()}")


def init_exits() -> None:
    mortal = Mortal.remote(lambda: os._exit(4))
    HANDLES.append(mortal)
    print_failure(mortal.ids.remote())
    line(f"SUBJECT actor {mortal._actor_id.hex()}")


def working_dir_fails() -> None:
    mortal = Mortal.options(runtime_env={"working_dir": "file:///does/not/exist.zip"}).remote()
    HANDLES.append(mortal)
    print_failure(mortal.ids.remote(), 45)
    line(f"SUBJECT actor {mortal._actor_id.hex()}")


def import_error() -> None:
    (FOLDER / "only_here.py").write_text("class Missing:\n    def ids(self):\n        return 1\n")
    sys.path.insert(0, str(FOLDER))
    only_here = importlib.import_module("only_here")
    mortal = ray.remote(num_cpus=0.1)(only_here.Missing).remote()
    HANDLES.append(mortal)
    print_failure(mortal.ids.remote())
    line(f"SUBJECT actor {mortal._actor_id.hex()}")


def import_error_driver() -> None:
    (FOLDER / "only_here.py").write_text("def missing():\n    return 1\n")
    sys.path.insert(0, str(FOLDER))
    only_here = importlib.import_module("only_here")
    job()
    ray.get(ray.remote(num_cpus=0.1, max_retries=0)(only_here.missing).remote())


def setup_hook_raises() -> None:
    """The hook runs in each worker of the job as it starts."""
    mortal = Mortal.remote()
    HANDLES.append(mortal)
    print_failure(mortal.ids.remote(), 60)
    line(f"SUBJECT actor {mortal._actor_id.hex()}")


def no_start() -> None:
    """The setup hook of a worker."""
    raise ValueError("this worker cannot start")


def group_removed() -> None:
    group = ray.util.placement_group([{"CPU": 0.1}])
    ray.get(group.ready(), timeout=60)
    strategy = ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(group)
    mortal = Mortal.options(scheduling_strategy=strategy).remote()
    worker = ray.get(mortal.ids.remote())
    HANDLES.append(mortal)
    ray.util.remove_placement_group(group)
    print_subject("actor", worker)
    print_subject("worker", worker)


def cancel() -> None:
    file = FOLDER / "task"
    ref = die.remote(file, time.sleep, 60)
    worker = read_ids(file)
    time.sleep(0.5)
    ray.cancel(ref, force=True)
    print_failure(ref)
    print_subject("worker", worker)


def idle() -> None:
    files = [FOLDER / f"task-{number}" for number in range(7)]

    def slow(file: Path) -> None:
        write_ids(file)
        read_ids(FOLDER / "all")

    refs = [ray.remote(num_cpus=0.01)(slow).remote(file) for file in files]
    workers = [read_ids(file) for file in files]
    write_ids(FOLDER / "all")
    ray.get(refs)
    gone: list[dict[str, Any]] = []
    deadline = time.monotonic() + 20
    while not gone and time.monotonic() < deadline:
        time.sleep(0.5)
        gone = [worker for worker in workers if not Path(f"/proc/{worker['pid']}").exists()]
    print_subject("worker", gone[0])


def job_over() -> None:
    mortal = Mortal.remote()
    worker = ray.get(mortal.ids.remote())
    file = FOLDER / "task"
    ray.get(die.remote(file, len, ""))
    print_subject("actor", worker)
    print_subject("worker", read_ids(file))
    print_subject("worker", worker)
    HANDLES.append(mortal)


def memory_monitor() -> None:
    task(allocate, 2600, 5.0, num_cpus=0, resources={"low": 0.1})


def kernel_oom() -> None:
    """A task in its own memory cgroup, where the kernel's out-of-memory killer kills it."""
    file = FOLDER / "task"
    ref = die.remote(file, later, FOLDER / "go", allocate, 400, 1.0)
    worker = read_ids(file)
    root = Path("/sys/fs/cgroup")
    version_1 = (root / "memory").is_dir()
    group = (root / "memory" if version_1 else root) / f"deaths-{os.getpid()}"
    group.mkdir()
    try:
        limit = "memory.limit_in_bytes" if version_1 else "memory.max"
        (group / limit).write_text(str(200 << 20))
        (group / "cgroup.procs").write_text(str(worker["pid"]))
        write_ids(FOLDER / "go")
        print_failure(ref)
        print_subject("worker", worker)
    finally:
        for _ in range(20):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.5)


def later(file: Path, how: Callable[..., Any], *arguments: Any) -> Any:
    """Wait for a file, and do something."""
    read_ids(file)
    return how(*arguments)


def full_disk() -> None:
    """A task writes to a full disk, and its driver does not catch the error."""
    job()
    ray.get(die.remote(FOLDER / "task", fill, Path(os.environ["DEATHS_FULL"])))


def full_disk_actor() -> None:
    """An actor that writes to a full disk as it starts."""
    path = Path(os.environ["DEATHS_FULL"])
    mortal = Mortal.remote(lambda: fill(path))
    HANDLES.append(mortal)
    print_failure(mortal.ids.remote())
    line(f"SUBJECT actor {mortal._actor_id.hex()}")


def fill(path: Path) -> None:
    """Write more than fits."""
    with (path / "file").open("wb") as file:
        for _ in range(64):
            file.write(b"x" * (1 << 20))


def serve_health() -> None:
    from ray import serve

    @serve.deployment(
        ray_actor_options={"num_cpus": 0.1},
        health_check_period_s=0.5,
        health_check_timeout_s=5,
        graceful_shutdown_timeout_s=1,
    )
    class Ill:
        """A replica that is ill after a while."""

        def __init__(self, file: Path) -> None:
            self._is_first = not file.exists()
            self._began = time.monotonic()
            if self._is_first:
                write_ids(file)

        def check_health(self) -> None:
            if self._is_first and time.monotonic() - self._began > 3:
                raise RuntimeError("the model is gone")

        def __call__(self) -> None:
            return None

    file = FOLDER / "replica"
    serve.start(http_options={"location": "NoServer"})
    serve.run(Ill.bind(file), name="ill", route_prefix=None)
    worker = read_ids(file)
    deadline = time.monotonic() + 40
    while Path(f"/proc/{worker['pid']}").exists() and time.monotonic() < deadline:
        time.sleep(0.5)
    print_subject("actor", worker)
    print_subject("worker", worker)
    time.sleep(4)
    serve.shutdown()


def tune_stop() -> None:
    from ray import tune

    file = FOLDER / "trial"

    def train(config: dict[str, Any]) -> None:
        write_ids(file)
        for number in range(1000):
            tune.report({"loss": -number})
            time.sleep(0.1)

    tune.Tuner(
        tune.with_resources(train, {"cpu": 0.1}),
        param_space={"a": 1},
        run_config=tune.RunConfig(
            storage_path=str(FOLDER / "results"), stop={"training_iteration": 3}, verbose=0
        ),
    ).fit()
    worker = read_ids(file)
    print_subject("actor", worker)
    print_subject("worker", worker)


def train_restart() -> None:
    from ray import train
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

    folder = FOLDER

    def loop() -> None:
        rank = train.get_context().get_world_rank()
        again = (folder / "dead").exists()
        if not again:
            write_ids(folder / f"rank-{rank}")
        if rank == 0 and not again:
            read_ids(folder / "rank-1")
            time.sleep(1)
            write_ids(folder / "dead")
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(1 if again else 60)

    DataParallelTrainer(
        loop,
        scaling_config=train.ScalingConfig(num_workers=2, resources_per_worker={"CPU": 0.1}),
        run_config=train.RunConfig(
            storage_path=str(folder / "results"), failure_config=train.FailureConfig(max_failures=1)
        ),
    ).fit()
    survivor = read_ids(folder / "rank-1")
    print_subject("actor", survivor)
    print_subject("worker", survivor)


def on_node() -> None:
    """An actor on another node, until a file exists."""
    mortal = Mortal.options(num_cpus=0, resources={"other": 0.1}).remote()
    worker = ray.get(mortal.ids.remote())
    print_subject("actor", worker)
    print_subject("worker", worker)
    job()
    line(f"READY {os.getpid()}")
    read_ids(Path(os.environ["DEATHS_GO"]), 120)


def stay() -> None:
    """A driver with an actor that stays until it is stopped."""
    mortal = Mortal.remote()
    worker = ray.get(mortal.ids.remote())
    job()
    print_subject("actor", worker)
    print_subject("worker", worker)
    ref = mortal.do.remote(time.sleep, 600)
    line(f"READY {os.getpid()}")
    ray.get(ref)


def raises() -> None:
    """A driver with an exception that nobody catches."""
    mortal = Mortal.remote()
    worker = ray.get(mortal.ids.remote())
    job()
    print_subject("actor", worker)
    raise ValueError("the driver gives up")


def exits() -> None:
    """A driver that exits with a status."""
    job()
    sys.exit(7)


def job() -> None:
    """Print the job."""
    line(f"JOB {ray.get_runtime_context().get_job_id()}")


def main() -> None:
    """Run worker program."""
    program = globals()[sys.argv[1]]
    env = {"worker_process_setup_hook": no_start} if program is setup_hook_raises else {}
    ray.init(log_to_driver=False, logging_level="error", namespace="deaths", runtime_env=env)
    program()
    job()
    if sys.argv[1] != "job_over":
        time.sleep(AFTER_S)


if __name__ == "__main__":
    main()
