"""Submitted jobs, from Ray's job REST API. Neither events nor drivers' records contain their outcome."""

from __future__ import annotations

import contextlib
import hashlib
import signal
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import httpx

from rayscope.model import Entity
from rayscope.model.entity import Value, order_observed
from rayscope.ray.common import canonical_json, clean_error, headline, redact_runtime_env, redact_text
from rayscope.ray.dashboard import Dashboard, DashboardError

#: Timeout for requests that change something, s. Submitting a job starts an actor, which takes a while.
_CHANGE_TIMEOUT_S = 60.0
#: A shell adds this to the signal's number to form the exit code of a process killed by a signal.
_SIGNALLED = 128


class JobApi(Dashboard):
    """Ray's job API, which is part of its dashboard. All methods raise :class:`DashboardError`."""

    def submissions(self) -> list[Entity]:
        """The current state of all submitted jobs. Raises :class:`DashboardError`."""
        self.check()
        rows = self.get("/api/jobs/")
        if not isinstance(rows, list):
            raise self.unexpected("no list of jobs")
        observed_ns = time.time_ns()
        return [
            submission(row, observed_ns)
            for row in rows
            if isinstance(row, dict) and row.get("type") == "SUBMISSION" and row.get("submission_id")
        ]

    def submit(self, request: Mapping[str, Any]) -> str:
        """Submit a job (Ray's ``JobSubmitRequest``). Returns its submission ID. Raises DashboardError."""
        reply = self._change("POST", "/api/jobs/", dict(request))
        if not isinstance(reply, dict) or not reply.get("submission_id"):
            raise self.unexpected("no submission id")
        return str(reply["submission_id"])

    def upload(self, package: bytes) -> str:
        """Upload a ZIP for the cluster's nodes, unless it is already there. Returns its URI.

        As in Ray's client, the name is derived from the content, so an unchanged folder is uploaded only
        once. Raises DashboardError.
        """
        name = f"_ray_pkg_{hashlib.sha256(package).hexdigest()[:16]}.zip"
        self.check()
        url = f"{self.url}/api/packages/gcs/{name}"
        try:
            if self._http.get(url).status_code != 200:
                response = self._http.put(url, content=package, timeout=_CHANGE_TIMEOUT_S)
                if response.status_code in (401, 403):
                    raise self.wants_token()
                if response.status_code != 200:
                    raise self.unexpected(f"status {response.status_code} to a package")
        except httpx.HTTPError as error:
            raise DashboardError(
                f"Ray's job API at {self.url} did not take the folder: {type(error).__name__}.",
                "Try again, or submit it with `rayscope jobs submit --working-dir`.",
                what="folder",
                url=self.url,
                reason=type(error).__name__,
            ) from None
        return f"gcs://{name}"

    def stop(self, submission_id: str) -> bool:
        """Ask Ray to stop a job. Returns whether it was still running. Raises DashboardError."""
        return bool(self._change("POST", f"/api/jobs/{quote(submission_id, safe='')}/stop").get("stopped"))

    def delete(self, submission_id: str) -> bool:
        """Delete an ended job from Ray. Raises DashboardError."""
        return bool(self._change("DELETE", f"/api/jobs/{quote(submission_id, safe='')}").get("deleted"))

    def _change(self, method: str, path: str, body: Any = None) -> Any:
        self.check()
        try:
            response = self._http.request(method, f"{self.url}{path}", json=body, timeout=_CHANGE_TIMEOUT_S)
        except httpx.HTTPError as error:
            raise DashboardError(
                f"Ray's job API at {self.url} did not respond: {type(error).__name__}.",
                "Check the job's state before you try again: Ray may have accepted the request.",
                what="job_api",
                url=self.url,
                reason=type(error).__name__,
            ) from None
        if response.status_code == 200:
            try:
                return response.json()
            except ValueError:
                raise self.unexpected("no JSON") from None
        if response.status_code in (401, 403):
            raise self.wants_token()
        # Ray responds with the traceback of its exception.
        reason = redact_text(headline(clean_error(response.text)))[:500] or str(response.status_code)
        raise DashboardError(
            f"Ray rejected the request: {reason}",
            "Fix the problem it names, or see dashboard.log on the head node.",
            "refused",
            status=409,
            reason=reason,
        )


