"""Whatever the API's own description allows is answered as it promises: no 500, the right status and schema."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import settings
from tests.waiting import TIMEOUT_S

from rayscope.server.runner import Server

CONFIG = Path(__file__).parents[2] / "schemathesis.toml"


@pytest.mark.timeout(1800)
@pytest.mark.long
def test_every_answer_is_as_described(
    serve: Callable[..., Server], bodies: list[bytes], tmp_path: Path
) -> None:
    server = serve(sql_timeout_s=2)
    for body in bodies:
        httpx.post(server.ingest_url, content=body).raise_for_status()
    assert server.services is not None
    assert server.services.writer.flush()
    # It takes a second of CPU to build, and Schemathesis waits 10 s for it.
    httpx.get(f"{server.url}/openapi.json").raise_for_status()
    command = [str(Path(sys.executable).with_name("schemathesis")), f"--config-file={CONFIG}"]
    command += ["run", f"{server.url}/openapi.json"]
    examples = settings().max_examples
    # Trying everything that the description forbids takes a minute: `make test-long` does it.
    phases = ["--phases=fuzzing"] if examples < 400 else []
    command += [f"--max-examples={examples // 5}", *phases]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-6000:]
    assert httpx.get(f"{server.url}/api/health").json()["status"] == "ok"


def test_others_are_answered_while_the_description_is_built(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    building, answered = threading.Event(), threading.Event()

    def build(_: FastAPI) -> dict[str, str]:
        building.set()
        return {"answered": str(answered.wait(TIMEOUT_S))}

    monkeypatch.setattr(FastAPI, "openapi", build)
    server = serve()
    with ThreadPoolExecutor(1) as pool:
        description = pool.submit(httpx.get, f"{server.url}/openapi.json")
        assert building.wait(TIMEOUT_S)
        httpx.get(f"{server.url}/api/health").raise_for_status()
        answered.set()
        assert description.result().json() == {"answered": "True"}
