"""SQL for Ray Data's warnings: tasks of an operator that hang or use much memory, according to its detectors.

For each dataset, operator and kind of issue, the tracer reports the first warning
(:mod:`rayscope.tracer.data`).
"""

from __future__ import annotations

from rayscope.storage.sql.execution import IS_USERS_SPAN

#: Query for (time_ns, job_id, dataset_id, operator, issue, message). ``dataset_id`` is NULL in older records.
DATA_ISSUES = f"""
SELECT time_ns, job_id, json_extract_string(extra, '$.dataset') AS dataset_id,
    json_extract_string(extra, '$.place') AS operator, json_extract_string(extra, '$.issue') AS issue,
    json_extract_string(extra, '$.message') AS message
FROM (SELECT begin_ns AS time_ns, right(task_lo, 8) AS job_id,
        CASE WHEN json_valid(extra) THEN extra END AS extra
    FROM span_rows WHERE name = 'data_issue' AND NOT {IS_USERS_SPAN})
WHERE operator IS NOT NULL
"""
