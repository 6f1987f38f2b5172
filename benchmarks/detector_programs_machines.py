"""Pairs of programs that use data, resources and machines badly and well.

python benchmarks/detector_programs_machines.py NAME_bad

Most are drivers of the running Ray. Those in OWN_CLUSTER start their own cluster, with special settings or
several nodes.
"""

from __future__ import annotations

import os
import sys
import time

import ray

#: Programs that start their own Ray.
OWN_CLUSTER = (
    "leaked_objects",
    "locality",
    "many_objects_get",
    "memory_not_requested",
    "memory_requested_unused",
    "node_death",
    "object_store_full",
    "oom_kill",
    "reconstruction",
    "slow_node",
)

MIB = 2**20


def spin(seconds: float) -> None:
    """Compute for ``seconds``."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


@ray.remote(num_cpus=0.5)
def warm() -> None:
    time.sleep(0.3)


def start() -> None:
    """Connect to the running Ray, and start the workers before the measured part."""
    ray.init(log_to_driver=False)
    _about()
    ray.get([warm.remote() for _ in range(4)])


def _about() -> None:
    context = ray.get_runtime_context()
    print("JOB", context.get_job_id())
    print("SESSION", context.get_session_name())


def _grow(first: int) -> None:
    """Four concurrent tasks whose first attempts take ``first`` MiB each, with room for 2,000 MiB more."""
    import tempfile

    import psutil

    memory = psutil.virtual_memory()
    limit = (memory.total - memory.available + 2000 * MIB) / memory.total
    ray.init(
        address="local",
        num_cpus=2,
        log_to_driver=False,
        include_dashboard=False,
        _system_config={"memory_usage_threshold": limit, "memory_monitor_refresh_ms": 100},
    )
    _about()

    @ray.remote(num_cpus=0.5, max_retries=3)
    def load(number: int, tried: str) -> int:
        path = f"{tried}/{number}"
        megabytes = 100 if os.path.exists(path) else first
        open(path, "w").close()
        held = []
        for _ in range(megabytes // 50):
            held.append(os.urandom(1024) * (50 * 1024))
            time.sleep(0.1)
        time.sleep(0.5)
        return len(held)

    with tempfile.TemporaryDirectory() as tried:
        print(sum(ray.get([load.remote(number, tried) for number in range(4)])))


def oom_kill_bad() -> None:
    _grow(1000)


def oom_kill_good() -> None:
    _grow(100)


def _with_memory(megabytes: int, **options: int) -> None:
    """Twelve tasks that take ``megabytes`` each, on a node with 4 CPUs and 1,600 MiB for tasks."""
    ray.init(address="local", num_cpus=4, _memory=1600 * MIB, log_to_driver=False, include_dashboard=False)
    _about()

    @ray.remote(num_cpus=1, **options)
    def load(number: int) -> int:
        held = os.urandom(1024) * (megabytes * 1024)
        time.sleep(1)
        return len(held)

    print(sum(ray.get([load.remote(number) for number in range(12)])))


def memory_not_requested_bad() -> None:
    _with_memory(500)


def memory_not_requested_good() -> None:
    _with_memory(500, memory=800 * MIB)


def memory_requested_unused_bad() -> None:
    _with_memory(50, memory=800 * MIB)


def memory_requested_unused_good() -> None:
    _with_memory(50, memory=400 * MIB)


def _keep(limit: int) -> None:
    """An actor that keeps 10 MiB of each call, but not more than ``limit`` times."""
    from collections import deque

    @ray.remote(num_cpus=0.5)
    class Keeper:
        def __init__(self) -> None:
            self.kept: deque[bytes] = deque(maxlen=limit)

        def keep(self, number: int) -> int:
            self.kept.append(os.urandom(1024) * (10 * 1024))
            time.sleep(0.02)
            return number

    keeper = Keeper.remote()
    print(sum(ray.get(keeper.keep.remote(number)) for number in range(60)))


def actor_memory_grows_bad() -> None:
    _keep(1000)


def actor_memory_grows_good() -> None:
    _keep(5)


def over_asked_cpus_bad() -> None:
    @ray.remote(num_cpus=2)
    def download(number: int) -> int:
        time.sleep(1)
        return number

    print(sum(ray.get([download.remote(number) for number in range(20)])))


def over_asked_cpus_good() -> None:
    @ray.remote(num_cpus=1)
    def compute(number: int) -> int:
        spin(0.5)
        return number

    print(sum(ray.get([compute.remote(number) for number in range(36)])))


def _in_threads(threads: int, rounds: int) -> None:
    """Compute in several threads without holding Python's global lock."""
    import hashlib
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda at: hashlib.pbkdf2_hmac("sha256", b"x", bytes(at), rounds), range(threads)))


