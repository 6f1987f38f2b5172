"""The route that compares runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from rayscope.api.parameters import CurrentCatalog, CurrentRecords
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.cluster.recording.recording import recording
from rayscope.compare import schemas
from rayscope.compare.run import Run, read_run
from rayscope.records.reader import SessionReader
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import BadQuery, NotFound
from rayscope.storage.interruption import current_work

#: Maximum number of runs on each side.
MAX_RUNS = 10

_RUNS = (
    "Up to 10 runs, separated by commas: `SESSION` for its longest job, `SESSION/JOB` (without a session, "
    "the newest one), or `tag:TAG` for the newest sessions with this tag."
)
B = Annotated[str, Query(min_length=1, max_length=4000, description=_RUNS)]
A = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=4000,
        description="Likewise (default: up to 10 ended sessions with the script of B's session, before it).",
    ),
]
Margin = Annotated[
    float, Query(gt=0, le=1, description="The change of the duration that matters, as a share of it.")
]

router = Router()


@router.get("/api/v1/compare")
def compare_runs(
    catalog: CurrentCatalog, records: CurrentRecords, b: B, a: A = None, margin: Margin = 0.05
) -> Json[schemas.CompareAnswer]:
    """Explain how the runs of B differ from those of A: whether they are slower, where the time went, which
    functions changed, and what else differs.
    """
    from rayscope.compare.compare import compare  # imports scipy, which takes a tenth of a second

    named_b = _runs(catalog, b)
    named_a = _runs(catalog, a) if a is not None else _earlier(catalog, records, named_b[0])
    first, second = ([_read(catalog, records, run) for run in side] for side in (named_a, named_b))
    return answer(compare(first, second, margin))


def _runs(catalog: Catalog, side: str) -> list[str]:
    """The runs of a side, with tags replaced by sessions. Raises BadQuery and NotFound."""
    runs: list[str] = []
    for run in filter(None, map(str.strip, side.split(","))):
        tag = run.removeprefix("tag:")
        runs += [run] if tag == run else _tagged(catalog, tag)
    if not 1 <= len(runs) <= MAX_RUNS:
        raise BadQuery(
            f"Each side needs 1 to {MAX_RUNS} runs.",
            "Separate them by commas: a=SESSION/JOB,SESSION/JOB.",
            what="compared_runs",
        )
    return runs


def _tagged(catalog: Catalog, tag: str) -> list[str]:
    """The newest sessions with a tag. Raises NotFound if there are none."""
    found = [name for name in catalog.names() if tag in catalog.about(name).label.tags]
    if not found:
        raise NotFound(
            f"No session has the tag {tag!r}.",
            "Tag a run with rayscope run --tag TAG, or a session with rayscope sessions note --tag TAG.",
            what="tag",
            tag=tag,
        )
    return found[:MAX_RUNS]


def _earlier(catalog: Catalog, records: SessionReader, run: str) -> list[str]:
    """The newest ended sessions before that of a run which have the same script. Raises NotFound."""
    session = records.resolve(run.partition("/")[0])
    script, begin_ns = catalog.about(session).script, catalog.about(session).first_ns
    abouts = [catalog.about(name) for name in catalog.names()]
    found = [
        about.session
        for about in abouts
        if script and about.script == script and about.ended_ns is not None and about.first_ns < begin_ns
    ]
    if not found:
        raise NotFound(
            f"No session with the same script is on record before {session}.",
            "Name the runs to compare with.",
            what="earlier_run",
            session=session,
        )
    return found[:MAX_RUNS]


def _read(catalog: Catalog, records: SessionReader, run: str) -> Run:
    name, _, job = run.partition("/")
    session = records.resolve(name)
    work = current_work()
    if work is not None:
        work.check()
    about = catalog.about(session)
    facts = {"ray_version": about.ray_version} if about.ray_version else {}
    live = records.is_live(session)
    found: Run = records.read_cached(
        session,
        f"run of {job or 'the longest job'}",
        lambda file: read_run(file, session, job or None, records.last_ns(session), live=live, about=facts),
    )
    dropped = str(records.dropped(session)["total"])
    return found._replace(
        quality={**found.quality, "recording": recording(catalog, session), "dropped": dropped}
    )
