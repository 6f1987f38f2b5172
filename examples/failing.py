"""A job of which one task fails: the tutorial debugs it.

pip install debugpy
RAY_DEBUG_POST_MORTEM=1 rayscope run --debugger examples/failing.py
"""

import ray


def normalize(values: list[float]) -> list[float]:
    total = sum(values)
    return [value / total for value in values]


@ray.remote(max_retries=0)
def score(name: str, batch: list[float]) -> float:
    return max(normalize(batch))


@ray.remote(num_cpus=0)
def evaluate(batches: dict[str, list[float]]) -> dict[str, float]:
    scores = {name: score.remote(name, batch) for name, batch in batches.items()}
    return {name: ray.get(found) for name, found in scores.items()}


def main() -> None:
    ray.init()
    batches = {"monday": [1.0, 4.0, 5.0], "tuesday": [2.0, 2.0], "holiday": [0.0, 0.0, 0.0]}
    print(ray.get(evaluate.remote(batches)))


if __name__ == "__main__":
    main()
