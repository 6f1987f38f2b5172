"""Each key of a shared result belongs to one function."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import rayscope

SOURCES = Path(rayscope.__file__).parent


def _head(key: ast.expr) -> str | None:
    """The fixed text with which a key begins."""
    if isinstance(key, ast.JoinedStr):
        key = key.values[0]
    return key.value if isinstance(key, ast.Constant) else None


def test_each_key_belongs_to_one_function() -> None:
    functions: dict[str, set[str]] = defaultdict(set)
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr not in ("read_cached", "call_cached"):
                    continue
                _, key, function = node.args
                if (head := _head(key)) is not None:
                    functions[head].add(ast.unparse(function).rpartition(".")[2])
    assert len(functions) > 25
    assert {head: names for head, names in functions.items() if len(names) > 1} == {}
    heads = sorted(functions)
    assert [(a, b) for a in heads for b in heads if a != b and b.startswith(a) and a.endswith(" ")] == []
