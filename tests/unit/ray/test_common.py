"""Nil ids, phases, error texts and redaction."""

from __future__ import annotations

import json

import pytest

from rayscope.ray.common import (
    cached_if_short,
    canonical_json,
    clean_error,
    is_nil,
    phase_of,
    redact_runtime_env,
    redact_text,
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


def test_what_is_long_is_not_remembered() -> None:
    asked: list[str] = []

    @cached_if_short(10, max_length=5)
    def size(text: str) -> int:
        asked.append(text)
        return len(text)

    assert [size(text) for text in ("short", "too long", "short", "too long")] == [5, 8, 5, 8]
    assert asked == ["short", "too long", "too long"]
