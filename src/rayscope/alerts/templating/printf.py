"""Go's ``printf``, ``print`` and ``println``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from rayscope.alerts.templating.values import TemplateError, Value, number, text_of, type_name

_VERB = re.compile(r"%([-+# 0]*)(\*|\d+)?(?:\.(\*|\d*))?(.)?", re.DOTALL)
#: Maximum width and precision, in characters.
_MAX_WIDTH = 500
_ESCAPES = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v"}
_ESCAPES |= {'"': r"\"", "\\": r"\\"}


def sprint(values: Sequence[Value]) -> str:
    """Format values and join them. As in Go, there is a space between two values if neither is a string."""
    made = ""
    for at, value in enumerate(values):
        if at and not isinstance(value, str) and not isinstance(values[at - 1], str):
            made += " "
        made += text_of(value)
    return made


def sprintf(template: str, values: Sequence[Value]) -> str:
    """Replace the verbs in ``template`` with values. Mismatches are marked as in Go. Raises TemplateError."""
    left = list(values)

    def size(text: str | None) -> int | None:
        if text == "*":
            text = str(left.pop(0)) if left else "0"
        if text is None:
            return None
        if text and (not text.isdigit() or int(text) > _MAX_WIDTH):
            raise TemplateError(f"a width in printf is at most {_MAX_WIDTH}")
        return int(text or 0)

    def fill(match: re.Match[str]) -> str:
        flags, verb = match[1], match[4]
        width, precision = size(match[2]), size(match[3])
        if verb is None:
            return "%!(NOVERB)"
        if verb == "%":
            return "%"
        if verb == "[":
            raise TemplateError("printf does not support numbered arguments")
        if not left:
            return f"%!{verb}(MISSING)"
        return _padded(*_formatted(verb, flags, precision, left.pop(0)), flags, width or 0)

    made = _VERB.sub(fill, template)
    if left:
        made += f"%!(EXTRA {', '.join(map(_typed, left))})"
    return made


def _typed(value: Value) -> str:
    return "<nil>" if value is None else f"{type_name(value)}={text_of(value)}"


def _padded(text: str, is_number: bool, flags: str, width: int) -> str:
    if "-" in flags:
        return text.ljust(width)
    if "0" in flags and is_number:
        sign = text[:1] if text[:1] in ("+", "-", " ") else ""
        return sign + text[len(sign) :].rjust(width - len(sign), "0")
    return text.rjust(width)


def _formatted(verb: str, flags: str, precision: int | None, value: Value) -> tuple[str, bool]:
    """Return a formatted value before padding, and whether it may be padded with zeros."""
    if verb == "T":
        return type_name(value), False
    if isinstance(value, bool):
        return (text_of(value), False) if verb in "tv" else (f"%!{verb}({_typed(value)})", False)
    if isinstance(value, float) and verb in "eEfFgGv":
        return _float(verb, flags, precision, value), math.isfinite(value)
    if isinstance(value, int) and verb in _INTEGERS:
        digits = _INTEGERS[verb](abs(value)).rjust(precision or 0, "0")
        sign = "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
        return sign + digits, precision is None
    if isinstance(value, str) and verb in "svqxX":
        kept = value if precision is None else value[:precision]
        if verb in "xX":
            made = kept.encode().hex()
            return made.upper() if verb == "X" else made, False
        return quoted(kept) if verb == "q" else kept, False
    if isinstance(value, (dict, list, tuple)) and verb in "vs":
        return text_of(value), False
    if value is None and verb == "v":
        return "<nil>", False
    return f"%!{verb}({_typed(value)})", False


_INTEGERS: dict[str, Callable[[int], str]] = {
    "d": str,
    "v": str,
    "b": "{:b}".format,
    "o": "{:o}".format,
    "x": "{:x}".format,
    "X": "{:X}".format,
}


def _float(verb: str, flags: str, precision: int | None, value: float) -> str:
    sign = "+" if "+" in flags else " " if " " in flags else ""
    if not math.isfinite(value) or (verb in "gGv" and precision is None):
        text = number(value)
        text = text.upper() if verb == "G" and math.isfinite(value) else text
        if text.startswith("+") and not sign:
            return text
        return text if text.startswith(("-", "+")) else sign + text
    kind = "g" if verb == "v" else verb
    alternate = "#" if "#" in flags else ""
    return f"%{alternate}{sign}.{6 if precision is None else precision}{kind}" % value


def quoted(text: str) -> str:
    """Return a string in quotes, as ``%q`` prints it."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
