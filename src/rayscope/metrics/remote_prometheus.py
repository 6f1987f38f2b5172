"""A client for servers with Prometheus' HTTP API, for ranges longer than our retention."""

from __future__ import annotations

import math
import time

import httpx
import msgspec

from rayscope.errors import RayscopeError

_TIMEOUT = httpx.Timeout(10.0, connect=3.0)
#: Time limit for receiving a whole response, s. Some servers may send it slowly.
_DEADLINE_S = 20.0
_MAX_BYTES = 32 << 20


class PromqlError(RayscopeError):
    """The PromQL server could not be reached, or returned an error."""

    code = "prometheus"


class _Series(msgspec.Struct):
    metric: dict[str, str] = {}
    values: list[tuple[float, str]] = []


class _Data(msgspec.Struct):
    resultType: str = ""
    result: list[_Series] = []


class _Answer(msgspec.Struct):
    status: str = ""
    data: _Data | None = None
    error: str = ""
    warnings: list[str] = []


_decode_answer = msgspec.json.Decoder(_Answer).decode


def query_range(
    url: str, expr: str, times_ns: list[int], step_ns: int
) -> tuple[list[tuple[dict[str, str], list[float | None]]], list[str]]:
    """Evaluate an expression at evenly spaced times. Returns its series, and the server's warnings.

    ``url``: base URL of the API (`http://host:9090`). Raises PromqlError.
    """
    form = {
        "query": expr,
        "start": f"{times_ns[0] / 1e9:.3f}",
        "end": f"{times_ns[-1] / 1e9:.3f}",
        "step": f"{step_ns / 1e9:.3f}",
        "timeout": "10s",
    }
    try:
        answer = _decode_answer(_body(f"{url.rstrip('/')}/api/v1/query_range", form))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise PromqlError(
            f"it is not reachable: {str(error) or type(error).__name__}",
            what="unreachable",
            reason=str(error) or type(error).__name__,
        ) from error
    except (ValueError, RecursionError) as error:
        raise PromqlError("its responses are not those of Prometheus", what="answer") from error
    if answer.status != "success" or answer.data is None:
        raise PromqlError(
            f"its error is: {answer.error[:300] or 'none given'}",
            what="error",
            reason=answer.error[:300] or "–",
        )
    at = {round(time_ns / 1e6): index for index, time_ns in enumerate(times_ns)}
    series = []
    for each in answer.data.result:
        values: list[float | None] = [None] * len(times_ns)
        for moment, text in each.values:
            index = at.get(round(moment * 1000))
            if index is not None:
                values[index] = _number(text)
        series.append((each.metric, values))
    return series, answer.warnings


def _body(url: str, form: dict[str, str]) -> bytes:
    deadline = time.monotonic() + _DEADLINE_S
    body = bytearray()
    with httpx.stream("POST", url, data=form, timeout=_TIMEOUT, follow_redirects=False) as answer:
        for part in answer.iter_bytes(1 << 16):
            body += part
            if len(body) > _MAX_BYTES:
                raise PromqlError(
                    f"its response is larger than {_MAX_BYTES >> 20} MiB",
                    what="size",
                    mib=_MAX_BYTES >> 20,
                )
            if time.monotonic() > deadline:
                raise PromqlError(
                    f"its response took longer than {_DEADLINE_S:.0f} s",
                    what="time",
                    seconds=round(_DEADLINE_S),
                )
    return bytes(body)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
