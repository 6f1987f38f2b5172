"""Recording rules: in expressions, their names are replaced with the recorded expressions.

Prometheus stores the results of recording rules as series of their own. Rayscope does not store them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rayscope.storage.errors import BadQuery

_KEYS = {"record", "expr", "labels"}
#: Maximum depth to which recording rules may refer to other recording rules.
_MAX_DEPTH = 10
#: Maximum length of an expanded expression, in characters.
_MAX_CHARS = 20_000
_NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
#: Matches either a string or matchers, which contain no names of series, or a name and any selector after it.
_TOKEN = re.compile(
    r"""(?P<other>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|\{(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^}"'])*\})"""
    r"|(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)(?P<selects>\s*[\[{])?"
)


def recorded_expression(rule: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name of a recording rule, and its expression, which also sets its labels. Raises
    BadQuery.
    """
    name, expr, labels = rule["record"], rule.get("expr"), rule.get("labels") or {}
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadQuery(
            f"{str(name)[:60]!r} is not a name of a series.",
            "Use letters, digits, _ and :.",
            what="record_name",
            name=str(name)[:60],
        )
    if not isinstance(expr, str) or not set(rule) <= _KEYS or not isinstance(labels, dict):
        raise BadQuery(
            f"{name}: a recording rule has `record`, `expr` and `labels`.",
            "Remove other keys.",
            what="record_keys",
        )
    for label, value in labels.items():
        expr = f'label_replace({expr}, {json.dumps(str(label))}, {json.dumps(str(value))}, "", "")'
    return name, expr


def expand(expr: str, records: Mapping[str, str]) -> str:
    """Replace the names of ``records`` in ``expr`` with their expressions. Raises BadQuery."""

    def replace(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in records:
            return match[0]
        if match["selects"]:
            raise BadQuery(
                f"{name} is a recording rule: matchers and ranges of it are not supported.",
                "Use its expression instead.",
                what="record_selector",
                name=name,
            )
        return f"({records[name]})"

    for _ in range(_MAX_DEPTH):
        expanded = _TOKEN.sub(replace, expr)
        if expanded == expr:
            return expr
        if len(expanded) > _MAX_CHARS:
            break
        expr = expanded
    raise BadQuery(
        "The recording rules in it refer to each other, or are too long.",
        "Use fewer of them.",
        what="records_circle",
    )
