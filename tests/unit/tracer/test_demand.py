"""Requests for a profile in a key-value store: which count, and when the profile is."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest

from rayscope.tracer import demand
from rayscope.tracer.demand import EVERY_S, NAMESPACE, PREFIX, Demand
from rayscope.tracer.emit import state

WORKER = "a" * 56


class Store:
    """A key-value store with requests. It fails if there are none."""

    def __init__(self) -> None:
        self.requests: dict[bytes, bytes] | None = {}
        self.calls = 0

    def internal_kv_keys(self, prefix: bytes, namespace: bytes, timeout: float) -> list[bytes]:
        assert (prefix, namespace) == (PREFIX, NAMESPACE)
        self.calls += 1
        if self.requests is None:
            raise ConnectionError
        return list(self.requests)

    def internal_kv_get(self, key: bytes, namespace: bytes, timeout: float) -> bytes | None:
        assert self.requests is not None
        return self.requests[key]

    def put(self, key: str, begin: float, end: float, worker: str = WORKER) -> None:
        assert self.requests is not None
        now = time.time()
        request = {"workers": ["b" * 56, worker], "begin": now + begin, "end": now + end}
        self.requests[PREFIX + key.encode()] = json.dumps(request).encode()


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    made = Store()
    worker: Any = SimpleNamespace(global_worker=SimpleNamespace(gcs_client=made))
    monkeypatch.setattr(state, "worker", worker)
    monkeypatch.setattr(demand.random, "random", lambda: 0.0)
    return made


def profile(process: Demand, now: float) -> list[int]:
    """The seconds from now on, of the next 60, in which a profile is taken."""
    return [second for second in range(60) if process.is_on(now + second)]


def test_a_request_for_this_process_is_obeyed_once(store: Store) -> None:
    store.put("other", 6, 16, worker="c" * 56)
    store.put("mine", 6, 16)
    process, now = Demand(WORKER), time.monotonic()
    assert not process.is_on(now)
    assert process.next_at(now) == now + EVERY_S
    store.requests = {}
    assert profile(process, now + 0.5) == list(range(6, 16))
    # Not during the profile: 60 s have 13 look-ups at most.
    assert store.calls <= 13
    assert process.next_at(now + 3600) == now + 3600


@pytest.mark.parametrize(("begin", "end"), [(-20, -10), (500, 510), (1, 400)])
def test_requests_for_another_time_do_not_count(store: Store, begin: float, end: float) -> None:
    store.put("odd", begin, end)
    assert profile(Demand(WORKER), time.monotonic()) == []


def test_what_is_no_request_does_no_harm(store: Store) -> None:
    for text in (b"", b"{", b"[]", b'{"workers":7}', b'{"workers":["' + WORKER.encode() + b'"]}'):
        store.requests = {PREFIX + b"odd": text}
        assert profile(Demand(WORKER), time.monotonic()) == []
    store.requests = None
    calls = store.calls
    assert profile(Demand(WORKER), time.monotonic()) == []
    assert store.calls - calls == 4  # a pause follows each failure
