"""SQL for platform events: what happened, in Kubernetes' own words for the state of a pod, and where."""

from __future__ import annotations

#: SQL for what happened. Some of it is only in the message: Kubernetes has no event of a container that ran
#: out of memory, but KubeRay's message about the deleted pod says so.
WHAT = """
CASE WHEN reason IN ('OOMKilling', 'SystemOOM') OR contains(message, 'OOMKilled') THEN 'OOMKilled'
    WHEN reason = 'BackOff' AND contains(message, 'pulling image') THEN 'ImagePullBackOff'
    WHEN reason = 'BackOff' THEN 'CrashLoopBackOff'
    WHEN reason = 'Failed' AND message ILIKE '%pull%image%' THEN 'ErrImagePull'
    WHEN reason = 'Failed' AND message ILIKE '%imagepull%' THEN 'ErrImagePull'
    WHEN reason = 'Preempting' THEN 'Preempted'
    ELSE reason END"""
#: SQL for the severity. Kubernetes and KubeRay report some problems as normal.
SEVERITY = f"""
CASE WHEN severity = 'INFO' AND {WHAT} IN ('OOMKilled', 'ImagePullBackOff', 'CrashLoopBackOff', 'Preempted')
    THEN 'WARNING' ELSE severity END"""
#: SQL for the node in the pod of an event ``p``. The pod's name is the host name in it, and the autoscaler's
#: ID of the node. If Ray restarted in the pod, it is the node that had started last, or the first to start.
NODE_ID = """
(SELECT coalesce(max_by(n.id, n.start_ns) FILTER (n.start_ns <= p.last_ns), min_by(n.id, n.start_ns))
FROM (SELECT DISTINCT id, start_ns, unnest([hostname, instance_id]) AS pod FROM node_rows) n
WHERE p.object_kind = 'Pod' AND n.pod = p.object_name)"""
