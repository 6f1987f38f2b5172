"""The functions that templates may call: Go's own, and those that Prometheus adds for rules."""

from __future__ import annotations

import html
import ipaddress
import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from typing import NamedTuple
from urllib.parse import quote_plus, urlsplit

from rayscope.alerts.durations import duration_s
from rayscope.alerts.templating.printf import sprint, sprintf
from rayscope.alerts.templating.values import Sample, TemplateError, Value, number, text_of, truth, type_name
from rayscope.metrics import regex
from rayscope.storage.errors import StoreError

_TEXT = "string"
_SAMPLES = "template.queryResult"
_SAMPLE = "*template.sample"
_NUMBER = "number"
_ANY = ""
_LARGE = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
_SMALL = ("", "m", "u", "n", "p", "f", "a", "z", "y")
_BINARY = ("", "ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi")

#: Maximum length of a string multiplied by the length of the replacement for its matches.
_MAX_REPLACED = 1_000_000


class Signature(NamedTuple):
    """A function, the types of its arguments, and whether the last argument may be repeated or left out."""

    call: Callable[..., Value]
    takes: tuple[str, ...]
    variadic: bool = False


def call(name: str, signature: Signature, values: list[Value]) -> Value:
    """Call a function after checking its arguments. Raises TemplateError."""
    takes, least = signature.takes, len(signature.takes) - signature.variadic
    if len(values) < least or (len(values) > least and not signature.variadic):
        raise TemplateError(f"wrong number of args for {name}: want {least} got {len(values)}")
    for at, value in enumerate(values):
        expected = takes[min(at, len(takes) - 1)]
        if expected not in (_ANY, _NUMBER) and type_name(value) != expected:
            raise TemplateError(f"wrong type for value; expected {expected}; got {type_name(value)}")
    if takes == (_NUMBER,):
        values = [_float(values[0])]
    try:
        return signature.call(*values)
    except (TemplateError, StoreError) as error:
        message = error.message if isinstance(error, StoreError) else str(error)
        raise TemplateError(f"error calling {name}: {message}") from error


def _float(value: Value) -> float:
    """Convert a number or a string to a number, as Prometheus does."""
    if isinstance(value, str):
        try:
            # Make Python reject underscores and blanks, which it would accept.
            return float(re.sub(r"[_\s]", "x", value))
        except ValueError:
            raise TemplateError(f'strconv.ParseFloat: parsing "{value[:60]}": invalid syntax') from None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise TemplateError(f"can't convert {type_name(value)} to float")


def _short(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else number(value)


def _scaled(value: float, base: float, prefixes: tuple[str, ...]) -> str:
    """Format a number with the unit prefix that makes it less than ``base``."""
    at = 0
    while at + 1 < len(prefixes) and abs(value) >= base:
        value, at = value / base, at + 1
    return _short(value) + prefixes[at]


def _small(value: float) -> str:
    at = 0
    while at + 1 < len(_SMALL) and abs(value) < 1:
        value, at = value * 1000, at + 1
    return _short(value) + _SMALL[at]


def _humanize(value: float) -> str:
    if value == 0 or not math.isfinite(value):
        return _short(value)
    return _scaled(value, 1000, _LARGE) if abs(value) >= 1 else _small(value)


def _humanize1024(value: float) -> str:
    return _scaled(value, 1024, _BINARY) if math.isfinite(value) else _short(value)


def _duration(value: float) -> str:
    if not math.isfinite(value):
        return _short(value)
    if value == 0:
        return "0s"
    if abs(value) < 1:
        return f"{_small(value)}s"
    sign, whole = ("-" if value < 0 else ""), int(abs(value))
    minutes, seconds = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{sign}{days}d {hours}h {minutes}m {seconds}s"
    if hours:
        return f"{sign}{hours}h {minutes}m {seconds}s"
    if minutes:
        return f"{sign}{minutes}m {seconds}s"
    return f"{_short(value)}s"


def _timestamp(value: float) -> str:
    if not math.isfinite(value):
        return _short(value)
    if abs(value) * 1e9 >= 2**63:
        raise TemplateError(
            f"{number(value)} cannot be represented as a nanoseconds timestamp since it overflows int64"
        )
    milliseconds = abs(int(value * 1e9)) // 10**6
    after = timedelta(milliseconds=milliseconds if value > 0 else -milliseconds)
    time = datetime(1970, 1, 1, tzinfo=timezone.utc) + after
    fraction = f".{time.microsecond:06d}".rstrip("0").rstrip(".")
    return f"{time:%Y-%m-%d %H:%M:%S}{fraction} +0000 UTC"


def _title(text: str) -> str:
    made, before = "", " "
    for char in text:
        is_first = not (before.isalnum() or before == "_") if before.isascii() else before.isspace()
        made += _as_one(char, char.title()) if is_first else char
        before = char
    return made


def _as_one(char: str, changed: str) -> str:
    """Go maps a character to a single one. If Python returns several, the original character is kept."""
    return changed if len(changed) == 1 else char


def _first(samples: list[Sample]) -> Sample:
    if not samples:
        raise TemplateError("first() called on vector with no elements")
    return samples[0]


def _replace_all(pattern: str, replacement: str, text: str) -> str:
    if len(replacement) * len(text) > _MAX_REPLACED:
        raise TemplateError("the text or the replacement is too long")
    return regex.replaced(pattern, replacement, [text])[0]


def _strip_port(address: str) -> str:
    return _split_port(address)[0] or address


def _split_port(address: str) -> tuple[str, str]:
    """Return (host, port), or two empty strings if there is no port."""
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        return host[1:-1], port
    return (host, port) if colon and ":" not in host else ("", "")


def _strip_domain(address: str) -> str:
    host, port = _split_port(address)
    host = host or address
    try:
        ipaddress.ip_address(host)
    except ValueError:
        name = host.split(".")[0]
        return f"{name}:{port}" if port else name
    return address


def _parse_duration(text: str) -> float:
    try:
        return duration_s(text)
    except ValueError as error:
        raise TemplateError(str(error)) from error


def _link(tab: int) -> Callable[[str], str]:
    return lambda expr: f"/graph?g0.expr={quote_plus(expr)}&g0.tab={tab}"


def _length(value: Value) -> int:
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, (list, Mapping)):
        return len(value)
    raise TemplateError(f"len of type {type_name(value)}")


