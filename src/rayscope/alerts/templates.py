"""The templates of labels and annotations: the part of Prometheus' that rules use.

``{{ $labels.node_ip }}``, ``{{ $labels }}``, ``{{ $value }}``, all through ``humanize``, ``humanize1024``,
``humanizePercentage``, ``humanizeDuration``, ``toUpper``, ``toLower`` or ``printf "%.1f"``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from rayscope.storage.errors import BadQuery

_VALUE = re.compile(r"\$value|\.Value")
_LABEL = re.compile(r"(?:\$labels|\.Labels)\.([A-Za-z_][A-Za-z0-9_]*)")
#: Labels that Prometheus adds for others; there are none here.
_EXTERNAL = re.compile(r"(?:\$externalLabels|\.ExternalLabels)\.[A-Za-z_][A-Za-z0-9_]*")
_PRINTF = re.compile(r'printf\s+"((?:[^%"\\]|%%)*)%(?:\.(\d{1,2}))?([fgsv])((?:[^%"\\]|%%)*)"')
_REMEDY = (
    "Use {{ $labels.NAME }}, {{ $labels }} and {{ $value }}, and behind a | humanize, humanize1024, "
    'humanizePercentage, humanizeDuration, toUpper, toLower or printf "%.1f".'
)

#: Of a template, and of what it becomes: labels are as long as users make them.
MAX_CHARS = 2000
_MAX_FILLED = 4000

Operand = Callable[[Mapping[str, str], float], str | float]
Function = Callable[[str | float], str]


class Template:
    """A text with places to fill in. Raises BadQuery for what is not understood."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARS:
            raise BadQuery(f"A template has more than {MAX_CHARS:,} characters.", "Shorten it.")
        self._parts: list[str | _Pipeline] = []
        at = 0
        while (begin := text.find("{{", at)) >= 0:
            end = text.find("}}", begin + 2)
            if end < 0:
                raise BadQuery(f"The template {text[:100]!r} has an unclosed {{{{.", _REMEDY)
            action = text[begin + 2 : end].removeprefix("-").removesuffix("-").strip()
            self._parts += [text[at:begin], _Pipeline(action)]
            at = end + 2
        self._parts.append(text[at:])

    def fill(self, labels: Mapping[str, str], value: float) -> str:
        """The text for an alert with these labels and this value."""
        filled = "".join(
            part if isinstance(part, str) else part.text(labels, value)[:_MAX_FILLED] for part in self._parts
        )
        return filled if len(filled) <= _MAX_FILLED else filled[: _MAX_FILLED - 1] + "…"


class _Pipeline:
    """What stands between ``{{`` and ``}}``: an operand, and the functions that it goes through."""

    def __init__(self, action: str) -> None:
        # A | inside a printf's text is none of ours; rules do not need it.
        first, *rest = (piece.strip() for piece in action.split("|"))
        self._operand, before = _operand(first)
        self._functions = [*before, *map(_function, rest)]

    def text(self, labels: Mapping[str, str], value: float) -> str:
        told = self._operand(labels, value)
        for function in self._functions:
            told = function(told)
        return _text(told)


def _operand(text: str) -> tuple[Operand, list[Function]]:
    """``$value``, ``$labels.x`` or ``FUNCTION $value``."""
    if _VALUE.fullmatch(text):
        return (lambda _, value: value), []
    if text in ("$labels", ".Labels"):
        return (lambda labels, _: _map_text(labels)), []
    if _EXTERNAL.fullmatch(text):
        return (lambda _labels, _: ""), []
    if match := _LABEL.fullmatch(text):
        name = match.group(1)
        return (lambda labels, _: labels.get(name, "")), []
    function, _, argument = text.rpartition(" ")
    if function and (_VALUE.fullmatch(argument) or _LABEL.fullmatch(argument)):
        return _operand(argument)[0], [_function(function.strip())]
    raise BadQuery(f"Unsupported template {{{{ {text[:100]} }}}}.", _REMEDY)


def _function(text: str) -> Function:
    if text in _FUNCTIONS:
        return _FUNCTIONS[text]
    if match := _PRINTF.fullmatch(text):
        before, digits, kind, after = match.groups()
        shown = f"%.{digits or 6}{kind}"

        def printf(value: str | float) -> str:
            if kind in "sv":
                middle = _text(value)
            else:
                middle = shown % float(value) if kind == "f" or digits else number(float(value))
            return before.replace("%%", "%") + middle + after.replace("%%", "%")

        return printf
    raise BadQuery(f"Unsupported template function {text[:60]!r}.", _REMEDY)


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else number(value)


def _map_text(labels: Mapping[str, str]) -> str:
    """All labels as Go prints a map."""
    return f"map[{' '.join(f'{name}:{value}' for name, value in sorted(labels.items()))}]"


def number(value: float) -> str:
    """A number as Go prints it (``%v``): the shortest text, with an exponent from 1e+06 on."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    mantissa, exponent = "", 0
    for digits in range(17):
        text, _, power = f"{value:.{digits}e}".partition("e")
        mantissa, exponent = text, int(power)
        if float(f"{text}e{power}") == value:
            break
    if exponent < -4 or exponent >= 6:
        return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    decimals = len(mantissa.partition(".")[2])
    return f"{value:.{max(0, decimals - exponent)}f}"


def _humanize(value: str | float) -> str:
    v = float(value)
    if v == 0 or not math.isfinite(v):
        return _short(v)
    prefix = ""
    if abs(v) >= 1:
        for each in "kMGTPEZY":
            if abs(v) < 1000:
                break
            prefix, v = each, v / 1000
    else:
        for each in "munpfazy":
            if abs(v) >= 1:
                break
            prefix, v = each, v * 1000
    return _short(v) + prefix


def _humanize1024(value: str | float) -> str:
    v = float(value)
    prefix = ""
    if abs(v) > 1 and math.isfinite(v):
        for each in ("ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"):
            if abs(v) < 1024:
                break
            prefix, v = each, v / 1024
    return _short(v) + prefix


def _duration(value: str | float) -> str:
    v = float(value)
    if not math.isfinite(v):
        return _short(v)
    if v == 0:
        return "0s"
    if abs(v) < 1:
        prefix = ""
        for each in "munpfazy":
            if abs(v) >= 1:
                break
            prefix, v = each, v * 1000
        return f"{_short(v)}{prefix}s"
    sign, whole = ("-" if v < 0 else ""), int(abs(v))
    minutes, seconds = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{sign}{days}d {hours}h {minutes}m {seconds}s"
    if hours:
        return f"{sign}{hours}h {minutes}m {seconds}s"
    if minutes:
        return f"{sign}{minutes}m {seconds}s"
    return f"{_short(v)}s"


def _short(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else number(value)


_FUNCTIONS: dict[str, Function] = {
    "humanize": _humanize,
    "humanize1024": _humanize1024,
    "humanizeDuration": _duration,
    "humanizePercentage": lambda value: f"{_short(float(value) * 100)}%",
    "toUpper": lambda value: _text(value).upper(),
    "toLower": lambda value: _text(value).lower(),
}
