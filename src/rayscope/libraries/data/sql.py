"""Queries datasets, their operators, and the tasks that ran for each operator."""

from __future__ import annotations

from typing import cast

import msgspec

from rayscope.libraries.data import schemas
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.data_issues import DATA_ISSUES
from rayscope.storage.sql.execution import END, START
from rayscope.storage.sql.pages import Row, rows_of

_FINISHED = "'FINISHED', 'SUCCEEDED'"
#: Datasets end no later than their job. The tracer reports the end of each dataset, so a traced dataset
#: without an end was cut off. Without the tracer, a job that succeeded is assumed to have executed its
#: datasets to the end: if its driver exits at once, the actor that informs Ray's dashboard of the end exits
#: with it.
_DATASETS = f"""
SELECT d.* EXCLUDE (state, end_ns, end_known_by),
    CASE WHEN open AND j.state IN ({_FINISHED}) AND NOT EXISTS (SELECT 1 FROM dataset_operators o
            WHERE o.dataset_id = d.dataset_id AND o.inputs IS NOT NULL) THEN 'FINISHED'
        WHEN open AND j.end_ns IS NOT NULL THEN 'CUT_OFF' ELSE d.state END AS state,
    CASE WHEN open THEN j.end_ns ELSE d.end_ns END AS end_ns,
    CASE WHEN open AND j.end_ns IS NOT NULL THEN 'job' ELSE d.end_known_by END AS end_known_by,
    j.entrypoint
FROM (SELECT *, state IS NULL OR state NOT IN ('FINISHED', 'FAILED') AS open FROM datasets) d
LEFT JOIN jobs j USING (job_id)
"""


def datasets(
    file: SessionFile, limit: int, dataset_id: str | None = None, job_id: str | None = None
) -> tuple[list[schemas.DatasetItem], int]:
    """The datasets (newest first), of one job or all, or a single one, each with its ``operators`` in order.

    Also returns the number of all datasets.
    """
    with file.reader() as reader:
        total = reader.execute("SELECT count(*) FROM datasets").fetchone()
        found = rows_of(
            reader.execute(
                f"SELECT * EXCLUDE (open) FROM ({_DATASETS}) WHERE ($id IS NULL OR dataset_id = $id) "
                "AND ($job IS NULL OR job_id = $job) "
                "ORDER BY start_ns DESC NULLS LAST, dataset_id LIMIT $limit",
                {"id": dataset_id, "job": job_id, "limit": limit},
            )
        )
        operators = rows_of(
            reader.execute(
                "SELECT * EXCLUDE (job_id, end_ns, end_known_by) FROM dataset_operators "
                "WHERE name IS NOT NULL AND list_contains(?, dataset_id) ORDER BY dataset_id, position",
                [[row["dataset_id"] for row in found]],
            )
        )
    by_dataset: dict[str, list[Row]] = {}
    for one in operators:
        one["inputs"] = msgspec.json.decode(one["inputs"]) if one["inputs"] else None
        by_dataset.setdefault(one.pop("dataset_id"), []).append(one)
    for row in found:
        row["operators"] = by_dataset.get(row["dataset_id"], [])
        for one in row["operators"]:
            if row["end_known_by"] == "job" and one["state"] not in ("FINISHED", "FAILED"):
                one["state"] = row["state"]
    return cast(list[schemas.DatasetItem], found), int(total[0]) if total else 0


def running_ids(file: SessionFile, limit: int) -> tuple[list[str], int]:
    """The IDs of the newest running datasets, and the number of further running ones.

    This leaves out the datasets of a driver that was killed. Ray's metrics still show them as running,
    because Ray no longer updates them.
    """
    with file.reader() as reader:
        found = reader.execute(
            f"SELECT dataset_id, count(*) OVER () FROM ({_DATASETS}) WHERE state = 'RUNNING' "
            "ORDER BY start_ns DESC NULLS LAST, dataset_id LIMIT ?",
            [limit],
        ).fetchall()
    return [row[0] for row in found], found[0][1] - len(found) if found else 0


def warnings(file: SessionFile, dataset_id: str, limit: int) -> list[schemas.DatasetWarning]:
    """The warnings from Ray Data about a dataset, in chronological order."""
    with file.reader() as reader:
        found = rows_of(
            reader.execute(
                f"SELECT time_ns, operator, issue, message FROM ({DATA_ISSUES}) WHERE dataset_id = ? "
                "ORDER BY time_ns, operator, issue LIMIT ?",
                [dataset_id, limit],
            )
        )
    return cast(list[schemas.DatasetWarning], found)


def end_before(file: SessionFile, job_id: str | None, start_ns: int) -> int:
    """The latest end of a dataset of a job that is no later than ``start_ns``, ns; 0 if there is none."""
    with file.reader() as reader:
        found = reader.execute(
            f"SELECT max(end_ns) FROM ({_DATASETS}) WHERE job_id = ? AND end_ns <= ?", [job_id, start_ns]
        ).fetchone()
    return (found[0] if found else None) or 0


#: Attempts of Ray Data's functions that were created in a period.
_DATA_ATTEMPTS = f"""
SELECT name, func_name, coalesce(state, 'NIL') AS state, {START} AS start, coalesce({END}, $now) AS stop,
    output_bytes, row_number() OVER (PARTITION BY name, func_name, worker_id ORDER BY {START}) AS place
FROM attempts
WHERE job_id = $job AND type IN ('NORMAL_TASK', 'ACTOR_TASK')
    AND (module_name LIKE 'ray.data.%' OR func_name LIKE 'MapWorker(%')
    AND coalesce(pending_args_avail_ns, {START}) BETWEEN $since AND $until
"""


