"""Bytes from anybody on the network are decoded by native code (ptars, protobuf): they must not end the process.

A child process decodes, so that a crash is a failed example here, which hypothesis makes small.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayscope.ray.events.batch import Format

CHILD = """
import sys
from rayscope.ray.events import batch
from rayscope.ray.events.batch import Format, MalformedBatch

while size := sys.stdin.buffer.read(4):
    body = sys.stdin.buffer.read(int.from_bytes(size, "big"))
    try:
        checked = batch.check(body, Format.BINARY)
        for session, part in batch.split(checked).items():
            batch.decode([part], Format.BINARY, session)
        batch.node_id(body, Format.BINARY)
    except MalformedBatch:
        pass
    sys.stdout.buffer.write(b".")
    sys.stdout.buffer.flush()
"""


class Decoder:
    """A process that decodes bodies one after the other, restarted once it has died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def decodes(self, body: bytes) -> bool:
        """Whether the process has survived the body."""
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-c", CHILD]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        stdin, stdout = _pipes(self._process)
        stdin.write(len(body).to_bytes(4, "big") + body)
        stdin.flush()
        if stdout.read(1) == b".":
            return True
        self._process.wait()
        return False

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


@pytest.fixture(scope="module")
def decoder() -> Iterator[Decoder]:
    made = Decoder()
    yield made
    made.close()


def _flip(body: bytes, at: int, bits: bytes) -> bytes:
    return (
        body[:at]
        + bytes(old ^ new for old, new in zip(body[at:], bits, strict=False))
        + body[at + len(bits) :]
    )


def _insert(body: bytes, at: int, what: bytes) -> bytes:
    return body[:at] + what + body[at:]


def _put(body: bytes, at: int, what: bytes) -> bytes:
    return body[:at] + what + body[at + len(what) :]


def _cut(body: bytes, at: int, what: bytes) -> bytes:
    return body[:at] + body[at + int.from_bytes(what[:2], "big") :]


def _end(body: bytes, at: int, what: bytes) -> bytes:
    return body[:at]


def _repeat(body: bytes, at: int, what: bytes) -> bytes:
    return body[:at] + body[at : at + 8 * what[0]] * 3 + body[at:]


DAMAGES = st.lists(
    st.tuples(
        st.sampled_from([_flip, _insert, _put, _cut, _end, _repeat]),
        st.floats(0, 1),
        # Lengths and numbers that are much too large, too.
        st.one_of(st.binary(min_size=1, max_size=12), st.just(b"\xff" * 9 + b"\x7f")),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("version", ["2.50", "2.53", "2.56", "2.60"])
@given(damages=DAMAGES, number=st.integers(0, 1 << 16))
def test_damaged_bodies_end_no_process(
    version: str,
    damages: list[tuple[Callable[[bytes, int, bytes], bytes], float, bytes]],
    number: int,
    recorded: Callable[[str, Format], list[bytes]],
    decoder: Decoder,
) -> None:
    bodies = recorded(version, Format.BINARY)
    body = bodies[number % len(bodies)]
    for damage, share, what in damages:
        body = damage(body, int(share * len(body)), what)
    assert decoder.decodes(body)
