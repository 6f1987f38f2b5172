"""What every decoder of Ray's task data needs: nil ids, phases, error texts, redaction.

The functions run once or more for each event, so they avoid work in the usual case. The GCS snapshot
(protobuf) and the event stream (JSON) both use them; that is why both give equal records for one task.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from typing import Any, Protocol, TypeVar

import msgspec

from rayscope.model import PHASES, Span
from rayscope.model.decoding import DECODE_ERRORS

T = TypeVar("T", str, bytes)
R = TypeVar("R")

#: What stands in for a value that may be a secret.
REDACTED = "<redacted>"

_NIL = frozenset("f" * length for length in (8, 32, 36, 48, 56))
#: The span of a worker that stores what a task returns.
STORE = "task:store_outputs"
#: What our tracer tells of a task's returns, and the names of all that it tells (``rayscope.tracer``). Those
#: without our name are Ray's own spans where there is no tracer.
RETURNED = "rayscope.returned"
TRACED = frozenset(
    {
        RETURNED,
        "ray.get",
        "ray.wait",
        "ray.put",
        "await",
        "placement_group.wait",
        "rayscope.annotation",
        "rayscope.arguments",
        "rayscope.callers",
        "rayscope.cancel",
        "rayscope.canceled",
        "rayscope.contents",
        "rayscope.dataset_end",
        "rayscope.awaited",
        "rayscope.blocked",
        "rayscope.counter",
        "rayscope.definition",
        "rayscope.export",
        "rayscope.fetched",
        "rayscope.gpus",
        "rayscope.plan",
        "rayscope.risk",
        "rayscope.serve",
        "rayscope.span",
        "rayscope.sum",
        "rayscope.suspended",
        "rayscope.tracer",
        "rayscope.train_report",
        "rayscope.tune_experiment",
        "rayscope.tune_result",
        "rayscope.tune_trials",
    }
)
# The worker's spans around one attempt (``ray/_raylet.pyx``, ``execute_task``) -> our phase names.
_PHASES = {
    "task:deserialize_arguments": "deserialize",
    "task:execute": "execute",
    STORE: "store",
}
# Ray's own pattern (``remove_ansi_escape_codes`` in ``ray/util/state/common.py``), so texts compare equal.
_ANSI = re.compile(r"\x1b[^m]*m")
#: A frame of a traceback.
_FRAME = re.compile(r'\s*File "[^"]+", line \d+')
# ``user:password@`` or ``token@`` in a URL; ``git@`` is the name that every Git host uses, no secret.
_USERINFO = re.compile(r"(://)(?!git@)[^/@\s\"'?#]+@")
_URL_PARAMETER = re.compile(r"[?&]([\w-]+)=")
_URL_VALUE = re.compile(r"[^&#\s\"']+")
_SECRET_NAME = re.compile(r"token|signature|secret|password|credential|api[_-]?key|^sig$", re.I)
# Names in the user's own configuration whose texts are kept out of the record. (Not "max_tokens".)
_SECRET_SETTING = re.compile(r"secret|password|credential|(api|access)[_-]?key|token$", re.I)


def cached_if_short(maxsize: int, max_length: int) -> Callable[[Callable[[T], R]], Callable[[T], R]]:
    """``lru_cache`` for a function of a text that others write: it keeps nothing that is longer."""

    def decorate(function: Callable[[T], R]) -> Callable[[T], R]:
        cached = lru_cache(maxsize)(function)

        @wraps(function)
        def call(text: T) -> R:
            return cached(text) if len(text) <= max_length else function(text)

        return call

    return decorate


def is_nil(id_hex: str) -> bool:
    """Whether a hex id is Ray's nil: empty, or all ones in one of Ray's id lengths.

    A driver's task id (ones, then the job id) is not nil.
    """
    return not id_hex or id_hex in _NIL


def clean_error(text: str) -> str:
    """An error text without ANSI escapes, as Ray's state API shows it."""
    if "\x1b" not in text:
        return text
    # Behind the last "m" nothing can match, but each escape there would be followed to the end.
    end = text.rfind("m") + 1
    return _ANSI.sub("", text[:end]) + text[end:]


def headline(text: str) -> str:
    """The line of an error's text that names it: the first after the frames of a traceback, else the last."""
    lines = [line for line in text.splitlines() if line.strip()]
    frames = [number for number, line in enumerate(lines) if _FRAME.match(line)]
    behind = lines[frames[-1] + 1 :] if frames else []
    return next((line for line in behind if not line[0].isspace()), lines[-1] if lines else "")


@cached_if_short(4096, max_length=200)
def phase_of(event_name: str) -> str | None:
    """The phase (one of ``model.PHASES``) that a profile event delimits; None for any other event."""
    if not event_name.startswith("task:"):
        return None
    if event_name.startswith("task::"):
        return "total"
    return _PHASES.get(event_name)


