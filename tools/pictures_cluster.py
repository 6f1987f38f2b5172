"""A small live cluster with problems, for the pictures of live pages: `tools/pictures.py` records it.

It has two nodes, a placement group and a task that do not fit, actors that log, and objects that are never
freed. It runs until it reads a line from stdin.
"""

import logging
import sys
import time

import ray
from ray.cluster_utils import Cluster
from ray.util.placement_group import placement_group


@ray.remote(num_cpus=0.5, max_concurrency=2)
class Trainer:
    """Trains for as long as the cluster lives and logs each step."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.held = [ray.put(bytes(1 << 20)) for _ in range(12)]
        logging.basicConfig(
            stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
        )

    def __repr__(self) -> str:
        return f"Trainer({self.name})"

    def train(self) -> None:
        for step in range(1_000_000):
            if step % 25 == 24:
                logging.warning("step %d: gradient norm %.1f is large, clipped", step, 40 + step % 60)
            else:
                logging.info("step %d: loss %.4f", step, 2.5 / (1 + step / 20))
            time.sleep(0.2)

    def evaluate(self, batch: int) -> float:
        time.sleep(0.3)
        return 1 / (1 + batch)


@ray.remote(num_cpus=1)
def prepare(batch: int) -> bytes:
    time.sleep(0.5)
    return bytes(200_000)


def main() -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 4})
    cluster.add_node(num_cpus=2)
    ray.init(address=cluster.address)
    trainers = [Trainer.remote(name) for name in ("vision", "text")]
    training = [trainer.train.remote() for trainer in trainers]
    waiting = placement_group([{"GPU": 8, "CPU": 1}], name="eight GPUs")
    oversized = prepare.options(num_cpus=64).remote(0)
    placed = placement_group([{"CPU": 1}], name="evaluation")
    ray.get(placed.ready())
    batches = [prepare.remote(batch) for batch in range(12)]
    ray.get([trainer.evaluate.remote(batch) for trainer in trainers for batch in range(10)])
    sys.stdin.readline()
    del training, waiting, batches, oversized
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main()
