"""A folder that is sent with a job: plain files below it, and nothing else."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest
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
    check_folder(_zip("train.py", "pkg/..name/a b.py", "数.txt"))


@pytest.mark.parametrize(
    "package",
    [
        *(b"no zip", _zip()),
        *(_zip("a.py", name) for name in ("../up.py", "a/../../up.py", "/etc/passwd", "a\\..\\b", "C:/x")),
        _zip("link", mode=0o120777),
    ],
)
def test_what_would_lie_elsewhere_is_refused(package: bytes) -> None:
    with pytest.raises(BadQuery):
        check_folder(package)


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
        path = f"/api/jobs/folder?session={SESSION}"
        return fresh.client.post(path, content=package, headers=headers)

    package = _zip("train.py")
    assert send(package, "wrong").status_code == 403
    assert send(_zip("../x"), services.operator_token).status_code == 400
    assert send(package, services.operator_token).json() == {"uri": "gcs://_ray_pkg_1.zip"}
    assert sent == [package]
