"""A tree of workers of which some are slow: which ones? Run it under `rayscope run` and look.

    rayscope run examples/flow_tree.py              # some 15 s
    rayscope run examples/flow_tree.py --scale 1    # the whole 10 minutes
    rayscope run examples/flow_tree.py --seed 4     # another tree

Each worker (an actor) calls `process` of each of its children ten times, waits for all of that, and then
lets its children do the same with theirs. `process` sleeps 5 s; that of the bottlenecks, which are among the
workers furthest from the root, 30 s. All times are scaled by `--scale`. At the end it prints who they were.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from dataclasses import dataclass, field

import ray

CALLS = 10
USUAL_S, BOTTLENECK_S = 5.0, 30.0


@dataclass
class Plan:
    """What a worker is to be: its place in the tree, how long it sleeps, and its children."""

    name: str
    sleep_s: float
    children: list[Plan] = field(default_factory=list)

    def all(self) -> list[Plan]:
        """This one and all below it."""
        return [self, *(one for child in self.children for one in child.all())]


def grow(chance: random.Random, depth: int, scale: float, name: str = "0") -> Plan:
    """A tree of so many generations below this worker, with 1 or 2 children each."""
    plan = Plan(name, USUAL_S * scale)
    if depth:
        for number in range(chance.randint(1, 2)):
            plan.children.append(grow(chance, depth - 1, scale, f"{name}.{number}"))
    return plan


def slow_down(chance: random.Random, root: Plan, scale: float) -> list[str]:
    """Make some of the leaves, one at least, bottlenecks. Returns their names."""
    leaves = [plan for plan in root.all() if not plan.children]
    chosen = chance.sample(leaves, max(1, len(leaves) // 3))
    for plan in chosen:
        plan.sleep_s = BOTTLENECK_S * scale
    return sorted(plan.name for plan in chosen)


@ray.remote(num_cpus=0)
class Worker:
    """A worker of the tree; it makes its children itself."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.children = [Worker.remote(child) for child in plan.children]

    def __repr__(self) -> str:
        return f"Worker({self.plan.name})"

    def process(self, item: int) -> int:
        """The work itself."""
        time.sleep(self.plan.sleep_s)
        return item

    def run(self) -> int:
        """Have the children process their items, then let them run theirs. Returns the number of calls."""
        items = ray.get([child.process.remote(item) for child in self.children for item in range(CALLS)])
        return len(items) + sum(ray.get([child.run.remote() for child in self.children]))


def main() -> ray.actor.ActorHandle:
    """Grow the tree, run it, and say what it was. Returns its root."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--depth", type=int, default=3, help="generations below the root")
    parser.add_argument("--scale", type=float, default=1 / 50, help="of 5 s and 30 s")
    args = parser.parse_args()
    chance = random.Random(args.seed)
    root = grow(chance, args.depth, args.scale)
    bottlenecks = slow_down(chance, root, args.scale)
    ray.init()
    worker = Worker.remote(root)
    calls = ray.get(worker.run.remote())
    print(json.dumps({"workers": len(root.all()), "calls": calls, "bottlenecks": bottlenecks}))
    return worker


if __name__ == "__main__":
    # Held until the end: when the last handle goes, Ray kills the tree before its workers have told it all.
    tree = main()
