from __future__ import annotations

import pytest

from rayscope.tracer.pause import error_text
from rayscope.tracer.relay import server_url


class Hostile(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("雪"), "ValueError: 雪"),
        (ValueError("x" * 1000), f"ValueError: {'x' * 188}"),
        (ValueError("\udce4"), "ValueError: ?"),
        (Hostile(), "Hostile"),
    ],
)
def test_the_text_of_an_error(error: Exception, text: str) -> None:
    assert error_text(error) == text


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "http://host:8700/rayscope/api/ingest/key/ray-events",
            "http://host:8700/rayscope/api/ingest/key/debugger",
        ),
        ("https://host/api/ingest/key/ray-events", "https://host/api/ingest/key/debugger"),
        ("http://other/events", ""),
        ("", ""),
    ],
)
def test_the_address_of_the_server(monkeypatch: pytest.MonkeyPatch, url: str, expected: str) -> None:
    monkeypatch.setenv("RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR", url)
    assert server_url() == expected
