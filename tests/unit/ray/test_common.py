"""Nil ids, phases, error texts and redaction."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any, NamedTuple

import pytest

from rayscope.model import Span
from rayscope.ray.common import (
    RETURNED,
    STORE,
    cached_if_short,
    canonical_json,
    clean_error,
    is_nil,
    phase_of,
    redact_runtime_env,
    redact_settings,
    redact_text,
    split_profile,
)


@pytest.mark.parametrize("nil", ["", "f" * 8, "f" * 32, "f" * 36, "f" * 48, "f" * 56])
def test_nil_ids(nil: str) -> None:
    assert is_nil(nil)


@pytest.mark.parametrize("known", ["01000000", "f" * 40 + "01000000", "f" * 47 + "e", "f" * 10])
def test_a_drivers_task_id_is_not_nil(known: str) -> None:
    assert not is_nil(known)


def test_errors_lose_colour() -> None:
    assert clean_error("\x1b[36mray::f()\x1b[39m failed") == "ray::f() failed"
    assert clean_error("plain") == "plain"


@pytest.mark.parametrize(
    ("event", "phase"),
    [
        ("task:deserialize_arguments", "deserialize"),
        ("task:execute", "execute"),
        ("task:store_outputs", "store"),
        ("task::train", "total"),
        ("task::", "total"),
        ("task:something_new", None),
        ("submit_task", None),
        ("ray.get", None),
        ("", None),
    ],
)
def test_phases(event: str, phase: str | None) -> None:
    assert phase_of(event) == phase


def test_canonical_json_does_not_depend_on_order() -> None:
    assert canonical_json({"b": 1.0, "a": 2}) == canonical_json({"a": 2, "b": 1.0}) == '{"a":2,"b":1.0}'
    assert canonical_json({}) == "{}"


@pytest.mark.parametrize("empty", ["", "{}"])
def test_no_runtime_env(empty: str) -> None:
    assert redact_runtime_env(empty) is None


def test_runtime_env_keeps_names_and_no_secret() -> None:
    environment = {
        "env_vars": {"AWS_SECRET": "hunter2", "N": "1"},
        "working_dir": "https://user:hunter2@example.org/repo.zip?token=hunter2&v=3",
        "pip": {"packages": ["git+https://hunter2@github.com/a/b", "git+ssh://git@github.com/a/b"]},
        "container": {"env_vars": {"DEEP": "hunter2"}},
    }
    text = redact_runtime_env(json.dumps(environment))
    assert text is not None
    assert "hunter2" not in text
    shown = json.loads(text)
    assert shown["env_vars"] == {"AWS_SECRET": "<redacted>", "N": "<redacted>"}
    assert shown["working_dir"] == "https://<redacted>@example.org/repo.zip?token=<redacted>&v=3"
    assert shown["pip"]["packages"][1] == "git+ssh://git@github.com/a/b"


@pytest.mark.parametrize("text", ["not json: hunter2", '["hunter2"]', '{"env_vars": "hunter2"}'])
def test_an_unreadable_runtime_env_is_not_shown(text: str) -> None:
    assert "hunter2" not in (redact_runtime_env(text) or "")


def test_signed_urls_lose_their_signature() -> None:
    signed = redact_text("s3 at https://h/x?X-Amz-Signature=abc&X-Amz-Date=1 and https://h/y?sig=abc")
    assert (
        signed == "s3 at https://h/x?X-Amz-Signature=<redacted>&X-Amz-Date=1 and https://h/y?sig=<redacted>"
    )


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31mred",
        "\x1b[0",
        "a\x1b\x1b[1mb\x1b",
        "m\x1bm\x1b",
        "\x1b" * 5,
        "plain m",
        "\x1b[1;31mx\x1b[0m tail\x1b[K",
    ],
)
def test_escapes_go_as_in_rays_own_answers(text: str) -> None:
    from ray.util.state.common import remove_ansi_escape_codes

    assert clean_error(text) == remove_ansi_escape_codes(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://b?a=1&X-Amz-Signature=hunter2&b=2", "s3://b?a=1&X-Amz-Signature=<redacted>&b=2"),
        ("s3://b?SIG=hunter2 s3://c?sig=hunter2#x", "s3://b?SIG=<redacted> s3://c?sig=<redacted>#x"),
        ("s3://b?a=1?my_api-key=hunter2?token=hunter2", "s3://b?a=1?my_api-key=<redacted>"),
        ("s3://b?design=1&sigma=2", "s3://b?design=1&sigma=2"),
        ("s3://b?token=", "s3://b?token="),
    ],
)
def test_secrets_in_queries(text: str, shown: str) -> None:
    assert redact_text(text) == shown


def test_long_texts_are_not_cached() -> None:
    asked: list[str] = []

    @cached_if_short(10, max_length=5)
    def size(text: str) -> int:
        asked.append(text)
        return len(text)

    assert [size(text) for text in ("short", "too long", "short", "too long")] == [5, 8, 5, 8]
    assert asked == ["short", "too long", "too long"]


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("apikey", True),
        ("api_key", True),
        ("api-key", True),
        ("accesskey", True),
        ("aws_access_key", True),
        ("token", True),
        ("HF_TOKEN", True),
        ("client_secret", True),
        ("db_password", True),
        ("credentials", True),
        ("max_tokens", False),
        ("tokenizer", False),
        ("key", False),
        ("primary_key", False),
    ],
)
def test_settings_lose_the_values_of_secret_names(name: str, is_secret: bool) -> None:
    shown = "<redacted>" if is_secret else "plain"
    assert redact_settings({name: "plain"}) == {name: shown}
    assert redact_settings([{"nested": {name: "plain"}}]) == [{"nested": {name: shown}}]


def test_settings_keep_numbers_and_lose_the_credentials_of_urls() -> None:
    settings = {"max_tokens": 512, "token": 7, "url": "s3://user:pw@b/x", "env_vars": {"A": "1"}}
    assert redact_settings(settings) == {
        "max_tokens": 512,
        "token": 7,
        "url": "s3://<redacted>@b/x",
        "env_vars": {"A": "<redacted>"},
    }


class Entry(NamedTuple):
    event_name: str
    start_time: int
    end_time: int
    extra_data: str = "{}"


ONCE = [
    Entry("task:deserialize_arguments", 1, 2),
    Entry("task:execute", 2, 5),
    Entry(STORE, 5, 6),
    Entry("task::train", 1, 7),
]
PHASES_ONCE = {"deserialize": (1, 2), "execute": (2, 5), "store": (5, 6), "total": (1, 7)}


def test_the_phases_of_a_profile_do_not_depend_on_the_order_of_its_entries() -> None:
    for entries in permutations(ONCE):
        assert split_profile(entries, "ab", 0) == (PHASES_ONCE, [], [])


@pytest.mark.parametrize("place", range(5))
def test_a_profile_keeps_what_the_tracer_adds_to_each_task(place: int) -> None:
    returned = Entry(RETURNED, 5, 5, '{"sizes":[3]}')
    entries: list[Any] = [*ONCE[:place], returned, *ONCE[place:]]
    assert split_profile(entries, "ab", 0) == (PHASES_ONCE, [], [returned])


def test_a_task_with_a_span_of_its_own_has_no_other_span() -> None:
    own = Entry("load", 2, 3, '{"rows":4}')
    spans = [Span("ab", 1, "load", 2, 3, '{"rows":4}')]
    assert split_profile([*ONCE[:2], own, *ONCE[2:]], "ab", 1) == (PHASES_ONCE, spans, [])


def test_every_store_of_a_generator_is_a_span() -> None:
    again = Entry(STORE, 6, 7)
    spans = [Span("ab", 0, STORE, 5, 6), Span("ab", 0, STORE, 6, 7)]
    assert split_profile([*ONCE, again], "ab", 0) == (PHASES_ONCE, spans, [])
    # A part of a generator's account, without the other phases.
    assert split_profile([again], "ab", 0) == ({"store": (6, 7)}, [Span("ab", 0, STORE, 6, 7)], [])
