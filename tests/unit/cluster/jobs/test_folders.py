"""A folder that is sent with a job: plain files below it, and nothing else."""

from __future__ import annotations

import contextlib
import io
import tracemalloc
import zipfile
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.story import SESSION, Story

from rayscope.cluster.jobs.folders import check_folder
from rayscope.storage.errors import BadQuery


def _zip(*names: str, mode: int = 0o100644) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            entry = zipfile.ZipInfo()
            entry.filename, entry.external_attr = name, mode << 16
            archive.writestr(entry, b"x")
    return made.getvalue()


def test_a_folder_of_plain_files() -> None:
    check_folder(_zip("train.py", "pkg/..name/a b.py", "数.txt", "./", "pkg/"))


@pytest.mark.parametrize(
    "package",
    [
        *(b"no zip", _zip()),
        *(_zip("a.py", name) for name in ("../up.py", "a/../../up.py", "/etc/passwd", "a\\..\\b", "C:/x")),
        _zip("link", mode=0o120777),
        *(_zip("a.py", name) for name in ("", ".", "a/../..")),
    ],
)
def test_paths_outside_the_folder_are_refused(package: bytes) -> None:
    with pytest.raises(BadQuery):
        check_folder(package)


def _cut(body: bytes, begin: int, end: int) -> bytes:
    return body[:begin] + body[end:]


def _put(body: bytes, at: int, what: bytes) -> bytes:
    return body[:at] + what + body[at + len(what) :]


WHOLE = _zip("train.py", "pkg/a.py", "b.txt")
VERSION = WHOLE.index(b"PK\x01\x02") + 6


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just(_put), st.integers(0, len(WHOLE)), st.binary(min_size=1, max_size=8)),
            st.tuples(st.just(_cut), st.integers(0, len(WHOLE)), st.integers(0, len(WHOLE))),
        ),
        max_size=4,
    )
)
@example([(_put, VERSION, b"\xff")])  # a version that zipfile does not have
@example([(_put, VERSION - 2, b"\xff\xff\xff\xff")])
def test_a_damaged_zip_is_refused_or_taken(damages: list[Any]) -> None:
    body = WHOLE
    for how, at, what in damages:
        body = how(body, at, what)
    with contextlib.suppress(BadQuery):
        check_folder(body)


@pytest.mark.parametrize("claimed", [1, 30_000, 0xFFFF])
def test_too_many_entries_are_counted_before_they_are_read(claimed: int) -> None:
    """The count in the end record may be wrong, and zipfile reads all entries that are there."""
    entry = b"PK\x01\x02" + b"\0" * 24 + (1).to_bytes(2, "little") + b"\0" * 16 + b"x"
    entries = entry * 400_000
    end = b"PK\x05\x06" + b"\0" * 4 + claimed.to_bytes(2, "little") * 2
    body = entries + end + len(entries).to_bytes(4, "little") + b"\0" * 6
    tracemalloc.start()
    try:
        with pytest.raises(BadQuery, match="more than 20,000 files"):
            check_folder(body)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_folder_goes_to_ray_with_the_operators_token(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh.record(Story())
    sent: list[bytes] = []

    class Ray:
        def upload(self, package: bytes) -> str:
            sent.append(package)
            return "gcs://_ray_pkg_1.zip"

    services = fresh.server.services
    monkeypatch.setattr(services.clusters, "job_api", lambda _: (Ray(), lambda: None))

    def send(package: bytes, token: str) -> Any:
        headers = {"X-Rayscope-Operator": token, "Content-Type": "application/zip"}
        path = f"/api/v1/jobs/folder?session={SESSION}"
        return fresh.client.post(path, content=package, headers=headers)

    package = _zip("train.py")
    assert send(package, "wrong").status_code == 403
    assert send(_zip("../x"), services.secrets.operator_token).status_code == 400
    assert send(package, services.secrets.operator_token).json() == {"uri": "gcs://_ray_pkg_1.zip"}
    assert sent == [package]
