"""Fills a detector's sketch with the names of the code that a finding is about."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

#: A remote function in a sketch: its decorator, the rest of its signature, and its body.
_DEFINITION = re.compile(r"(@ray\.remote.*)\ndef \{function\}(\w*\(.*\):.*(?:\n    .*)*)")
#: The suffix with the place that distinguishes functions of the same name, such as `` (train.py:12)``.
_PLACE = re.compile(r" \(.*\)$")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
#: The values of a finding that are names in the user's code.
_NAMES = ("function", "taker", "name", "actor_class")


def write(template: str, values: Mapping[str, Any], methods: Collection[str]) -> str:
    """Write the sketch of a finding. ``values``: the finding's names and numbers; ``methods``: the functions
    that are methods.

    ``{function}`` becomes ``board.offer`` for ``Board.offer``, because a method is called on its actor.
    """
    function = str(values.get("function") or "")
    if function in methods:
        class_name, _, method = _plain(function).rpartition(".")
        template = _DEFINITION.sub(
            lambda found: _as_method(*found.groups(), class_name=class_name, method=method), template
        )
    known = {
        name: _call_expression(str(value), methods) if name in _NAMES and value else value
        for name, value in values.items()
    }
    return template.format(**known)


def method_of(function: str) -> str:
    """The method's name in the name of a function, such as ``offer`` in ``Board.offer``. "work" if it cannot
    be written in code.
    """
    method = _plain(function).rpartition(".")[2]
    return method if method.isidentifier() else "work"


def _plain(name: str) -> str:
    return _PLACE.sub("", name).rpartition("<locals>.")[2]


def _call_expression(name: str, methods: Collection[str]) -> str:
    """The expression that calls a function, a class of actors, or a method."""
    plain = _plain(name)
    if name in methods:
        *_, class_name, method = ["actor", *plain.split(".")][-2:]
        return f"{_WORD.sub('_', class_name).lower()}.{method}"
    return method_of(name.removesuffix(".__init__"))


def _as_method(decorator: str, rest: str, *, class_name: str, method: str) -> str:
    rest = rest.replace("{function}", method)
    body = f"def {method}{rest.replace('(', '(self, ', 1)}".replace("\n", "\n    ")
    return f"{decorator}\nclass {class_name.rpartition('.')[2]}:\n    {body}"
