"""Functions that all decoders of Ray's task data share: nil IDs, phases, error texts, redaction.

They run at least once per event, so they avoid work in the usual case. Both the GCS snapshot
(protobuf) and the event stream (JSON) use them, so both yield equal records for a task.
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

#: Replaces a value that may be a secret.
REDACTED = "<redacted>"

_NIL = frozenset("f" * length for length in (8, 32, 36, 48, 56))
#: Name of a worker's span for storing a task's return values.
STORE = "task:store_outputs"
#: Name of the tracer's event about a task's return values.
RETURNED = "rayscope.returned"
#: Names of all the tracer's events (``rayscope.tracer``). Without the tracer, names that do not begin with
#: ``rayscope.`` are those of Ray's own spans.
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
        "rayscope.paused",
        "rayscope.plan",
        "rayscope.risk",
        "rayscope.samples",
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
#: The worker's spans around one attempt (``ray/_raylet.pyx``, ``execute_task``) -> our phase names.
_PHASES = {
    "task:deserialize_arguments": "deserialize",
    "task:execute": "execute",
    STORE: "store",
}
#: Ray's own pattern (``remove_ansi_escape_codes`` in ``ray/util/state/common.py``), so that errors match.
_ANSI = re.compile(r"\x1b[^m]*m")
#: First line of a frame in a traceback.
_FRAME = re.compile(r'\s*File "[^"]+", line \d+')
#: ``user:password@`` or ``token@`` in a URL. ``git@`` is no secret: every Git host uses this user name.
_USERINFO = re.compile(r"(://)(?!git@)[^/@\s\"'?#]+@")
_URL_PARAMETER = re.compile(r"[?&]([\w-]+)=")
_URL_VALUE = re.compile(r"[^&#\s\"']+")
_SECRET_NAME = re.compile(r"token|signature|secret|password|credential|api[_-]?key|^sig$", re.I)
#: Names of user settings whose string values are not recorded. Does not match "max_tokens".
_SECRET_SETTING = re.compile(r"secret|password|credential|(api|access)[_-]?key|token$", re.I)


def cached_if_short(maxsize: int, max_length: int) -> Callable[[Callable[[T], R]], Callable[[T], R]]:
    """``lru_cache`` for a function that takes untrusted strings. It does not cache strings longer than
    ``max_length``.
    """

    def decorate(function: Callable[[T], R]) -> Callable[[T], R]:
        cached = lru_cache(maxsize)(function)

        @wraps(function)
        def call(text: T) -> R:
            return cached(text) if len(text) <= max_length else function(text)

        return call

    return decorate


def is_nil(id_hex: str) -> bool:
    """Whether a hex ID is nil in Ray: empty, or only f's in one of the lengths of Ray's IDs.

    The task ID of a driver, f's followed by the job's ID, is not nil.
    """
    return not id_hex or id_hex in _NIL


def clean_error(text: str) -> str:
    """An error text without ANSI escapes, as in Ray's state API."""
    if "\x1b" not in text:
        return text
    # Nothing after the last "m" can match, and skipping it avoids quadratic time.
    end = text.rfind("m") + 1
    return _ANSI.sub("", text[:end]) + text[end:]


def headline(text: str) -> str:
    """The line that names the error: the first after the frames of a traceback, otherwise the last line."""
    lines = [line for line in text.splitlines() if line.strip()]
    frames = [number for number, line in enumerate(lines) if _FRAME.match(line)]
    behind = lines[frames[-1] + 1 :] if frames else []
    return next((line for line in behind if not line[0].isspace()), lines[-1] if lines else "")


@cached_if_short(4096, max_length=200)
def phase_of(event_name: str) -> str | None:
    """The phase (one of ``model.PHASES``) delimited by a profile event, or None for any other event."""
    if not event_name.startswith("task:"):
        return None
    if event_name.startswith("task::"):
        return "total"
    return _PHASES.get(event_name)


class ProfileEntry(Protocol):
    """A time range from Ray's profiler: protobuf's ``ProfileEventEntry``, or its counterpart from JSON."""

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
    """Split the profile of one attempt into its phases, other spans, and the tracer's events.

    A plain task has each phase once. A generator stores a result per yielded value, and a long generator is
    reported in several parts. In these cases every store also becomes a span, because the phase keeps only
    the earliest one.
    """
    if len(entries) == len(PHASES) or (len(entries) == len(PHASES) + 1 and entries[3].event_name == RETURNED):
        # Nearly every task has each phase once, in the order in which they end.
        first, second, third, last = *entries[:3], entries[-1]
        if (
            phase_of(first.event_name) == "deserialize"
            and phase_of(second.event_name) == "execute"
            and third.event_name == STORE
            and phase_of(last.event_name) == "total"
        ):
            plain_phases = {
                "deserialize": (first.start_time, first.end_time),
                "execute": (second.start_time, second.end_time),
                "store": (third.start_time, third.end_time),
                "total": (last.start_time, last.end_time),
            }
            return plain_phases, [], list(entries[3:-1])
    phases: dict[str, tuple[int, int]] = {}
    spans: list[Span] = []
    stores: list[tuple[int, int]] = []
    traced: list[ProfileEntry] = []
    for entry in entries:
        name = entry.event_name
        phase = phase_of(name)
        if phase is None:
            extra = entry.extra_data
            if len(extra) > 2 and name in TRACED:
                traced.append(entry)
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
    return phases, spans, traced


def canonical_json(mapping: Mapping[str, Any]) -> str:
    """JSON with sorted keys and no whitespace, so that equal mappings yield equal strings."""
    return msgspec.json.encode(mapping, order="deterministic").decode() if mapping else "{}"


def redact_text(text: str) -> str:
    """Replace credentials in URLs: user info and query parameters such as tokens."""
    if "://" not in text:
        return text
    return _redact_parameters(_USERINFO.sub(rf"\1{REDACTED}@", text))


def _redact_parameters(text: str) -> str:
    """Replace the values of secret query parameters. Takes one pass, because the text is untrusted."""
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
    """Replace the values of ``env_vars``, and credentials in URLs, in decoded JSON."""
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
    """Redact decoded JSON with user settings like :func:`redact`.

    Strings under names that suggest a secret are replaced, too.
    """
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
    """A runtime environment as canonical JSON without secrets, or None if it is empty.

    Values of ``env_vars`` and credentials in URLs become ``<redacted>``. Names of variables are kept. A
    string that is not JSON or is nested too deeply is redacted as a whole.
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