class ProfileEntry(Protocol):
    """A stretch of time that Ray's profiler tells; of protobuf's ``ProfileEventEntry`` or from JSON."""

    @property
    def event_name(self) -> str: ...
    @property
    def start_time(self) -> int:
        """ns since the epoch."""

    @property
    def end_time(self) -> int: ...
    @property
    def extra_data(self) -> str:
        """JSON."""


def split_profile(
    entries: Sequence[ProfileEntry], task_id: str, attempt: int
) -> tuple[dict[str, tuple[int, int]], list[Span], list[ProfileEntry]]:
    """The profile of one attempt as its phases, its other spans, and what our tracer tells.

    A plain task has each phase once. A generator stores once for each value it yields, and a long one
    reports that in several accounts: there every store is a span too, so that none is lost to the least
    one, which the phase keeps.
    """
    if len(entries) == len(PHASES) or (len(entries) == len(PHASES) + 1 and entries[3].event_name == RETURNED):
        # Nearly every task: each phase once, in the order in which the worker ends them.
        first, second, third, last = *entries[:3], entries[-1]
        if (
            phase_of(first.event_name) == "deserialize"
            and phase_of(second.event_name) == "execute"
            and third.event_name == STORE
            and phase_of(last.event_name) == "total"
        ):
            found = {
                "deserialize": (first.start_time, first.end_time),
                "execute": (second.start_time, second.end_time),
                "store": (third.start_time, third.end_time),
                "total": (last.start_time, last.end_time),
            }
            return found, [], list(entries[3:-1])
    phases: dict[str, tuple[int, int]] = {}
    spans: list[Span] = []
    stores: list[tuple[int, int]] = []
    told: list[ProfileEntry] = []
    for entry in entries:
        name = entry.event_name
        phase = phase_of(name)
        if phase is None:
            extra = entry.extra_data
            if len(extra) > 2 and name in TRACED:
                told.append(entry)
                continue
            extra = "" if extra == "{}" else extra
            spans.append(Span(task_id, attempt, name, entry.start_time, entry.end_time, extra))
            continue
        interval = (entry.start_time, entry.end_time)
        if phase not in phases or interval < phases[phase]:
            phases[phase] = interval
        if phase == "store":
            stores.append(interval)
    if len(stores) > 1 or (stores and len(phases) < len(PHASES)):
        spans.extend([Span(task_id, attempt, STORE, *interval) for interval in stores])
    return phases, spans, told


def canonical_json(mapping: Mapping[str, Any]) -> str:
    """JSON text with sorted keys and no blanks: equal mappings give equal texts."""
    return msgspec.json.encode(mapping, order="deterministic").decode() if mapping else "{}"


def redact_text(text: str) -> str:
    """``text`` with credentials in URLs (user info, token-like query parameters) replaced."""
    if "://" not in text:
        return text
    return _redact_parameters(_USERINFO.sub(rf"\1{REDACTED}@", text))


def _redact_parameters(text: str) -> str:
    """``text`` with the values of secret query parameters replaced, in one pass: users write it."""
    pieces = []
    begin = 0
    for parameter in _URL_PARAMETER.finditer(text):
        if parameter.start() < begin or not _SECRET_NAME.search(parameter[1]):
            continue
        value = _URL_VALUE.match(text, parameter.end())
        if value is not None:
            pieces += [text[begin : value.start()], REDACTED]
            begin = value.end()
    return "".join([*pieces, text[begin:]])


def redact(value: Any) -> Any:
    """What JSON gave, with the values of ``env_vars`` and credentials in URLs replaced."""
    if isinstance(value, dict):
        return {
            key: dict.fromkeys(inner, REDACTED)
            if key == "env_vars" and isinstance(inner, dict)
            else (REDACTED if key == "env_vars" and inner else redact(inner))
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [redact(item) for item in value]
    return redact_text(value) if isinstance(value, str) else value


def redact_settings(value: Any) -> Any:
    """The user's own settings, of JSON: as :func:`redact`, and without texts under names of secrets."""
    return _without_secrets(redact(value))


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: REDACTED
            if isinstance(inner, str) and _SECRET_SETTING.search(key)
            else _without_secrets(inner)
            for key, inner in value.items()
        }
    return [_without_secrets(inner) for inner in value] if isinstance(value, list) else value


@cached_if_short(1024, max_length=8192)
def redact_runtime_env(serialized: str) -> str | None:
    """A runtime environment as canonical JSON without secrets; None for an empty one.

    Values of ``env_vars`` become ``<redacted>`` (the names stay), credentials in URLs too. A text that
    is no JSON, or nested too deep, is not shown at all.
    """
    if serialized in ("", "{}"):
        return None
    try:
        parsed = json.loads(serialized)
        if isinstance(parsed, dict):
            return canonical_json(redact(parsed))
    except DECODE_ERRORS:
        pass
    return json.dumps(REDACTED)
