"""SQL for what attempts and actors used of the GPUs that Ray assigned to them, from NVML's samples."""

from __future__ import annotations

from rayscope.storage.sql.execution import EXECUTING, executed_at

#: SQL condition: in this span ``s``, the tracer reports the result of ``ray.get_gpu_ids`` in a task.
REPORTED_GPUS = "s.name = 'gpus' AND starts_with(s.extra, '{\"gpus\":') AND json_valid(s.extra)"
GPUS_OF_SPAN = "json_extract(s.extra, '$.gpus')::VARCHAR"
#: Calls of an actor that overlap by less than this do not run beside each other, in ns. Ray's times are in
#: ms.
_OVERLAP_NS = 1_000_000
#: Columns of the use, the same for attempts and actors.
COLUMNS = ("gpu_scope", "gpu_busy_ns", "gpu_measured_ns", "gpu_held_ns", "gpu_memory_peak_bytes")
#: Why the use of a device is known or unknown. Of several devices, the last one applies.
SCOPES = ("own", "process", "shared", "unsupported", "mig", "unmeasured")


def holds_gpus(table: str) -> str:
    """SQL condition: the task or actor of a row of ``table`` requests GPUs."""
    return f"contains({table}.required_resources, '\"GPU')"


def of_attempts(last: str | int, chosen: str = "true") -> str:
    """SQL for the use by attempts: ``task_hi``, ``task_lo``, ``attempt`` and :data:`COLUMNS`.

    ``last``: the end that is assumed for running attempts. ``chosen``: condition for rows ``a`` of
    ``attempts``.
    """
    return f"""
WITH {_actors(last)}, own AS (
    SELECT a.task_hi, a.task_lo, a.attempt, a.node_id, a.worker_pid AS pid, {EXECUTING} AS began,
        {executed_at(last)} AS ended, s.gpus, false AS by_position, false AS is_beside
    FROM attempts a LEFT JOIN spans s USING (task_hi, task_lo, attempt)
    WHERE {chosen} AND a.type = 'NORMAL_TASK' AND {holds_gpus("a")}
), wanted AS (
    SELECT DISTINCT worker_id FROM attempts a
    WHERE {chosen} AND a.type IN ('ACTOR_TASK', 'ACTOR_CREATION_TASK')
), calls AS (
    SELECT c.*, coalesce(max(ended) OVER earlier > began + {_OVERLAP_NS}, false)
        OR coalesce(lead(began) OVER ordered + {_OVERLAP_NS} < ended, false) AS is_beside
    FROM (
        SELECT a.*, {EXECUTING} AS began, {executed_at(last)} AS ended FROM attempts a
        WHERE worker_id IN (SELECT worker_id FROM wanted) AND worker_id IN (SELECT worker_id FROM actors)
            AND {EXECUTING} IS NOT NULL
    ) c
    WINDOW ordered AS (PARTITION BY worker_id ORDER BY began, ended, task_hi, task_lo),
        earlier AS (ordered ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), held AS (
    SELECT * FROM own
    UNION ALL
    SELECT a.task_hi, a.task_lo, a.attempt, r.node_id, r.pid, a.began, a.ended, r.gpus, r.by_position,
        a.is_beside
    FROM calls a JOIN actors r USING (actor_id, worker_id) WHERE {chosen}
), {_USE}
SELECT task_hi, task_lo, attempt, {_TOTALS} FROM used GROUP BY task_hi, task_lo, attempt
"""


def of_actors(last: str | int, chosen: str = "true") -> str:
    """SQL for the use by actors: ``actor_id`` and :data:`COLUMNS`, over all of their workers.

    ``chosen``: condition for rows ``a`` of ``attempts``.
    """
    return f"""
WITH {_actors(last, chosen)}, held AS (SELECT *, false AS is_beside FROM actors), {_USE}
SELECT actor_id, {_TOTALS} FROM used GROUP BY actor_id
"""


def _actors(last: str | int, chosen: str = "true") -> str:
    """CTEs ``spans`` (the GPUs that the tracer reported) and ``actors`` (a row for each worker of an actor
    with GPUs).

    The GCS numbers the GPUs of a node from 0, whatever its CUDA_VISIBLE_DEVICES: ``by_position``.
    """
    return f"""
spans AS MATERIALIZED (
    SELECT task_hi, task_lo, attempt, arg_max({GPUS_OF_SPAN}, begin_ns) AS gpus
    FROM span_rows s WHERE {REPORTED_GPUS} GROUP BY task_hi, task_lo, attempt
), actors AS MATERIALIZED (
    SELECT a.actor_id, a.worker_id, a.node_id, a.worker_pid AS pid, {EXECUTING} AS began,
        greatest({EXECUTING}, least(coalesce(w.end_ns, {last}), coalesce(r.end_ns, {last}))) AS ended,
        coalesce(s.gpus, CASE WHEN r.worker_id = a.worker_id
            THEN json_extract_string(r.doc, '$[3].gpus') END) AS gpus, s.gpus IS NULL AS by_position
    FROM attempts a JOIN actor_rows r ON r.id = a.actor_id LEFT JOIN worker_rows w ON w.id = a.worker_id
    LEFT JOIN spans s USING (task_hi, task_lo, attempt)
    WHERE a.type = 'ACTOR_CREATION_TASK' AND {holds_gpus("r")}
        AND {EXECUTING} IS NOT NULL AND {chosen}
)"""