def tasks(file: SessionFile, job_id: str | None, since_ns: int, until_ns: int, now_ns: int) -> list[Row]:
    """Attempts of a job's Ray Data functions that were created in a period, grouped by name and function.

    Each row has ``name``, ``func_name`` and ``states`` (state -> attempts). For attempts that ran, it has the
    sum, median, 95th percentile and maximum of their time (ns), ``steady_ns`` (the sum if the first attempt
    in each worker, which imports modules, had taken as long as the others), ``at_once`` (the maximum
    concurrency), the first start and last end, and the sum, median and maximum of the output bytes (None if
    the tracer did not report them).
    """
    with file.reader() as reader:
        return rows_of(
            reader.execute(
                f"""
                WITH mine AS ({_DATA_ATTEMPTS}), steps AS (
                    SELECT name, func_name, start AS time_ns, 1 AS step FROM mine WHERE start IS NOT NULL
                    UNION ALL SELECT name, func_name, stop, -1 FROM mine WHERE start IS NOT NULL),
                loads AS (
                    SELECT name, func_name,
                        sum(step) OVER (PARTITION BY name, func_name ORDER BY time_ns, step) AS load
                    FROM steps),
                peaks AS (SELECT name, func_name, max(load)::BIGINT AS at_once FROM loads GROUP BY ALL),
                counted AS (SELECT name, func_name, state, count(*) AS n FROM mine GROUP BY ALL),
                states AS (
                    SELECT name, func_name, map(list(state ORDER BY state), list(n ORDER BY state)) AS states
                    FROM counted GROUP BY ALL)
                SELECT name, func_name, any_value(states) AS states, any_value(at_once) AS at_once,
                    min(start) AS first_ns, max(stop) FILTER (start IS NOT NULL) AS last_ns,
                    sum(stop - start)::BIGINT AS time_ns,
                    coalesce(least(avg(stop - start) FILTER (place > 1) * count(start), sum(stop - start)),
                        sum(stop - start))::BIGINT AS steady_ns,
                    quantile_cont(stop - start, 0.5)::BIGINT AS p50_ns,
                    quantile_cont(stop - start, 0.95)::BIGINT AS p95_ns,
                    max(stop - start) AS max_ns,
                    sum(output_bytes)::BIGINT AS output_bytes,
                    quantile_cont(output_bytes, 0.5)::BIGINT AS p50_bytes, max(output_bytes) AS max_bytes
                FROM mine JOIN states USING (name, func_name) LEFT JOIN peaks USING (name, func_name)
                GROUP BY name, func_name ORDER BY name, func_name
                """,
                {"job": job_id, "since": since_ns, "until": until_ns, "now": now_ns},
            )
        )


#: The number of workers created for each operator's actor pool, and the median time until they were ready.
_POOL_STARTS = f"""
SELECT regexp_extract(func_name, '^MapWorker\\((.*)\\)\\.__init__$', 1) AS operator, count(*) AS actors,
    quantile_cont({END} - coalesce(pending_args_avail_ns, {START}), 0.5)::BIGINT AS start_ns
FROM attempts
WHERE job_id = $job AND type = 'ACTOR_CREATION_TASK' AND func_name LIKE 'MapWorker(%'
    AND coalesce(pending_args_avail_ns, {START}) BETWEEN $since AND $until
GROUP BY operator
"""


def actor_starts(
    file: SessionFile, job_id: str | None, since_ns: int, until_ns: int
) -> dict[str, tuple[int, int | None]]:
    """The actors that were created for each operator's pool in a period.

    Returns their number and the median time until they were ready, ns; None while none is ready.
    """
    with file.reader() as reader:
        found = reader.execute(_POOL_STARTS, {"job": job_id, "since": since_ns, "until": until_ns}).fetchall()
    return {operator: (actors, start_ns) for operator, actors, start_ns in found}


def running(
    file: SessionFile, job_id: str | None, since_ns: int, until_ns: int, now_ns: int, buckets: int
) -> list[Row]:
    """The mean number of attempts of a job's Ray Data functions that were running in each of ``buckets``
    equal parts of the period in which any ran.

    Each row has ``name``, ``func_name``, ``running`` (a list), ``begin_ns`` and ``bucket_ns``. The last two
    are the same in all rows.
    """
    with file.reader() as reader:
        return rows_of(
            reader.execute(
                f"""
                WITH mine AS (SELECT * FROM ({_DATA_ATTEMPTS}) WHERE start IS NOT NULL),
                stretch AS (
                    SELECT min(start) AS begin_ns, (max(stop) - min(start)) // $buckets + 1 AS width
                    FROM mine),
                parts AS (
                    SELECT name, func_name, start, stop, begin_ns, width,
                        unnest(range((start - begin_ns) // width, (stop - begin_ns) // width + 1)) AS bucket
                    FROM mine, stretch),
                loads AS (
                    SELECT name, func_name, begin_ns, width, bucket,
                        sum(least(stop, begin_ns + (bucket + 1) * width)
                            - greatest(start, begin_ns + bucket * width)) / width AS running
                    FROM parts GROUP BY name, func_name, begin_ns, width, bucket),
                lists AS (
                    SELECT name, func_name, begin_ns, width, map(list(bucket), list(running)) AS running
                    FROM loads GROUP BY ALL)
                SELECT name, func_name, begin_ns, width AS bucket_ns,
                    list_transform(range($buckets), lambda b: coalesce(running[b], 0.0)) AS running
                FROM lists ORDER BY name, func_name
                """,
                {"job": job_id, "since": since_ns, "until": until_ns, "now": now_ns, "buckets": buckets},
            )
        )
