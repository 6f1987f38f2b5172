"""Answers of tools: their fences, their bounds, and their pages."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fenced import HOSTILE, blocks, rows_of

from rayscope.errors import RayscopeError
from rayscope.mcp.answer import MAX_TOKENS, MIN_TOKENS, Answer, quoted


def test_hostile_text_stays_inside_of_the_fences() -> None:
    answer = Answer("head")
    answer.data("Lines", HOSTILE)
    answer.table("Rows", ["a", "b`````c"], [[text, 1] for text in HOSTILE])
    answer.say("tail")
    page = answer.page(max_tokens=MAX_TOKENS)
    outside, inside = blocks(page)
    assert outside == ["head", "Lines:", "Rows:", "tail"]
    assert len(inside) == 2 * len(HOSTILE) + 1
    assert page.replace("\n", "").isprintable()
    page.encode()


@pytest.mark.parametrize("header", ["```", "``````` ", "`" * 5000])
def test_a_header_stays_inside_of_its_fence(header: str) -> None:
    answer = Answer("head")
    answer.table("Rows", [header], [["a"]])
    page = answer.page(max_tokens=MIN_TOKENS)
    assert blocks(page)[0] == ["head", "Rows:"]
    assert len(page) < 200


@given(st.lists(st.text(max_size=40), max_size=30), st.integers(MIN_TOKENS, MAX_TOKENS))
def test_pages_are_bounded_and_lose_nothing(texts: list[str], max_tokens: int) -> None:
    answer = Answer("head")
    answer.table("Rows", ["number", "text"], ((number, f"x{text * 30}") for number, text in enumerate(texts)))
    whole = rows_of(answer.page(max_tokens=MAX_TOKENS))[1:] if texts else []
    cursor, read = "", []
    while True:
        page = answer.page(cursor, max_tokens)
        assert len(page.encode()) <= 4 * max_tokens
        outside, _ = blocks(page)
        read += rows_of(page)[1:]
        cut = re.search(r'CUT: (\d+) more lines \(Rows\).*cursor="(\d+-\w+)"', outside[-1])
        if cut is None:
            break
        assert int(cut[1]) == len(texts) - len(read)
        cursor = cut[2]
    assert [row[0] for row in read] == [str(number) for number in range(len(texts))]
    assert len(whole) <= len(read)


def test_a_line_that_is_too_long_says_how_much_is_missing() -> None:
    answer = Answer()
    answer.data("Lines", ["雪" * 5000])
    answer.table("Rows", ["text"], [["y" * 1000]])
    _, inside = blocks(answer.page())
    kept, missing = re.fullmatch(r"(雪+)… \(\+(\d+) characters\)", inside[0]).groups()  # type: ignore[union-attr]
    assert len(kept) + int(missing) == 5000
    assert inside[2] == f"{'y' * 300}… (+700 characters)"


def test_the_widest_header_and_line_fit_on_the_smallest_page() -> None:
    answer = Answer("h" * 300)
    answer.table("t" * 80, [f"column_{number}" for number in range(300)], [["z" * 300] * 300] * 3)
    page = answer.page(max_tokens=MIN_TOKENS)
    assert len(page.encode()) <= 4 * MIN_TOKENS
    assert 'cursor="1-' in page
    assert rows_of(page)[1] == [*["z" * 300] * 3, "… (+297 columns)"]


def test_empty_columns_and_tables_are_left_out() -> None:
    answer = Answer()
    answer.table("None", ["a"], [])
    answer.table("Some", ["a", "b", "c"], [[None, 0, ""], [None, {"CPU": 1}, None]])
    assert answer.page() == 'Some:\n```csv\nb\n0\n"{""CPU"": 1}"\n```'


@pytest.mark.parametrize("cursor", ["0", "-1", "x", "1", "1-", "1-x", "3", "999999999999", "1\n", "²"])
def test_a_cursor_of_another_answer_is_refused(cursor: str) -> None:
    answer = Answer()
    answer.data("Lines", ["a", "b", "c"])
    with pytest.raises(RayscopeError, match="not a cursor"):
        answer.page(cursor)


def test_a_cursor_is_refused_if_the_lines_before_it_have_changed() -> None:
    def answer(first: str) -> Answer:
        built = Answer()
        built.data("Lines", [first * 1000, *("b" * 1000 for _ in range(9))])
        return built

    cursor = answer("a").page().split('cursor="')[1].split('"')[0]
    assert "b" * 1000 in answer("a").page(cursor)
    with pytest.raises(RayscopeError, match="has changed"):
        answer("c").page(cursor)


def test_letters_that_show_nothing_are_escaped() -> None:
    answer = Answer()
    answer.data("Lines", ["a\ufe0f\u034f\u115f\u3164\U000e0101b"])
    assert r"a\ufe0f\u034f\u115f\u3164\U000e0101b" in answer.page().lower().replace(r"\u000e", r"\U000e")


def test_a_name_that_could_be_text_is_not_quoted() -> None:
    assert quoted("session_2026-11-30_1") == "'session_2026-11-30_1'"
    assert "ignore" not in quoted("ignore `this`\n")