#: CTEs from ``held`` (what holds which GPUs, from when to when) to ``used`` (its use of each GPU).
_USE = """devices AS (
    SELECT DISTINCT ON (node_id, gpu_uuid) node_id, gpu_uuid, gpu_index::VARCHAR AS number,
        ray_index::VARCHAR AS place
    FROM gpu_sample_rows ORDER BY node_id, gpu_uuid, begin_ns DESC
), shares AS (
    SELECT h.* EXCLUDE (gpus), TRY_CAST(json_extract_string(gpus, '$."' || name || '"') AS DOUBLE) AS share
    FROM (SELECT *, unnest(coalesce(json_keys(gpus), [NULL])) AS name, row_number() OVER () AS row_number
        FROM held WHERE began IS NOT NULL AND ended >= began) h
), holdings AS (
    SELECT s.*, d.gpu_uuid FROM shares s LEFT JOIN devices d ON d.node_id = s.node_id AND (
        s.name = CASE WHEN s.by_position THEN d.place ELSE d.number END
        OR (starts_with(s.name, 'GPU-') AND starts_with(d.gpu_uuid, s.name)))
), batches AS MATERIALIZED (
    SELECT h.row_number, h.name, h.began, h.ended, h.share, h.pid, u.rowid AS batch, u.begin_ns, u.problem,
        u.busy_ns, u.measured_ns, u.memory_peak_bytes,
        h.share >= 1 AND u.begin_ns >= h.began AND u.end_ns <= h.ended AS is_within
    FROM holdings h JOIN gpu_sample_rows u ON u.node_id = h.node_id AND u.gpu_uuid = h.gpu_uuid
        AND u.begin_ns < h.ended AND u.end_ns > h.began
), samples AS (
    SELECT row_number, name, began, ended, begin_ns + 1000000 * one[1]::BIGINT AS since,
        begin_ns + 1000000 * one[2]::BIGINT AS until, one[3] AS percent, NULL::BIGINT AS memory,
        false AS is_named
    FROM (SELECT b.*, unnest(u.samples::DOUBLE[][]) AS one FROM batches b
        JOIN gpu_sample_rows u ON u.rowid = b.batch WHERE b.share >= 1 AND NOT b.is_within)
    UNION ALL
    SELECT row_number, name, began, ended, begin_ns + 1000000 * one[3]::BIGINT,
        begin_ns + 1000000 * one[4]::BIGINT, CASE WHEN json_type(one[5]) = 'OBJECT' AND share < 1
            THEN coalesce((one[5]->>('$."' || pid || '"[0]'))::DOUBLE, 0) END,
        CASE WHEN begin_ns + 1000000 * one[1]::BIGINT NOT BETWEEN began AND ended THEN NULL
            WHEN share >= 1 THEN one[2]::BIGINT ELSE (one[5]->>('$."' || pid || '"[1]'))::BIGINT END,
        json_exists(one[5], '$."' || pid || '"')
    FROM (SELECT b.*, unnest(u.looks::JSON[][]) AS one FROM batches b
        JOIN gpu_sample_rows u ON u.rowid = b.batch WHERE NOT b.is_within)
), sums AS (
    SELECT row_number, name, sum(during) AS measured, sum(busy) AS busy, max(memory) AS memory,
        bool_or(is_named) AS is_named
    FROM (
        SELECT row_number, name, measured_ns AS during, busy_ns AS busy, memory_peak_bytes AS memory,
            false AS is_named
        FROM batches WHERE is_within
        UNION ALL
        SELECT row_number, name, CASE WHEN percent IS NOT NULL THEN during END, during * percent / 100,
            memory, is_named AND during > 0
        FROM (SELECT *, greatest(0, least(until, ended) - greatest(since, began)) AS during FROM samples)
    )
    GROUP BY row_number, name
), problems AS (
    SELECT row_number, name, max(problem) AS problem FROM batches GROUP BY row_number, name
), used AS (
    SELECT h.* EXCLUDE (share), CASE
        WHEN starts_with(h.name, 'MIG-') OR p.problem = 'mig' THEN 'mig'
        WHEN h.share IS NULL OR p.row_number IS NULL THEN 'unmeasured'
        WHEN h.is_beside THEN 'shared'
        WHEN s.measured > 0 AND h.share >= 1 THEN 'own'
        -- The GPU may be in use by a process that this one started.
        WHEN s.measured > 0 AND s.is_named THEN 'process'
        WHEN h.share < 1 THEN 'shared'
        WHEN p.problem IS NOT NULL THEN p.problem
        ELSE 'unmeasured' END AS scope, s.measured, s.busy, s.memory
    FROM holdings h LEFT JOIN sums s USING (row_number, name) LEFT JOIN problems p USING (row_number, name)
)"""
_RANK = f"list_position({[*SCOPES]}, scope)"
_IS_KNOWN = f"max({_RANK}) <= 2"
_HELD = "sum(ended - began)"
_MEASURED = f"least(sum(measured), {_HELD})"
_TOTALS = f"""arg_max(scope, {_RANK}) AS gpu_scope,
    CASE WHEN {_IS_KNOWN} THEN least(sum(busy), {_MEASURED})::BIGINT END AS gpu_busy_ns,
    CASE WHEN {_IS_KNOWN} THEN {_MEASURED}::BIGINT END AS gpu_measured_ns,
    CASE WHEN count(name) = count(*) THEN {_HELD}::BIGINT END AS gpu_held_ns,
    CASE WHEN {_IS_KNOWN} THEN max(memory)::BIGINT END AS gpu_memory_peak_bytes"""
