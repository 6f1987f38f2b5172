"""The sums of a logical graph of very many attempts: by call path first, as there are few of these."""

from __future__ import annotations

from collections.abc import Callable

from rayscope.store.flow_sql import (
    CREATED,
    END,
    FOREVER,
    START,
    UNTOLD,
    blocked_ns,
    bucket,
    is_driver,
    quantile,
    total,
)
from rayscope.store.query.pages import Where

_KEY = "task_hi, task_lo, attempt"
#: What tells function and caller; ``made``: the actor of an attempt without a name, ``up``: its parent, if
#: neither its path nor the parent's id tells the caller.
_GROUP = "path_id, own, made, is_method, job, up_hi, up_lo"
_EDGE = "is_node, func, caller_kind, caller"


def called(
    where: Where, last: int, is_filtered: bool, is_actor: str, tasks_named: Callable[[str], str]
) -> str:
    """SQL of one row for each function (``is_node``), and for each caller and function, with estimated
    quantiles. Its parameters are the filters'.

    ``is_actor``: SQL of whether an attempt is one of an actor; ``tasks_named``: SQL of ``task_hi``,
    ``task_lo`` and ``func`` of the tasks that a condition picks.
    """
    spans = "task_hi IN (SELECT task_hi FROM keyed)" if is_filtered else "true"
    callers = tasks_named("task_hi IN (SELECT up_hi FROM sums WHERE up_hi IS NOT NULL)")
    quantiles = ", ".join(
        f"{quantile(share, f'is_run = {is_run}')} AS {name}_p{share * 100:.0f}_ns"
        for name, is_run in (("latency", "false"), ("run", "true"))
        for share in (0.5, 0.95)
    )
    return f"""
WITH known AS (SELECT own.path_id AS path_id, up.name AS name
    FROM paths own JOIN paths up ON up.path_id = own.parent_path_id),
picked AS NOT MATERIALIZED (
    SELECT {_KEY}, path_id, coalesce(func_name, name) AS own, state, output_bytes, parent_hi, parent_lo,
        CASE WHEN func_name IS NULL AND name IS NULL AND type = 'ACTOR_CREATION_TASK'
            THEN actor_id END AS made,
        coalesce({is_actor}, false) AS is_method,
        CASE WHEN {is_driver("parent")} THEN right(parent_lo, 8) END AS job,
        coalesce(path_id IN (SELECT path_id FROM known), false) AS is_known,
        {CREATED} AS created, {START} AS began, {END} AS ended
    FROM attempts{where.sql}),
keyed AS NOT MATERIALIZED (
    SELECT *, CASE WHEN job IS NULL AND NOT is_known THEN parent_hi END AS up_hi,
        CASE WHEN job IS NULL AND NOT is_known THEN parent_lo END AS up_lo,
        CASE WHEN began IS NULL THEN 0 ELSE greatest(0, coalesce(ended, {last}) - began) END AS took,
        CASE WHEN ended IS NOT NULL AND began IS NOT NULL
            THEN least(greatest(0, ended - began), {FOREVER}) END AS run,
        CASE WHEN ended IS NOT NULL AND created IS NOT NULL
            THEN least(greatest(0, ended - created), {FOREVER}) END AS latency,
        {bucket("run")} AS run_in, {bucket("latency")} AS latency_in
    FROM picked),
waits AS (
    SELECT {_KEY}, max(blocked) AS blocked, min(since) AS since FROM (
        SELECT {_KEY}, blocked, NULL AS since FROM ({blocked_ns(spans)})
        UNION ALL SELECT {_KEY}, NULL, begin_ns FROM edge_rows b WHERE {UNTOLD}) GROUP BY {_KEY}),
sums AS MATERIALIZED (
    SELECT {_GROUP}, grouping(latency_in) = 1 AS is_run, coalesce(run_in, latency_in) AS bucket,
        count(*) AS n, count(*) FILTER (state = 'FAILED') AS failed, {total("took")} AS took, 0 AS waited,
        {total("output_bytes")} AS bytes, CASE WHEN is_run THEN count(run) ELSE count(latency) END AS told,
        CASE WHEN is_run THEN min(run) ELSE min(latency) END AS least_took,
        CASE WHEN is_run THEN max(run) ELSE max(latency) END AS most_took
    FROM keyed GROUP BY GROUPING SETS (({_GROUP}, run_in), ({_GROUP}, latency_in))
    UNION ALL BY NAME
    SELECT {_GROUP}, true AS is_run, {
        total(
            '''least(took, coalesce(blocked, 0) +
            coalesce(greatest(0, coalesce(ended, '''
            + str(last)
            + ''') - since), 0))'''
        )
    } AS waited
    FROM keyed k
    JOIN waits w ON w.task_hi = k.task_hi AND w.task_lo = k.task_lo AND w.attempt = k.attempt
    GROUP BY {_GROUP}),
callers AS ({callers}),
named AS MATERIALIZED (
    SELECT coalesce(own, (SELECT class_name || '.__init__' FROM actor_rows WHERE id = made)) AS func,
        CASE WHEN job IS NOT NULL THEN 'driver' WHEN coalesce(k.name, c.func) IS NULL THEN 'unknown'
            ELSE 'function' END AS caller_kind,
        CASE WHEN job IS NOT NULL THEN job ELSE coalesce(k.name, c.func) END AS caller,
        s.* EXCLUDE (path_id, own, made, job, up_hi, up_lo)
    FROM sums s LEFT JOIN known k ON k.path_id = s.path_id
    LEFT JOIN callers c ON c.task_hi = s.up_hi AND c.task_lo = s.up_lo),
every AS (
    SELECT false AS is_node, * FROM named
    UNION ALL SELECT true, * REPLACE (NULL AS caller_kind, NULL AS caller) FROM named),
grouped AS (
    SELECT {_EDGE}, is_run, bucket, bool_or(is_method) AS is_method, sum(n) AS n, sum(failed) AS failed,
        sum(took) AS took, sum(waited) AS waited, sum(bytes) AS bytes, coalesce(sum(told), 0) AS took_n,
        min(least_took) AS least_took, max(most_took) AS most_took
    FROM every GROUP BY {_EDGE}, is_run, bucket),
ranked AS (
    SELECT *, sum(took_n) OVER (PARTITION BY {_EDGE}, is_run ORDER BY bucket NULLS LAST) - took_n AS below,
        sum(took_n) OVER (PARTITION BY {_EDGE}, is_run) AS took_of FROM grouped)
SELECT func, NULL::VARCHAR AS box, caller_kind, caller, NULL::VARCHAR AS caller_box, is_node,
    bool_or(is_method) AS is_method, coalesce(sum(n) FILTER (is_run), 0)::BIGINT AS attempts,
    coalesce(sum(failed) FILTER (is_run), 0)::BIGINT AS failed,
    {total("CASE WHEN is_run THEN took END")} AS total_ns,
    greatest(0, {total("CASE WHEN is_run THEN took END")} - {total("waited")}) AS self_ns,
    {total("waited")} AS blocked_ns, {total("CASE WHEN is_run THEN bytes END")} AS output_bytes,
    {quantiles}
FROM ranked GROUP BY {_EDGE}
"""
