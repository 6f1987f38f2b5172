"""Ray's own job client, for the cluster of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rayscope.errors import RayscopeError
from rayscope.ray.auth import bearer, ray_token

if TYPE_CHECKING:
    from ray.job_submission import JobSubmissionClient

    from rayscope.client.types import SessionItem

#: Takes the maximum number of sessions (None for all), and returns the newest ones.
ListSessions = Callable[[int | None], "Iterable[SessionItem]"]


def job_client(list_sessions: ListSessions, session: str | None, address: str | None) -> JobSubmissionClient:
    """Return Ray's client for the session's cluster. See ``Client.job_client``. Raises RayscopeError."""
    from ray.job_submission import JobSubmissionClient

    from rayscope.ray.dashboard import DashboardError
    from rayscope.ray.jobs_api import JobApi

    token = ray_token()
    session_name, dashboard = _dashboard(list_sessions, session, token)
    url = address or dashboard
    if url is None:
        raise RayscopeError(
            f"The cluster of {session_name} has ended, or cannot be reached from here.",
            "Pass the address of its dashboard: job_client(address='http://HOST:8265').",
            "no_job_api",
        )
    api = JobApi(url, token, session=session_name)
    try:
        api.check()
        return JobSubmissionClient(url, headers=bearer(token))
    except DashboardError as error:
        raise RayscopeError(error.message, error.remedy, error.code) from error
    except (ConnectionError, RuntimeError) as error:
        raise RayscopeError(
            f"Ray's job API at {url} is not responding: {error}",
            "See dashboard.log on the head node.",
            "job_api",
        ) from error
    finally:
        api.close()


def _dashboard(list_sessions: ListSessions, session: str | None, token: str | None) -> tuple[str, str | None]:
    """Return the session's name, and the URL of its dashboard as reported by the cluster's GCS.

    The URL is None if the GCS cannot be reached.
    """
    from rayscope.ray.gcs.client import GcsClient, GcsError

    sessions = list_sessions(1 if session is None else None)
    chosen = next((one for one in sessions if session in (None, one["session"])), None)
    if chosen is None:
        what = f"Session {session!r} not found." if session else "No sessions recorded yet."
        raise RayscopeError(what, "See Client.sessions().", "not_found", status=404)
    if not chosen["gcs_address"]:
        return chosen["session"], None
    try:
        with GcsClient(chosen["gcs_address"], token, timeout_s=5) as gcs:
            info = gcs.cluster_info()
    except GcsError:
        return chosen["session"], None
    return chosen["session"], info.dashboard_url if info.session == chosen["session"] else None
