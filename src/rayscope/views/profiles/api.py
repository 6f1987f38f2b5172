"""Profiles on demand."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from rayscope.api.parameters import CurrentRecords, Filters, Session
from rayscope.api.provide import provide
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.api.schemas import Body
from rayscope.api.write_access import OPERATOR_ONLY
from rayscope.views.profiles.profiler import Profiler
from rayscope.views.profiles.schemas import ProfileAnswer, ProfilesAnswer

CurrentProfiler = Annotated[Profiler, provide(Profiler)]


class ProfileRequest(Body):
    """How long to profile, and whether to include frames of C and C++."""

    model_config = ConfigDict(extra="forbid")

    seconds: int = Field(10, ge=1, le=60)
    native: bool = False


router = Router()


@router.get("/api/v1/profiles")
def profiles(
    records: CurrentRecords, profiler: CurrentProfiler, session: Session = None
) -> Json[ProfilesAnswer]:
    """Return the profiles of a session, the newest first."""
    chosen = records.resolve(session)
    return answer({"session": chosen, "items": profiler.profiles(chosen)})


@router.post("/api/v1/profiles", dependencies=OPERATOR_ONLY)
def start_profile(
    records: CurrentRecords,
    profiler: CurrentProfiler,
    request: ProfileRequest,
    filters: Filters,
    session: Session = None,
) -> Json[ProfileAnswer]:
    """Start to profile the workers that run matching attempts now, all at the same moment."""
    chosen = records.resolve(session)
    return answer(
        {
            "session": chosen,
            "profile": profiler.start(chosen, filters, request.seconds, native=request.native),
        }
    )
