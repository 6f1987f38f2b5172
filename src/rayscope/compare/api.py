"""The route that compares runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Literal

from fastapi import Query

from rayscope.api.parameters import CurrentCatalog, CurrentRecords
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.cluster.recording.recording import recording
from rayscope.compare import schemas
from rayscope.compare.findings import compare_findings
from rayscope.compare.run import Run, read_call_paths, read_run
from rayscope.compare.schemas import MAX_RUNS
from rayscope.insights.api import insights_finder
from rayscope.insights.gains import MAX_READ
from rayscope.insights.replays import CurrentReplays
from rayscope.insights.schemas import InsightsAnswer
from rayscope.metrics.service import CurrentMetrics
from rayscope.model.program import script_name
from rayscope.records.reader import SessionReader
from rayscope.runs import sql
from rayscope.runs.service import CurrentRuns, Runs
from rayscope.runs.summary import variant_of
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import BadQuery, NotFound
from rayscope.storage.interruption import current_work
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.filters import TaskFilters
from rayscope.views.lines.compute import self_samples
from rayscope.views.lines.sql import read_samples

_RUNS = (
    f"Up to {MAX_RUNS} runs, separated by commas: `SESSION` for its longest job, `SESSION/JOB` (without a "
    "session, the newest one), or `tag:TAG` for the newest sessions with this tag."
)
B = Annotated[str, Query(min_length=1, max_length=4000, description=_RUNS)]
A = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=4000,
        description=f"Likewise (default: the baseline of B's first run, or up to {MAX_RUNS} earlier runs "
        "with its script).",
    ),
]
Margin = Annotated[
    float, Query(gt=0, le=1, description="The change of the duration that matters, as a share of it.")
]
SkipFirst = Annotated[
    int, Query(ge=0, le=MAX_RUNS, description="The first runs of each side to leave out, as warm-up.")
]
FunctionsBy = Annotated[
    Literal["name", "path"],
    Query(description="What a row of `functions` is: a function, or a call path such as `prepare › load`."),
]

OneRun = Annotated[
    str, Query(min_length=1, max_length=400, description="`SESSION` for its longest job, or `SESSION/JOB`.")
]

router = Router()


@router.get("/api/v1/compare")
def compare_runs(
    catalog: CurrentCatalog,
    records: CurrentRecords,
    runs: CurrentRuns,
    b: B,
    a: A = None,
    margin: Margin = 0.05,
    skip_first: SkipFirst = 0,
    functions_by: FunctionsBy = "name",
) -> Json[schemas.CompareAnswer]:
    """Explain how the runs of B differ from those of A: whether they are slower, where the time went, which
    functions changed, and what else differs.
    """
    # Imports scipy, which takes a tenth of a second.
    from rayscope.compare.compare import compare, without_warm_up

    second = _read_all(catalog, records, _split(catalog, b))
    first = (
        _baseline(catalog, records, runs, second) or _earlier(catalog, records, runs, second)
        if a is None
        else _read_all(catalog, records, _split(catalog, a))
    )
    if common := _keys(first) & _keys(second):
        session, job = min(common)
        raise BadQuery(
            f"{session}/{job} is on both sides.",
            "Name different runs. A tag stands for sessions, and a session for its longest job.",
            what="run_on_both_sides",
            session=session,
            job=job,
        )
    if functions_by == "path":
        first, second = (
            [*left_out, *(_by_path(records, run) for run in kept)]
            for left_out, kept in (without_warm_up(side, skip_first) for side in (first, second))
        )
    return answer(compare(first, second, margin, skip_first))


@router.get("/api/v1/compare/findings")
def compare_findings_of(
    records: CurrentRecords, metrics: CurrentMetrics, replays: CurrentReplays, a: OneRun, b: OneRun
) -> Json[schemas.ComparedFindings]:
    """Compare the findings about two runs: new ones of B, those of A that are gone, and those of both."""
    answers: list[InsightsAnswer] = []
    for run in (a, b):
        name, _, job = run.partition("/")
        session = records.resolve(name)
        find = insights_finder(records, metrics, replays, session, job or None)
        answers.append(records.read_cached(session, f"insights of {job}", find))
    sides: list[tuple[Literal["a", "b"], InsightsAnswer]] = [("a", answers[0]), ("b", answers[1])]
    too_large = [side for side, found in sides if found["attempts"] > MAX_READ]
    first, second = (found["findings"] for found in answers)
    return answer(
        {
            "items": [] if too_large else compare_findings(first, second),
            "too_large": too_large,
            "not_replayed": [side for side, found in sides if found["withheld"] is not None],
        }
    )


@router.get("/api/v1/compare/lines")
def compare_lines_of(
    catalog: CurrentCatalog,
    records: CurrentRecords,
    a: B,
    b: B,
    function: Annotated[str, Query(min_length=1, max_length=500)],
    renamed_from: Annotated[
        str | None, Query(min_length=1, max_length=500, description="The name of the function in A.")
    ] = None,
) -> Json[schemas.ComparedLines]:
    """Compare how often each line of a function was innermost in samples of its stacks."""
    # Imports scipy, which takes a tenth of a second.
    from rayscope.compare.lines import LineSamples, compare_lines

    def read(run: Run, name: str) -> LineSamples:
        filters = TaskFilters(job_id=run.job_id, func_name=name)

        def add_up(file: SessionFile) -> LineSamples:
            sampled = read_samples(file, filters, None, None)
            samples = sum(summed.samples for summed in sampled.sums)
            return LineSamples(self_samples(sampled.sums, sampled.frames), samples)

        return records.read_cached(run.session, f"lines of {name} of {run.job_id}", add_up)

    sides = ((a, renamed_from or function), (b, function))
    first, second = (
        [read(run, name) for run in _read_all(catalog, records, _split(catalog, side))]
        for side, name in sides
    )
    return answer(compare_lines(first, second))


def _by_path(records: SessionReader, run: Run) -> Run:
    """A run with its functions by call path. Raises NotFound."""
    last_ns = records.last_ns(run.session)
    functions = records.read_cached(
        run.session,
        f"call paths of {run.job_id}",
        lambda file: read_call_paths(file, run.job_id, last_ns),
    )
    if functions is None:
        raise NotFound(
            f"The call paths of {run.session}/{run.job_id} are unknown, because the callers of its tasks are "
            "not recorded.",
            "Compare the functions by name.",
            what="call_paths",
            session=run.session,
            job=run.job_id,
        )
    return run._replace(functions=functions)


def _keys(runs: Sequence[Run]) -> set[tuple[str, str]]:
    return {(run.session, run.job_id) for run in runs}


def _split(catalog: Catalog, side: str) -> list[str]:
    """The runs that a side names, with tags replaced by sessions. Raises BadQuery and NotFound."""
    runs: list[str] = []
    for run in filter(None, map(str.strip, side.split(","))):
        tag = run.removeprefix("tag:")
        runs += [run] if tag == run else _tagged(catalog, tag)
    if not 1 <= len(runs) <= MAX_RUNS:
        raise BadQuery(
            f"Each side needs 1 to {MAX_RUNS} runs.",
            "Separate them by commas: a=SESSION/JOB,SESSION/JOB.",
            what="compared_runs",
            runs=MAX_RUNS,
        )
    return runs


def _tagged(catalog: Catalog, tag: str) -> list[str]:
    """The newest sessions with a tag that ran tasks. Raises NotFound if there are none."""
    abouts = [catalog.about(name) for name in catalog.names()]
    found = [about.session for about in abouts if tag in about.label.tags and about.attempts]
    if not found:
        raise NotFound(
            f"No session with tasks has the tag {tag!r}.",
            "Tag a run with rayscope run --tag TAG, or a session with rayscope sessions note --tag TAG.",
            what="tag",
            tag=tag,
        )
    return found[:MAX_RUNS]


def _baseline(
    catalog: Catalog, records: SessionReader, runs: Runs, second: Sequence[Run]
) -> list[Run] | None:
    """The baseline of the group of the first run of ``second``. None if there is none on record."""
    first = second[0]
    known = runs.store.find(first.session, first.job_id)
    tags = catalog.about(first.session).label.tags if known is None else known.tags
    key = runs.baseline((first.script, variant_of(tags)))
    if key is None or key in _keys(second) or key[0] not in catalog.names():
        return None
    return [_read(catalog, records, "/".join(key))]


def _earlier(catalog: Catalog, records: SessionReader, runs: Runs, second: Sequence[Run]) -> list[Run]:
    """The newest ended runs before all of ``second`` that have the script of its first run: jobs of the same
    session, and the longest jobs of other sessions, without those that are left out. Raises NotFound.
    """
    left_out = {run.key for run in runs.runs() if run.marks.is_left_out}
    session, script = second[0].session, second[0].script
    before_ns = min(run.begin_ns for run in second)

    def jobs(file: SessionFile) -> list[str]:
        with file.reader() as reader:
            commands = sql.read_commands(reader, before_ns)
        return [f"{session}/{job}" for job, command in commands if script_name(command) == script]

    named = records.read(session, jobs)
    for name in catalog.names():
        about = catalog.about(name)
        is_earlier = name != session and about.first_ns < before_ns and not records.is_live(name)
        if is_earlier and about.script == script and about.attempts:
            named.append(name)
    found: list[Run] = []
    for run in named if script else []:
        with suppress(NotFound):  # it ran no tasks
            found += [
                one
                for one in _read_all(catalog, records, [run])
                if one.script == script and (one.session, one.job_id) not in left_out
            ]
        if len(found) == MAX_RUNS:
            return found
    if not found:
        raise NotFound(
            f"No run of the same script is on record before {session}/{second[0].job_id}.",
            "Name the runs to compare with.",
            what="earlier_run",
            session=session,
            job=second[0].job_id,
        )
    return found


def _read_all(catalog: Catalog, records: SessionReader, named: Sequence[str]) -> list[Run]:
    """Read runs, each once even if it is named several times."""
    runs = [_read(catalog, records, run) for run in named]
    return list({(run.session, run.job_id): run for run in runs}.values())


def _read(catalog: Catalog, records: SessionReader, run: str) -> Run:
    name, _, job = run.partition("/")
    session = records.resolve(name)
    work = current_work()
    if work is not None:
        work.check()
    about = catalog.about(session)
    facts = {"ray_version": about.ray_version} if about.ray_version else {}
    found: Run = records.read_cached(
        session,
        f"run of {job or 'the longest job'}",
        lambda file: read_run(records, session, file, job or None, facts),
    )
    dropped = str(records.dropped(session)["total"])
    return found._replace(
        quality={**found.quality, "recording": recording(catalog, session), "dropped": dropped}
    )
