"""SQL for the samples of stacks, of the tracer and of profiles (:mod:`rayscope.ray.events.samples`)."""

from __future__ import annotations

from rayscope.ray.events import samples
from rayscope.tracer.sampler import NEED_GIL, OFF, PHASES

#: Whether a row of ``span_rows`` has samples of an attempt that the tracer took.
IS_SAMPLES = f"""(name = '{samples.SAMPLES}' AND starts_with(extra, '{{"hz":') AND json_valid(extra))"""
#: Whether the tracer took them for a profile, which has a copy of those that it is about.
IS_FOR_PROFILE = f"""(name = '{samples.FOR_PROFILE}' AND json_valid(extra))"""
#: Whether a row of ``span_rows`` has samples of a profile. Its task ID is '' if the attempt is unknown.
IS_PROFILE = f"""(name = '{samples.PROFILE}' AND starts_with(extra, '{{"profile":') AND json_valid(extra))"""
HAS_SAMPLES = f"({IS_SAMPLES} OR {IS_PROFILE})"
#: Whether a row of ``span_rows`` has memory of a profile. Its task ID is '' if the attempt is unknown.
IS_MEMORY = f"""(name = '{samples.MEMORY}' AND starts_with(extra, '{{"profile":') AND json_valid(extra))"""
#: Whether a row of ``span_rows`` is about stacks, and not a span of the task.
ABOUT_SAMPLES = f"""name IN ('{samples.SAMPLES}', '{samples.FOR_PROFILE}', '{samples.PROFILE}',
    '{samples.MEMORY}', '{samples.FRAMES}', '{samples.LINES}')"""
#: Whether the tracer of a row of ``worker_rows`` lacks nothing, apart from samples that are off.
TRACES_ALL = f"tracer IN ('on', 'on, without {OFF}', 'on, without {NEED_GIL}')"
#: The phases as SQL strings, by their numbers in reports.
PHASE_NAMES = ", ".join(f"'{phase}'" for phase in PHASES)
#: Query for the sums of samples in ``{rows}``, which are rows of ``span_rows``.
SAMPLE_SUMS = f"""
SELECT task_hi, task_lo, attempt, begin_ns, end_ns, profile_id, hz, [{PHASE_NAMES}][one[1] + 1] AS phase,
    one[2] = 1 AS is_native, one[3] AS samples, one[4] AS frame_id
FROM (
    SELECT task_hi, task_lo, attempt, begin_ns, end_ns, report.profile AS profile_id, report.hz AS hz,
        unnest(report.samples) AS one
    FROM (SELECT *,
        from_json(extra, '{{{{"profile":"VARCHAR","hz":"DOUBLE","samples":[["BIGINT"]]}}}}') AS report
        FROM ({{rows}})))
WHERE one[1] BETWEEN 0 AND {len(PHASES) - 1} AND one[3] BETWEEN 0 AND {samples.MAX_SAMPLES} AND one[4] >= 0"""
#: Query for the memory of stacks in ``{rows}``, which are rows of ``span_rows``.
MEMORY_SUMS = f"""
SELECT least(sum(one[1]), {samples.MAX_MEMORY})::BIGINT AS size,
    least(sum(one[2]), {samples.MAX_MEMORY})::BIGINT AS allocations, one[3] AS frame_id
FROM (SELECT unnest(from_json(extra, '{{{{"memory":[["BIGINT"]]}}}}').memory) AS one FROM ({{rows}}))
WHERE one[1] BETWEEN 0 AND {samples.MAX_MEMORY} AND one[2] BETWEEN 0 AND {samples.MAX_MEMORY}
    AND one[3] > 0
GROUP BY frame_id"""
#: Query for the frames of stacks: number, number of the frame around it (0: none), and text.
FRAMES = f"""
SELECT DISTINCT TRY_CAST(one[1] AS BIGINT) AS frame_id, TRY_CAST(one[2] AS BIGINT) AS caller_id,
    one[3] AS text
FROM (SELECT unnest(from_json(extra, '{{"frames":[["VARCHAR"]]}}').frames) AS one FROM span_rows
    WHERE name = '{samples.FRAMES}' AND starts_with(extra, '{{"frames":') AND json_valid(extra))
WHERE frame_id >= 0 AND caller_id >= 0 AND text IS NOT NULL"""
#: Query for the lines of code among ``?`` with known texts: the text of their frames (``place``), and theirs.
#: A line of which several texts were reported, because the code changed meanwhile, is left out.
LINES = f"""
SELECT entry[1] AS place, any_value(entry[2]) AS source
FROM (SELECT unnest(from_json(extra, '{{"lines":[["VARCHAR"]]}}').lines) AS entry FROM span_rows
    WHERE name = '{samples.LINES}' AND starts_with(extra, '{{"lines":') AND json_valid(extra))
WHERE list_contains(?, place) GROUP BY place HAVING min(entry[2]) = max(entry[2])"""
