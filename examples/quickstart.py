"""A small but lively Ray application: what `make demo` records.

It counts words, trains a few models and scores a stream of requests, and on the way it does what real
applications do: one slow straggler, nested tasks, a pool of actors of which one is slow, an asyncio actor,
failures that a retry cures and one that it does not, a generator, and a placement group.

    rayscope run examples/quickstart.py

Takes about 20 seconds on two cores. The same work is done each time.
"""

import asyncio
import collections
import random
import time
import zlib

import ray
from ray.exceptions import RayTaskError
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

WORDS = ["ray", "task", "actor", "node", "object", "worker", "driver", "cluster"]


def work(seconds: float) -> None:
    """Keep a core busy, as computing does (sleeping would look the same but cost nothing)."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        zlib.crc32(b"x" * 10_000)


# --- Map and reduce: a shuffle with one straggler and nested tasks -------------------------------------


@ray.remote
def load_chunk(index: int) -> list[str]:
    """One chunk of text. Chunk 7 comes from a slow disk: the straggler to look for."""
    random_words = random.Random(index)
    time.sleep(2.5 if index == 7 else 0.05)
    return [random_words.choice(WORDS) for _ in range(20_000)]


@ray.remote
def tokenize(words: list[str]) -> collections.Counter:
    work(0.03)
    return collections.Counter(words)


@ray.remote
def count_chunk(index: int) -> collections.Counter:
    """Load and count: two tasks of its own, which the call tree shows below this one."""
    return ray.get(tokenize.remote(load_chunk.remote(index)))


@ray.remote
def merge(*parts: collections.Counter) -> collections.Counter:
    work(0.02)
    return sum(parts, collections.Counter())


def word_count() -> None:
    counts = [count_chunk.remote(index) for index in range(24)]
    while len(counts) > 1:  # a tree of merges, four at a time
        counts = [merge.remote(*counts[i : i + 4]) for i in range(0, len(counts), 4)]
    word, times = ray.get(counts[0]).most_common(1)[0]
    print(f"  most frequent word: {word!r}, {times:,} times")


# --- A pool of actors, one of them slow ----------------------------------------------------------------


@ray.remote(num_cpus=0.25)
class Scorer:
    """Scores requests. Scorer 0 has a cold cache and makes everybody behind it wait."""

    def __init__(self, index: int) -> None:
        self.delay = 0.25 if index == 0 else 0.03

    def score(self, request: int) -> float:
        time.sleep(self.delay)
        return random.Random(request).random()


@ray.remote(num_cpus=0)
class Board:
    """An asyncio actor: many calls are in flight at once."""

    def __init__(self) -> None:
        self.best = 0.0

    async def offer(self, score: float) -> None:
        await asyncio.sleep(0.05)
        self.best = max(self.best, score)

    async def top(self) -> float:
        return self.best


def score_requests() -> None:
    board = Board.remote()
    pool = [Scorer.remote(index) for index in range(4)]
    # Round robin, as simple code does it: the slow actor gets as many requests as the fast ones.
    offers = [board.offer.remote(pool[n % len(pool)].score.remote(n)) for n in range(80)]
    ray.get(offers)
    print(f"  best score: {ray.get(board.top.remote()):.3f}")


# --- Failures: some that a retry cures, and one for good ------------------------------------------------


@ray.remote(num_cpus=0)
class Attempts:
    """Counts attempts, so that the failures are the same each time."""

    def __init__(self) -> None:
        self.seen = collections.Counter()

    def next(self, key: int) -> int:
        self.seen[key] += 1
        return self.seen[key]


@ray.remote(max_retries=3, retry_exceptions=[ConnectionError])
def fetch(page: int, attempts: "ray.actor.ActorHandle") -> int:
    """Every third page needs a second attempt."""
    work(0.05)
    if page % 3 == 0 and ray.get(attempts.next.remote(page)) == 1:
        raise ConnectionError(f"page {page}: connection reset, try again")
    return page


@ray.remote(max_retries=0)
def parse(page: int) -> int:
    work(0.02)
    if page == 5:
        raise ValueError(f"page {page} is not what it says it is")
    return page


def crawl() -> None:
    attempts = Attempts.remote()
    parsed = [parse.remote(fetch.remote(page, attempts)) for page in range(12)]
    failed = 0
    for result in parsed:
        try:
            ray.get(result)
        except RayTaskError:
            failed += 1
    print(f"  {len(parsed) - failed} pages parsed, {failed} failed for good")


# --- A generator, and training in a placement group -----------------------------------------------------


@ray.remote(num_returns="streaming")
def batches(count: int):
    """Yields batches while the consumer is at work on the earlier ones."""
    for index in range(count):
        work(0.05)
        yield list(range(index * 100, index * 100 + 100))


@ray.remote(num_cpus=1)
def train(rate: float, batch: list[int]) -> float:
    work(0.15)
    return sum(batch) * rate


def train_models() -> None:
    group = placement_group([{"CPU": 1}], strategy="PACK")
    ray.get(group.ready())
    together = PlacementGroupSchedulingStrategy(placement_group=group)
    losses = [
        train.options(scheduling_strategy=together, name=f"train rate={rate}").remote(rate, batch)
        for batch in batches.remote(6)
        for rate in (0.1, 0.01, 0.001)
    ]
    print(f"  {len(losses)} steps, last loss {ray.get(losses)[-1]:.1f}")
    remove_placement_group(group)


def main() -> None:
    ray.init()
    for title, step in (
        ("Counting words (map-reduce with a straggler)", word_count),
        ("Scoring requests (an actor pool with a slow actor)", score_requests),
        ("Crawling pages (retries, and a failure for good)", crawl),
        ("Training models (a generator and a placement group)", train_models),
    ):
        began = time.perf_counter()
        print(f"{title} ...", flush=True)
        step()
        print(f"  took {time.perf_counter() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
