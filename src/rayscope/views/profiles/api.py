"""Profiles on demand."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from pydantic import ConfigDict, Field

from rayscope.api.parameters import CurrentRecords, Filters, Session
from rayscope.api.provide import provide
from rayscope.api.responses import Json, answer, answer_from_record
from rayscope.api.routes import Router
from rayscope.api.schemas import Body
from rayscope.api.write_access import OPERATOR_ONLY
from rayscope.storage.session_file import SessionFile
from rayscope.views.profiles import sql
from rayscope.views.profiles.memory import MAX_LINES, add_up
from rayscope.views.profiles.profiler import Profiler
from rayscope.views.profiles.schemas import MemoryKind, MemoryLinesAnswer, ProfileAnswer, ProfilesAnswer

CurrentProfiler = Annotated[Profiler, provide(Profiler)]


class ProfileRequest(Body):
    """How long to profile, and whether to include frames of C and C++, or to profile memory instead."""

    model_config = ConfigDict(extra="forbid")

    seconds: int = Field(10, ge=1, le=60)
    native: bool = False
    memory: MemoryKind | None = None


router = Router()


@router.get("/api/v1/profiles")
def profiles(
    records: CurrentRecords, profiler: CurrentProfiler, session: Session = None
) -> Json[ProfilesAnswer]:
    """Return the profiles of a session, the newest first."""
    chosen = records.resolve(session)
    return answer({"session": chosen, "items": profiler.profiles(chosen)})


@router.get("/api/v1/memory-lines")
def memory_lines(
    records: CurrentRecords,
    request: Request,
    profile: Annotated[str, Query(max_length=100, description="ID of a profile of memory")],
    session: Session = None,
) -> Json[MemoryLinesAnswer]:
    """Return the lines of code that hold the memory of a profile."""
    chosen = records.resolve(session)

    def read(file: SessionFile) -> MemoryLinesAnswer:
        size, allocations, lines = add_up(*sql.memory_of(file, profile))
        return {
            "session": chosen,
            "bytes": size,
            "allocations": allocations,
            "lines": lines[:MAX_LINES],
            "lines_total": len(lines),
            "self_lines_total": sum(line["self_allocations"] > 0 for line in lines),
        }

    return answer_from_record(records, chosen, request, read)


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
            "profile": profiler.start(
                chosen, filters, request.seconds, native=request.native, memory=request.memory
            ),
        }
    )