def _hash(threads: int) -> None:
    @ray.remote(num_cpus=0.5)
    def digest(number: int) -> int:
        _in_threads(threads, 2_500_000)
        return number

    for number in range(2):
        ray.get(digest.remote(number))
    print(sum(ray.get([digest.remote(number) for number in range(12)])))


def under_asked_cpus_bad() -> None:
    _hash(4)


def under_asked_cpus_good() -> None:
    _hash(1)


def _crunch(in_threads: bool) -> None:
    @ray.remote(num_cpus=2)
    class Cruncher:
        def crunch(self, number: int) -> int:
            if in_threads:
                _in_threads(2, 2_000_000)
            else:
                spin(1)
            return number

    cruncher = Cruncher.remote()
    print(sum(ray.get(cruncher.crunch.remote(number)) for number in range(18)))


def single_core_actor_bad() -> None:
    _crunch(False)


def single_core_actor_good() -> None:
    _crunch(True)


def _nodes(*more: dict[str, object], **head: object) -> list:
    """Start a cluster of several nodes on this machine, and connect to it.

    Returns all nodes but the first.
    """
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, **head})
    added = [cluster.add_node(**arguments) for arguments in more]
    ray.init(address=cluster.address, log_to_driver=False)
    _about()
    return [cluster, *added]


def _on_two_nodes(slowly: float) -> None:
    _nodes({"num_cpus": 2, "resources": {"second": 1}})
    second = next(one["NodeID"] for one in ray.nodes() if "second" in one["Resources"])

    @ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
    def train(number: int) -> int:
        time.sleep(slowly if ray.get_runtime_context().get_node_id() == second else 0.3)
        return number

    print(sum(ray.get([train.remote(number) for number in range(48)])))


def slow_node_bad() -> None:
    _on_two_nodes(0.9)


def slow_node_good() -> None:
    _on_two_nodes(0.3)


def _parts(sizes: list[int]) -> None:
    @ray.remote(num_cpus=0.5)
    def aggregate(part: bytes) -> int:
        spin(len(part) / MIB)
        return len(part)

    refs = [ray.put(bytes(size)) for size in sizes]
    print(sum(ray.get([aggregate.remote(ref) for ref in refs])))