def _index(value: Value, *keys: Value) -> Value:
    for key in keys:
        if isinstance(value, Mapping) and isinstance(key, str):
            value = value.get(key, "")
        elif isinstance(value, (list, str)) and isinstance(key, int):
            items = value.encode() if isinstance(value, str) else value
            if not 0 <= key < len(items):
                raise TemplateError(f"index out of range: {key}")
            value = items[key]
        else:
            raise TemplateError(f"can't index item of type {type_name(value)} with {type_name(key)}")
    return value


def _slice(text: str, *bounds: Value) -> str:
    content = text.encode()
    begin, end = (*bounds, *(0, len(content))[len(bounds) :])[:2]
    if not isinstance(begin, int) or not isinstance(end, int) or not 0 <= begin <= end <= len(content):
        raise TemplateError("index out of range")
    return content[begin:end].decode(errors="replace")


def _kind(value: Value) -> str:
    if not isinstance(value, (bool, int, float, str)):
        raise TemplateError("incompatible types for comparison")
    return type_name(value)


def _equal(value: Value, *others: Value) -> bool:
    if not others:
        raise TemplateError("missing argument for comparison")
    for other in others:
        if _kind(value) != _kind(other):
            raise TemplateError("incompatible types for comparison")
        if value == other:
            return True
    return False


def _less(value: Value, other: Value) -> bool:
    if _kind(value) != _kind(other) or isinstance(value, bool):
        raise TemplateError("incompatible types for comparison")
    return bool(value < other)


def _less_or_equal(value: Value, other: Value) -> bool:
    return _less(value, other) or value == other


def _html(*values: Value) -> str:
    return html.escape(sprint(values)).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")


def _sorted_by(label: str, samples: list[Sample]) -> list[Sample]:
    return sorted(samples, key=lambda sample: sample.labels.get(label, ""))


#: All functions except ``and`` and ``or``, which do not always evaluate all arguments, and those that need
#: the context of a rendering (``query``, ``externalURL``, and ``pathPrefix``).
FUNCTIONS: dict[str, Signature] = {
    "eq": Signature(_equal, (_ANY, _ANY), True),
    "ne": Signature(lambda one, other: not _equal(one, other), (_ANY, _ANY)),
    "lt": Signature(_less, (_ANY, _ANY)),
    "le": Signature(_less_or_equal, (_ANY, _ANY)),
    "gt": Signature(lambda one, other: not _less_or_equal(one, other), (_ANY, _ANY)),
    "ge": Signature(lambda one, other: not _less(one, other), (_ANY, _ANY)),
    "not": Signature(lambda value: not truth(value), (_ANY,)),
    "len": Signature(_length, (_ANY,)),
    "index": Signature(_index, (_ANY, _ANY), True),
    "slice": Signature(_slice, (_TEXT, _ANY), True),
    "print": Signature(lambda *values: sprint(values), (_ANY,), True),
    "println": Signature(lambda *values: " ".join(map(text_of, values)) + "\n", (_ANY,), True),
    "printf": Signature(lambda template, *values: sprintf(template, values), (_TEXT, _ANY), True),
    "html": Signature(_html, (_ANY,), True),
    "urlquery": Signature(lambda *values: quote_plus(sprint(values)), (_ANY,), True),
    "first": Signature(_first, (_SAMPLES,)),
    "label": Signature(lambda name, sample: sample.labels.get(name, ""), (_TEXT, _SAMPLE)),
    "value": Signature(lambda sample: sample.value, (_SAMPLE,)),
    "strvalue": Signature(lambda sample: sample.labels.get("__value__", ""), (_SAMPLE,)),
    "sortByLabel": Signature(_sorted_by, (_TEXT, _SAMPLES)),
    "humanize": Signature(_humanize, (_NUMBER,)),
    "humanize1024": Signature(_humanize1024, (_NUMBER,)),
    "humanizeDuration": Signature(_duration, (_NUMBER,)),
    "humanizePercentage": Signature(lambda value: f"{_short(value * 100)}%", (_NUMBER,)),
    "humanizeTimestamp": Signature(_timestamp, (_NUMBER,)),
    "title": Signature(_title, (_TEXT,)),
    "toUpper": Signature(lambda text: "".join(_as_one(char, char.upper()) for char in text), (_TEXT,)),
    "toLower": Signature(lambda text: "".join(_as_one(char, char.lower()) for char in text), (_TEXT,)),
    "match": Signature(lambda pattern, text: regex.matches(pattern, [text])[0], (_TEXT, _TEXT)),
    "reReplaceAll": Signature(_replace_all, (_TEXT, _TEXT, _TEXT)),
    "stripPort": Signature(_strip_port, (_TEXT,)),
    "stripDomain": Signature(_strip_domain, (_TEXT,)),
    "safeHtml": Signature(lambda text: text, (_TEXT,)),
    "parseDuration": Signature(_parse_duration, (_TEXT,)),
    "graphLink": Signature(_link(0), (_TEXT,)),
    "tableLink": Signature(_link(1), (_TEXT,)),
}


def path_of(url: str) -> str:
    """Return the path of a URL, for the function ``pathPrefix``."""
    return urlsplit(url).path
