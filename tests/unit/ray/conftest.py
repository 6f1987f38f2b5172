"""The recorded batches in both formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rayscope.ray.events.batch import Format

SAMPLES = Path(__file__).parent / "samples"


def _bodies(version: str, form: Format) -> Iterator[bytes]:
    data = (SAMPLES / f"ray-{version}.{form.value}").read_bytes()
    if form is Format.JSON:
        yield from (json.dumps(batch).encode() for batch in json.loads(data))
    while form is Format.BINARY and data:
        # The JSON, as that Ray's own classes write it: a length of four bytes before each batch.
        end = 4 + int.from_bytes(data[:4], "big")
        yield data[4:end]
        data = data[end:]


@pytest.fixture(scope="session")
def recorded() -> Callable[[str, Format], list[bytes]]:
    """Bodies that a real Ray of that version sent, or would send: ``recorded("2.60", Format.BINARY)``."""
    return lambda version, form: list(_bodies(version, form))
