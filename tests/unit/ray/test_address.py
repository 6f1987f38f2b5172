"""Addresses that people enter, and the errors that they get."""

from __future__ import annotations

import pytest

from rayscope.ray import address
from rayscope.ray.address import AddressError, resolve


@pytest.mark.parametrize("good", ["10.0.0.1:6379", "head.example.org:1", "[::1]:6379", " a:1 "])
def test_host_and_port(good: str) -> None:
    assert resolve(good) == good.strip()


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("ray://head:10001", "Ray Client"),
        ("http://head:8265", "web address"),
        ("https://head", "web address"),
        ("head", "is not host:port"),
        ("head:0", "is not host:port"),
        ("head:99999", "is not host:port"),
        ("a b:1", "is not host:port"),
    ],
)
def test_anything_else_is_named(bad: str, says: str) -> None:
    with pytest.raises(AddressError) as error:
        resolve(bad)
    assert says in error.value.message
    assert "6379" in error.value.remedy


def test_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    found: dict[str, str] = {}
    monkeypatch.setattr(address, "local_gcs_addresses", lambda: found)
    with pytest.raises(AddressError, match="No Ray cluster"):
        resolve("auto")
    found["session_a"] = "10.0.0.1:1"
    assert resolve("auto") == resolve("local") == resolve("") == "10.0.0.1:1"
    found["session_b"] = "10.0.0.1:2"
    with pytest.raises(AddressError, match="Several") as error:
        resolve("auto")
    assert "10.0.0.1:2  session_b" in error.value.message
    assert "10.0.0.1:1" in error.value.remedy
    # The sessions of a server decide, unless it knows none or both.
    assert resolve("auto", lambda: ["session_old", "session_b"]) == "10.0.0.1:2"
    with pytest.raises(AddressError, match="Several"):
        resolve("auto", lambda: ["session_a", "session_b"])
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:2")
    assert resolve("auto") == "10.0.0.1:2"
    monkeypatch.setenv("RAY_ADDRESS", "ray://10.0.0.1:2")
    with pytest.raises(AddressError, match="Ray Client"):
        resolve("auto")