def data_skew_bad() -> None:
    _parts([MIB // 4 + 1000 * at for at in range(15)] + [4 * MIB])


def data_skew_good() -> None:
    _parts([MIB // 2 + 1000 * at for at in range(16)])


def _with_environments(environments: int) -> None:
    @ray.remote(num_cpus=0.5)
    def step(number: int) -> int:
        time.sleep(0.1)
        return number

    for round_ in range(4):
        calls = []
        for number in range(4):
            variables = {"STEP": str((4 * round_ + number) % environments)}
            calls.append(step.options(runtime_env={"env_vars": variables}).remote(number))
        print(sum(ray.get(calls)))


def worker_startup_bad() -> None:
    _with_environments(16)


def worker_startup_good() -> None:
    _with_environments(1)


def _tables(as_rows: bool) -> None:
    import numpy

    @ray.remote(num_cpus=0.5)
    def count(table: object) -> int:
        if not as_rows:
            time.sleep(0.3)
        return len(table)

    rows = 300_000
    table = {"id": numpy.arange(rows), "value": numpy.random.random(rows)}
    if as_rows:
        table = [{"id": number, "value": str(number)} for number in range(rows)]
    ref = ray.put(table)
    print(sum(ray.get([count.remote(ref) for _ in range(16)])))


def serialization_bad() -> None:
    _tables(True)


def serialization_good() -> None:
    _tables(False)


def _move(strategy: str) -> None:
    _nodes({"num_cpus": 2, "resources": {"second": 100}, "object_store_memory": 500 * MIB})

    @ray.remote(num_cpus=0, resources={"second": 1})
    def load(number: int) -> bytes:
        return bytes(80 * MIB)

    @ray.remote(num_cpus=1, scheduling_strategy=strategy)
    def measure(part: bytes) -> int:
        time.sleep(0.05)
        return len(part)

    for _ in range(4):
        parts = [load.remote(number) for number in range(2)]
        ray.wait(parts, num_returns=len(parts), fetch_local=False)
        print(sum(ray.get([measure.remote(part) for part in parts])))


def locality_bad() -> None:
    _move("SPREAD")


def locality_good() -> None:
    _move("DEFAULT")


def _fill(keep: bool) -> None:
    ray.init(address="local", num_cpus=2, object_store_memory=100 * MIB, log_to_driver=False)
    _about()

    @ray.remote(num_cpus=0.5)
    def produce(number: int) -> bytes:
        time.sleep(0.2)
        return bytes(10 * MIB)

    kept = []
    for number in range(0, 160, 2):
        refs = [produce.remote(number), produce.remote(number + 1)]
        ray.wait(refs, num_returns=2)
        kept = [*kept, *refs] if keep and len(kept) < 30 else refs


def _use_once(keep: bool) -> None:
    """Use 80 values of 1 MB one after the other, in 48 s. ``keep``: keep their references."""
    ray.init(address="local", num_cpus=2, object_store_memory=100 * MIB, log_to_driver=False)
    _about()

    @ray.remote(num_cpus=0.5)
    def read(number: int) -> bytes:
        time.sleep(2.4)
        return bytes(MIB)

    refs = [read.remote(number) for number in range(4)]
    kept, total = [], 0
    for number in range(4, 84):
        done, refs = ray.wait(refs)
        total += sum(len(value) for value in ray.get(done))
        kept += done if keep else []
        refs += [read.remote(number)] if number < 80 else []
    print(total, len(kept))


def leaked_objects_bad() -> None:
    _use_once(True)


def leaked_objects_good() -> None:
    _use_once(False)


def object_store_full_bad() -> None:
    _fill(True)


def object_store_full_good() -> None:
    _fill(False)


def _get_parts(at_once: bool) -> None:
    """Get 30 parts of 5 MB three times, which is more than the object store holds at once."""
    import numpy

    ray.init(address="local", num_cpus=2, object_store_memory=100 * MIB, log_to_driver=False)
    _about()

    @ray.remote(num_cpus=0.5)
    def array(number: int) -> object:
        return numpy.full(5_000_000, number, dtype=numpy.uint8)

    for _ in range(3):
        refs, total = [array.remote(number) for number in range(30)], 0
        while refs:
            done, refs = ray.wait(refs, num_returns=len(refs) if at_once else min(5, len(refs)))
            total += sum(int(part[0]) for part in ray.get(done))
            del done
        print(total)


def many_objects_get_bad() -> None:
    _get_parts(True)


def many_objects_get_good() -> None:
    _get_parts(False)


def _lose(kill: bool, keep: bool) -> None:
    """A node goes: together with the results of its tasks (``keep``), or while they run."""
    cluster, second = _nodes({"num_cpus": 2, "resources": {"second": 100}})

    @ray.remote(num_cpus=1, resources={"second": 1}, max_retries=3)
    def load(number: int) -> bytes:
        time.sleep(1.5)
        return bytes(2 * MIB)

    refs = [load.remote(number) for number in range(4)]
    if keep:
        ray.wait(refs, num_returns=len(refs), fetch_local=False)
    else:
        ray.wait(refs, timeout=2)
    if kill:
        cluster.remove_node(second, allow_graceful=False)
        cluster.add_node(num_cpus=2, resources={"second": 100})
    print(sum(map(len, ray.get(refs))))


def node_death_bad() -> None:
    _lose(True, False)


def node_death_good() -> None:
    _lose(False, False)


def reconstruction_bad() -> None:
    _lose(True, True)


def reconstruction_good() -> None:
    _lose(False, True)


if __name__ == "__main__":
    name = sys.argv[1]
    has_own = name.startswith(OWN_CLUSTER)
    if not has_own:
        start()
    globals()[name]()
    if has_own:
        # Ray sends its events every second, but does not wait for the last ones when such a cluster stops.
        ray.shutdown()
        time.sleep(3)
