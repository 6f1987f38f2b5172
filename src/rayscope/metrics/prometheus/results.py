"""Values of PromQL as JSON in Prometheus' form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from rayscope.metrics.promql.select import Windows
from rayscope.metrics.promql.values import Scalar, Times, Vector, number_text
from rayscope.model.metric import Labels
from rayscope.storage.errors import BadQuery

#: Maximum size of the data of an answer, bytes.
MAX_BYTES = 64 << 20


def json_array(items: Iterable[bytes], check: Callable[[], None]) -> bytes:
    """A JSON array of encoded items. Raises BadQuery if it is too large, and any error of ``check``."""
    parts: list[bytes] = []
    size = 0
    for item in items:
        check()
        size += len(item) + 1
        if size > MAX_BYTES:
            raise BadQuery(
                f"The answer would be larger than {MAX_BYTES >> 20} MiB.",
                "Select fewer series with matchers, or use a longer step or a shorter range.",
            )
        parts.append(item)
    return b"[" + b",".join(parts) + b"]"


def result(kind: str, value: bytes) -> bytes:
    """The data of a query's answer. ``kind``: its type, such as ``vector``."""
    return b'{"resultType":"%b","result":%b}' % (kind.encode(), value)


def point(time_ns: int, text: str) -> bytes:
    """A value at a time, whose text is a number or any other string."""
    return b"[%b,%b]" % (_seconds(time_ns).encode(), msgspec.json.encode(text))


def scalar_point(time_ns: int, value: Scalar) -> bytes:
    """A number at the only step."""
    return point(time_ns, number_text(float(value[0])))


def vector_items(vector: Vector, rows: NDArray[np.intp], time_ns: int) -> Iterator[bytes]:
    """The series of an instant vector."""
    for row in rows:
        value = point(time_ns, number_text(float(vector.values[row, 0])))
        yield b'{"metric":%b,"value":%b}' % (_labels(vector.labels[row]), value)


def matrix_items(vector: Vector, rows: NDArray[np.intp], times_ns: Times) -> Iterator[bytes]:
    """The series of a range of steps."""
    times = [_seconds(time_ns) for time_ns in times_ns.tolist()]
    for row in rows:
        steps = np.flatnonzero(vector.there[row])
        values = vector.values[row, steps].tolist()
        yield _series(vector.labels[row], [times[step] for step in steps.tolist()], values)


def sample_items(windows: Windows) -> Iterator[bytes]:
    """The series of a range selector, with the samples of its first window."""
    series = [
        (labels, block.times_ns[low[0] : high[0]], values[low[0] : high[0]])
        for block, low, high in windows.groups
        for labels, values in zip(block.labels, block.values, strict=True)
    ]
    for labels, times_ns, values in sorted(series, key=lambda each: each[0]):
        if len(times_ns):
            yield _series(labels, [_seconds(time_ns) for time_ns in times_ns.tolist()], values.tolist())


def _series(labels: Labels, times: list[str], values: list[float]) -> bytes:
    points = ",".join(f'[{time},"{number_text(value)}"]' for time, value in zip(times, values, strict=True))
    return b'{"metric":%b,"values":[%b]}' % (_labels(labels), points.encode())


def _labels(labels: Labels) -> bytes:
    return msgspec.json.encode(dict(labels))


def _seconds(time_ns: int) -> str:
    return number_text(time_ns // 10**6 / 1000)