def submission(row: Mapping[str, Any], now_ns: int) -> Entity:
    """Convert a ``JobDetails`` of the job API. Its ID is the driver's job ID if the job has a driver."""
    submission_id = str(row["submission_id"])
    fields: dict[str, Value | None] = {
        "type": "SUBMISSION",
        "submission_id": submission_id,
        "entrypoint": redact_text(row.get("entrypoint") or ""),
        "runtime_env": redact_runtime_env(canonical_json(row.get("runtime_env") or {})),
        "metadata": redact_text(canonical_json(row["metadata"])) if row.get("metadata") else None,
    }
    observed: dict[str, Value | None] = {
        "state": str(row.get("status") or "PENDING"),
        "message": clean_error(row.get("message") or ""),
        "error_type": row.get("error_type"),
        "exit_code": row.get("driver_exit_code"),
        "start_ns": _ms_to_ns(row.get("start_time")),
        "end_ns": _ms_to_ns(row.get("end_time")),
        "driver_node_id": row.get("driver_node_id"),
    }
    return Entity(
        "job",
        str(row.get("job_id") or submission_id),
        fields=_known(fields),
        observed_ns=now_ns,
        observed=_known(observed),
    )


def driver_ended(job_id: str, ended_ns: int, exit_code: int, versions: Mapping[str, str]) -> Entity:
    """A job with its driver's exit code and versions, as reported by the driver's parent process. Ray does
    not know them.
    """
    state = "FAILED" if exit_code else "SUCCEEDED"
    how: dict[str, Value] = {"exit_code": exit_code, "end_known_by": "exit_code"}
    if exit_code:
        by = ""
        if exit_code > _SIGNALLED:
            with contextlib.suppress(ValueError):
                by = f" ({signal.Signals(exit_code - _SIGNALLED).name})"
        how["message"] = f"The driver ended with exit code {exit_code}{by}."
    # If the driver announced its end to Ray, that time takes precedence.
    fields: dict[str, Value] = {"end_ns": ended_ns}
    if versions:
        fields["versions"] = canonical_json(dict(versions))
    return Entity("job", job_id, fields, {(ended_ns, state): how})


def _known(values: Mapping[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if value is not None and value != ""}


def _ms_to_ns(value: Any) -> int | None:
    return int(value) * 1_000_000 if value else None


def join_jobs(gcs_jobs: list[Entity], api_jobs: list[Entity]) -> list[Entity]:
    """One entity per job. A submission's outcome is added to the job of its driver.

    For any driver that ended, the GCS reports SUCCEEDED. Only the job API knows its exit code. If a
    submission has several drivers, its outcome belongs to the last one, as in Ray. A submission without a
    driver (pending, or failed before it had one) has its submission ID as ID.
    """
    by_submission = {str(job.fields["submission_id"]): job for job in api_jobs}
    last_driver: dict[str, str] = {}
    for job in gcs_jobs:
        owner = job.fields.get("submission_id")
        if owner is not None:
            last_driver[str(owner)] = max(last_driver.get(str(owner), ""), job.id)
    joined = []
    for job in gcs_jobs:
        owner = str(job.fields.get("submission_id", ""))
        api = by_submission.get(owner)
        if api is None or last_driver[owner] != job.id:
            joined.append(job)
            continue
        joined.append(
            Entity(
                "job",
                job.id,
                fields={**job.fields, **api.fields},
                transitions=job.transitions,
                observed_ns=max(job.observed_ns, api.observed_ns),
                # The GCS may know the outcome earlier, because it is read more often.
                observed=dict(max(job, api, key=order_observed).observed),
            )
        )
    known = {job.id for job in gcs_jobs}
    # Keep jobs whose driver is not in the GCS's list, which was read at another time. Copy them, because
    # storing a record merges others into it, and ``api_jobs`` are joined repeatedly.
    joined.extend(
        replace(job, fields=dict(job.fields), observed=dict(job.observed))
        for job in api_jobs
        if job.id not in known and str(job.fields["submission_id"]) not in last_driver
    )
    return joined


def aliases(jobs: list[Entity]) -> list[Entity]:
    """Alias records, under their submission IDs, for submissions that now have a driver.

    Until its driver registers, a submission has only its submission ID. The record with this ID stays stored,
    and its field ``alias_of`` (the driver's job ID) lets readers skip it.
    """
    found = []
    for job in jobs:
        submission_id = job.fields.get("submission_id")
        if job.fields.get("type") == "SUBMISSION" and submission_id and submission_id != job.id:
            alias = {**job.fields, "alias_of": job.id}
            found.append(Entity("job", str(submission_id), alias, {}, job.observed_ns, dict(job.observed)))
    return found
