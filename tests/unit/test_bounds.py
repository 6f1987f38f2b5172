"""Each lock, pool and decoder of the server has a stated bound.

A lock or a pool must never be held over work whose size a peer chooses, and no peer may choose how much a
decoder takes. A new one fails here until its bound is stated in ``bounds.txt``: how many, how many bytes, for how long.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import rayscope

PACKAGE = Path(rayscope.__file__).parent
STATED = Path(__file__).with_name("bounds.txt")
#: Calls that make others wait.
HELD = {
    *("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore"),
    *("ThreadPoolExecutor", "ProcessPoolExecutor", "Slots"),
}


def targets(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Each expression that is assigned or entered, with the name that it gets."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield ast.unparse(node.targets[0]).partition(",")[0].strip("("), node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield ast.unparse(node.target), node.value
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            yield ast.unparse(node.optional_vars), node.context_expr
        elif isinstance(node, ast.keyword) and node.arg is not None:
            yield node.arg, node.value
        elif isinstance(node, ast.Return) and node.value is not None:
            yield "return", node.value


def calls_to_hold(tree: ast.AST) -> dict[int, str]:
    """Each call that makes something to hold, by its place, with its name."""
    found: dict[int, str] = {}
    for name, value in targets(tree):
        for node in ast.walk(value):
            if isinstance(node, ast.Call) and _called(node) in HELD:
                found[id(node)] = name.removeprefix("self.")  # the innermost name comes last
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in HELD:
            found.setdefault(id(node), "(not assigned)")
    return found


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def decodes(tree: ast.AST) -> bool:
    """Whether a module decodes JSON or MessagePack with msgspec."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in ("decode", "Decoder")
        and ast.unparse(node.value).startswith("msgspec.")
        for node in ast.walk(tree)
    )


@functools.cache
def names_in_use() -> set[str]:
    names = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        module = str(path.relative_to(PACKAGE))
        names |= {f"{module} {name}" for name in calls_to_hold(tree).values()}
        if decodes(tree):
            names.add(f"{module} decodes")
    return names


def stated() -> dict[str, str]:
    lines = [line for line in STATED.read_text().splitlines() if line and not line.startswith("#")]
    return {name.strip(): bound.strip() for name, _, bound in (line.partition("|") for line in lines)}


def test_each_lock_pool_and_decoder_has_a_stated_bound() -> None:
    bounds = stated()
    assert names_in_use() - bounds.keys() == set(), "state their bounds in bounds.txt"
    gone = bounds.keys() - names_in_use()
    assert not {name for name in gone if not name.endswith(" decodes")}, "these are gone"
    assert all((PACKAGE / name.split()[0]).exists() for name in gone), "these are gone"
    assert all(bounds.values())


def test_held_resources_are_found() -> None:
    tree = ast.parse(
        "class A:\n    def b(self):\n        self._c = threading.Lock()\nwith Pool() as d, ThreadPoolExecutor(1) as e:\n    pass"
    )
    assert sorted(calls_to_hold(tree).values()) == ["_c", "e"]
    assert decodes(ast.parse("msgspec.json.decode(b'')"))
