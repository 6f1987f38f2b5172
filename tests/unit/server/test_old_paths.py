"""Old paths of the API lead to their new ones."""

from __future__ import annotations

import pytest
from tests.running import Running

from rayscope.server.old_paths import REDIRECTED


@pytest.mark.parametrize("path", sorted(REDIRECTED))
def test_paths_of_announcements_redirect_with_their_query(running: Running, path: str) -> None:
    answer = running.client.get(path, params={"session": "s 1"})
    assert answer.status_code == 308
    assert answer.headers["location"] == path.replace("/api/", "/api/v1/") + "?session=s+1"
    followed = running.client.get(path, follow_redirects=True)
    assert followed.status_code == 200
    assert followed.json() == running.get(path.replace("/api/", "/api/v1/"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/api/flow/critical_path", "/api/v1/flow/critical-path"),
        ("/api/placement_groups/ab12", "/api/v1/placement-groups/ab12"),
        ("/api/whatif", "/api/v1/what-if"),
        ("/api/tasks/ab12", "/api/v1/tasks/ab12"),
        ("/api/v1/placement_groups", "/api/v1/placement-groups"),
    ],
)
def test_other_old_paths_name_the_new_one(running: Running, old: str, new: str) -> None:
    for method in ("GET", "POST"):
        answer = running.client.request(method, old)
        assert answer.status_code == 404
        assert answer.json()["error"]["remedy"] == f"Use {new} instead."


def test_paths_that_never_were_name_the_description(running: Running) -> None:
    for path in ("/api/nowhere", "/api/v1/nowhere", "/api/v1/tasks/a/b"):
        assert "/openapi.json" in running.client.get(path).json()["error"]["remedy"]
