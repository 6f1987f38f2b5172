"""The line that names an error, and the user's line that raised it, in texts that Ray 2.60 reported."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from rayscope.ray.common import headline
from rayscope.storage.sql.error_text import CUT_ERROR, ERROR_SUMMARY, error_parts

ERRORS: dict[str, str] = json.loads((Path(__file__).parent / "errors-2.60.json").read_text())
EXPECTED = {
    "ReadRange->Map(risky)": ("ZeroDivisionError: division by zero", "rows.py", 6),
    "TG.run": (
        "ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception): PermissionError: bucket denied",
        "errors.py",
        25,
    ),
    "custom": ("Custom: E429: quota exceeded", "errors.py", 31),
    "syntax": ("SyntaxError: invalid syntax", "errors.py", 17),
    "group": (
        "ExceptionGroup: 2 downloads failed (2 sub-exceptions): TimeoutError: part-1",
        "errors.py",
        15,
    ),
    "chained": ("ConnectionError: upstream sent garbage", "errors.py", 13),
    "noted": ("KeyError: 'user_id'", "errors.py", 9),
    "wraps": ("KeyError: 'inner-key'", "errors.py", 33),
    "pyd": ("ValueError: 1 validation error for Order", "errors.py", 6),
    "cuda": ("RuntimeError: CUDA error: out of memory", "errors.py", 4),
    "parse": (
        "json.decoder.JSONDecodeError: Expecting value: line 1 column 20 (char 19)",
        "libraries.py",
        12,
    ),
    "nested_calls": ("KeyError: 'deep'", "libraries.py", 14),
    "column": ("KeyError: 'prise'", "libraries.py", 4),
}


def read(text: str | None) -> tuple[str | None, str | None, bool]:
    query = f"SELECT p.headline, p.frame, cut FROM (SELECT {error_parts('error_message')} AS p, {CUT_ERROR} AS cut"
    row = duckdb.execute(f"{query} FROM (SELECT ?::VARCHAR AS error_message))", [text]).fetchone()
    assert row is not None
    return row


@pytest.mark.parametrize("name", EXPECTED)
def test_the_headline_names_the_error_and_the_frame_is_the_users(name: str) -> None:
    title, file, line = EXPECTED[name]
    assert read(ERRORS[name]) == (title, read(ERRORS[name])[1], False)
    assert f'/home/me/jobs/{file}", line {line}, in ' in (read(ERRORS[name])[1] or "")


@pytest.mark.parametrize("name", EXPECTED)
def test_the_end_of_an_error_names_it_too(name: str) -> None:
    """By default Ray keeps 500 characters."""
    text = "User exception:\n" + ERRORS[name].removeprefix("User exception:\n")[-500:]
    title = EXPECTED[name][0].partition(" (")[0]
    if name == "ReadRange->Map(risky)":
        title = "ray.exceptions.UserCodeException"  # the wrapped error is cut off
    found, _, is_cut = read(text)
    assert found is not None
    assert found.startswith(title)
    assert is_cut == (len(ERRORS[name]) > 516)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (None, None),
        ("", None),
        ("\n \n", None),
        ("The worker died.\n\n", "The worker died."),
        ("The actor died.\n\tclass_name: A\nIts worker process has died.", "Its worker process has died."),
        ("torn\nKeyError: 'a'\nand a note", "KeyError: 'a'"),
    ],
)
def test_texts_without_frames(text: str | None, title: str | None) -> None:
    assert read(text) == (title, None, False)


def test_an_error_without_a_text_is_named_by_its_type() -> None:
    query = f"SELECT {ERROR_SUMMARY} FROM (SELECT ?::VARCHAR AS error_message, ?::VARCHAR AS error_type)"
    assert duckdb.execute(query, ["", "TASK_CANCELLED"]).fetchone() == ("Task cancelled",)
    assert duckdb.execute(query, [None, None]).fetchone() == (None,)
    assert duckdb.execute(query, ["User exception:\n" + "x" * 500, "A"]).fetchone() == ("…" + "x" * 300,)


@pytest.mark.parametrize("name", ["parse", "cuda", "noted", "syntax", "wraps", "column"])
def test_python_finds_the_same_headline(name: str) -> None:
    assert headline(ERRORS[name]) == EXPECTED[name][0]
    assert headline("Its log:\nno frames") == "no frames"
    assert headline("") == ""
