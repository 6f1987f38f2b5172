"""The job REST API, and one entity for each job."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any

import pytest

from rayscope.model import Entity
from rayscope.model.entity import merge_entities
from rayscope.ray import dashboard as module
from rayscope.ray.dashboard import DashboardError
from rayscope.ray.jobs_api import JobApi, aliases, join_jobs, submission

ROW = {
    "type": "SUBMISSION",
    "job_id": "02000000",
    "submission_id": "sub",
    "status": "FAILED",
    "entrypoint": "python https://u:hunter2@h/a.py",
    "message": "\x1b[1mexit 3",
    "error_type": "JOB_ENTRYPOINT_COMMAND_ERROR",
    "start_time": 5,
    "end_time": None,
    "metadata": {"team": "x"},
    "runtime_env": {"env_vars": {"K": "hunter2"}},
    "driver_node_id": "ab",
    "driver_exit_code": 3,
}


def test_a_submission() -> None:
    entity = submission(ROW, 9)
    assert (entity.kind, entity.id, entity.observed_ns) == ("job", "02000000", 9)
    assert entity.fields == {
        "type": "SUBMISSION",
        "submission_id": "sub",
        "entrypoint": "python https://<redacted>@h/a.py",
        "runtime_env": '{"env_vars":{"K":"<redacted>"}}',
        "metadata": '{"team":"x"}',
    }
    assert entity.observed == {
        "state": "FAILED",
        "message": "exit 3",
        "error_type": "JOB_ENTRYPOINT_COMMAND_ERROR",
        "exit_code": 3,
        "start_ns": 5_000_000,
        "driver_node_id": "ab",
    }


def test_exit_code_zero_is_known() -> None:
    assert submission({**ROW, "driver_exit_code": 0}, 1).observed["exit_code"] == 0


def test_without_driver_the_submission_id_is_the_id() -> None:
    assert submission({**ROW, "job_id": None}, 1).id == "sub"


def driver(job_id: str, owner: str | None = None) -> Entity:
    fields: dict[str, Any] = {"entrypoint": "python a.py", "driver_pid": 7}
    if owner:
        fields["submission_id"] = owner
    return Entity("job", job_id, fields, {}, 1, {"state": "SUCCEEDED", "end_ns": 8})


def test_the_submissions_outcome_is_the_drivers() -> None:
    joined = join_jobs([driver("01000000"), driver("02000000", "sub")], [submission(ROW, 9)])
    assert [job.id for job in joined] == ["01000000", "02000000"]
    job = joined[1].current()
    assert (job["state"], job["exit_code"], job["driver_pid"]) == ("FAILED", 3, 7)
    assert "end_ns" not in job
    assert joined[0].current()["state"] == "SUCCEEDED"


def test_the_last_of_several_drivers_represents_the_submission() -> None:
    joined = join_jobs([driver("03000000", "sub"), driver("02000000", "sub")], [submission(ROW, 9)])
    assert {job.id: job.current()["state"] for job in joined} == {
        "03000000": "FAILED",
        "02000000": "FINISHED",  # its exit status is unknown
    }


def test_a_waiting_submission_and_one_whose_driver_just_came() -> None:
    waiting = submission({**ROW, "job_id": None, "status": "PENDING"}, 9)
    assert join_jobs([], [waiting]) == [waiting]
    assert join_jobs([], [submission(ROW, 9)])[0].id == "02000000"


def test_aliases_name_the_driver_of_a_submission() -> None:
    joined = join_jobs([driver("01000000"), driver("02000000", "sub")], [submission(ROW, 9)])
    (alias,) = aliases(joined)
    assert alias.id == "sub"
    assert alias.fields["alias_of"] == "02000000"
    assert alias.observed["state"] == "FAILED"
    assert aliases(join_jobs([], [submission({**ROW, "job_id": None}, 9)])) == []


Answers = dict[str, tuple[int, str]]


@pytest.fixture
def dashboard() -> Iterator[tuple[str, Answers, list[str]]]:
    answers: Answers = {}
    tokens: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tokens.append(self.headers.get("Authorization", ""))
            status, text = answers.get(self.path, (404, "no"))
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answers[self.path] = (200, body.decode())
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", answers, tokens
    server.shutdown()
    thread.join()
    server.server_close()


def test_reading(dashboard: tuple[str, Answers, list[str]]) -> None:
    url, answers, tokens = dashboard
    answers["/api/jobs/"] = (200, json.dumps([ROW, {"type": "DRIVER", "job_id": "01000000"}]))
    answers["/api/version"] = (200, json.dumps({"session_name": "mine"}))
    api = JobApi(url + "/", "secret", session="mine")
    assert [job.id for job in api.submissions()] == ["02000000"]
    assert tokens == ["Bearer secret"] * 2
    api.close()


def test_a_package_is_sent_once(dashboard: tuple[str, Answers, list[str]]) -> None:
    url, answers, _ = dashboard
    api = JobApi(url, "secret")
    uri = api.upload(b"zip")
    assert re.fullmatch(r"gcs://_ray_pkg_[0-9a-f]{16}\.zip", uri)
    assert answers[f"/api/packages/gcs/{uri.removeprefix('gcs://')}"] == (200, "zip")
    answers[f"/api/packages/gcs/{uri.removeprefix('gcs://')}"] = (200, "as it was")
    assert api.upload(b"zip") == uri
    assert list(answers.values()) == [(200, "as it was")]
    api.close()


def test_platform_events_of_a_dashboard(dashboard: tuple[str, Answers, list[str]]) -> None:
    url, answers, _ = dashboard
    api = JobApi(url)
    assert api.platform_events() is None
    answers["/api/v0/platform_events"] = (200, json.dumps({"data": {"events": [{"eventId": "a"}]}}))
    assert api.platform_events() == [{"eventId": "a"}]
    for status, text in ((200, "<html>"), (200, '{"data": {}}'), (500, "{}")):
        answers["/api/v0/platform_events"] = (status, text)
        with pytest.raises(DashboardError):
            api.platform_events()
    api.close()


def test_another_clusters_dashboard_is_not_believed(dashboard: tuple[str, Answers, list[str]]) -> None:
    url, answers, _ = dashboard
    answers["/api/jobs/"] = (200, json.dumps([ROW]))
    answers["/api/version"] = (200, json.dumps({"session_name": "other"}))
    with pytest.raises(DashboardError) as error:
        JobApi(url, session="mine").submissions()
    assert "another cluster (other)" in error.value.message


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((401, ""), "requires a token"),
        ((403, ""), "requires a token"),
        ((500, "x"), "status 500"),
        ((200, "<html>"), "no JSON"),
        ((200, "{}"), "no list"),
    ],
)
def test_errors_are_named(
    dashboard: tuple[str, Answers, list[str]], answer: tuple[int, str], says: str
) -> None:
    url, answers, _ = dashboard
    answers["/api/jobs/"] = answer
    with pytest.raises(DashboardError) as error:
        JobApi(url).submissions()
    assert says in error.value.message
    assert error.value.remedy


def test_a_response_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RESPONSE_S", 0.3)

    class Trickle(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(b" ")
                    time.sleep(0.02)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Trickle) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(DashboardError, match=r"bytes without an end within 0\.3 s"):
            JobApi(f"http://127.0.0.1:{server.server_port}").submissions()
        server.shutdown()


def test_no_server_at_the_address() -> None:
    with pytest.raises(DashboardError, match="Could not reach"):
        JobApi("http://127.0.0.1:1", "secret").submissions()


def test_changes_to_a_record_do_not_leak_into_the_next_one() -> None:
    """A job that was handed on is merged with its alias; the job API's answer is joined again meanwhile."""
    waiting = submission({**ROW, "job_id": None}, 9)
    handed_on = join_jobs([], [waiting])[0]
    with_driver = join_jobs([driver("02000000", "sub")], [waiting])
    merge_entities(handed_on, aliases(with_driver)[0])
    assert handed_on.fields["alias_of"] == "02000000"
    (job,) = join_jobs([driver("02000000", "sub")], [waiting])
    assert "alias_of" not in job.fields
