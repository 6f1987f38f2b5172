"""Descriptions of remote functions that share a name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from rayscope.tracer.functions import describe

SOURCE = """
import functools

def plain(x): return x

def timed(fn):
    def wrapper(*a): return fn(*a)
    return wrapper

def kept(fn):
    @functools.wraps(fn)
    def inner(*a): return fn(*a)
    return inner

clean, score = timed(plain), timed(timed(timed))
named = kept(plain)
double, half = lambda x: x * 2, lambda x: x / 2

def main():
    def helper(x): return x
    def work(x): return helper(x)
    def recursive(x): return recursive(x)
    return work, recursive, timed(helper)
work, recursive, wrapped_local = main()
"""


@pytest.fixture(scope="module")
def of_module() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "app", "functools": functools}
    exec(compile(SOURCE, "/home/me/app.py", "exec"), names)
    return names


def test_a_plain_function_needs_no_description(of_module: dict[str, Any]) -> None:
    assert describe(of_module["plain"], "app") is None


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("clean", {"name": "plain", "module": "app", "wrapper": "wrapper in app.py"}),
        ("score", {"name": "timed", "module": "app", "wrapper": "wrapper in app.py"}),
        ("named", {"name": "plain", "module": "app", "wrapper": "inner in app.py"}),
    ],
)
def test_a_wrapper_is_what_it_wraps(of_module: dict[str, Any], name: str, shown: dict[str, str]) -> None:
    assert describe(of_module[name], "app") == shown


def test_a_local_function_is_known_by_its_line(of_module: dict[str, Any]) -> None:
    work, recursive = (describe(of_module[name], "app") for name in ("work", "recursive"))
    assert work is not None
    assert recursive is not None
    assert (work["name"], work["place"], "wrapper" in work) == ("work", "app.py:21", False)
    assert (recursive["name"], recursive["place"]) == ("recursive", "app.py:22")


def test_a_local_function_that_is_wrapped_is_known_by_its_own_line(of_module: dict[str, Any]) -> None:
    about = describe(of_module["wrapped_local"], "app")
    assert about is not None
    assert (about["name"], about["place"], about["wrapper"]) == ("helper", "app.py:20", "wrapper in app.py")


def test_two_lambdas_of_a_line_have_their_columns(of_module: dict[str, Any]) -> None:
    first, second = (describe(of_module[name], "app") for name in ("double", "half"))
    assert first is not None
    assert second is not None
    assert first["name"] == second["name"] == "<lambda>"
    assert first["place"] == second["place"] == "app.py:17"
    if hasattr(test_two_lambdas_of_a_line_have_their_columns.__code__, "co_positions"):
        assert first["column"] != second["column"]


def test_objects_that_are_no_functions_are_left_alone() -> None:
    method: Callable[..., Any] = "".join
    assert describe(method, "app") is None
