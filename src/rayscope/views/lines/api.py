"""The slow lines: where the Python code of attempts was, by samples of its stacks."""

from __future__ import annotations

from fastapi import Request

from rayscope.api.parameters import AttemptNumber, CurrentRecords, Filters, ProfileId, Session, Text
from rayscope.api.responses import Json, answer_from_record
from rayscope.api.routes import Router
from rayscope.api.schemas import ErrorDetail
from rayscope.storage.session_file import SessionFile
from rayscope.views.lines.compute import MIN_SAMPLES, add_up
from rayscope.views.lines.schemas import LinesAnswer
from rayscope.views.lines.sql import Sampled, place_text, read_samples, read_source

router = Router()


@router.get("/api/v1/lines")
def lines(
    records: CurrentRecords,
    request: Request,
    filters: Filters,
    session: Session = None,
    task_id: Text = None,
    attempt: AttemptNumber = None,
    profile: ProfileId = None,
) -> Json[LinesAnswer]:
    """Return the lines of code with the most samples, the phases, and the tree of stacks.

    With ``task_id``, the other filters but the time range do not apply. Drivers are tasks of the type
    ``DRIVER_TASK``. Samples of profiles are included only with ``profile``, and then they are the only ones.
    """
    chosen = records.resolve(session)

    def read(file: SessionFile) -> LinesAnswer:
        sampled = read_samples(file, filters, task_id, attempt, profile)
        sums = add_up(sampled.sums, sampled.frames)
        source = read_source(file, sums.lines)
        for line in sums.lines:
            line["source"] = source.get(place_text(line))
        return {
            "session": chosen,
            "samples": sums.samples,
            "attempts": sampled.attempts,
            "hz": sampled.hz,
            "first_ns": sampled.first_ns,
            "last_ns": sampled.last_ns,
            "is_enough": sums.samples >= MIN_SAMPLES,
            "missing": _missing(sampled, sums.samples, profile),
            "phases": sums.phases,
            "lines": sums.lines,
            "lines_total": sums.lines_total,
            "self_lines_total": sums.self_lines_total,
            "frames": sums.frames,
            "frames_total": sums.frames_total,
            "reports": sampled.reports,
            "reports_read": sampled.reports_read,
        }

    return answer_from_record(records, chosen, request, read)


def _missing(sampled: Sampled, samples: int, profile: str | None) -> ErrorDetail | None:
    """Return why there are too few samples, or None."""
    workers = sampled.workers
    if samples >= MIN_SAMPLES:
        return None
    if profile is not None:
        return {
            "code": "profile_samples",
            "message": f"The profile has only {samples} samples of user code ({MIN_SAMPLES} are needed).",
            "remedy": "Profile for longer while the code runs.",
            "params": {"samples": samples, "least": MIN_SAMPLES},
        }
    if samples:
        return {
            "code": "few_samples",
            "message": f"Too few samples for shares: {samples} (at least {MIN_SAMPLES} are needed).",
            "remedy": "Look at all attempts of the function, or record with --samples 20.",
            "params": {"samples": samples, "least": MIN_SAMPLES},
        }
    if workers.get("off") and not workers.get("sampled"):
        return {
            "code": "samples_off",
            "message": "The processes of these attempts took no samples: sampling was off.",
            "remedy": "Record without --samples 0 or RAYSCOPE_TRACE_SAMPLES=0.",
        }
    if workers.get("untraced") and not workers.get("sampled"):
        return {
            "code": "samples_untraced",
            "message": "The processes of these attempts took no samples: they ran without the tracer.",
            "remedy": "See `rayscope doctor` for the reason.",
        }
    return {
        "code": "no_samples",
        "message": "There are no samples of these attempts.",
        "remedy": "They were too short or have not started, or their processes were killed before a report.",
    }
