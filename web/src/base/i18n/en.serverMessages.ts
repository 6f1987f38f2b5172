/** Texts for the server's error codes (see ui/useServerMessage.ts). */
export const enServerMessages = {
  serverMessage: {
    server: {
      not_found_session: {
        message: 'Session {{id}} not found.',
        remedy: 'See the list of sessions.',
      },
      not_found_task: {
        message: 'Task {{id}} not found in this session.',
        remedy:
          'It may appear shortly: the record is a few seconds behind. Otherwise, look in another session.',
      },
      not_found_actor: {
        message: 'Actor {{id}} not found in this session.',
        remedy: 'See the list of actors.',
      },
      not_found_worker: {
        message: 'Worker {{id}} not found in this session.',
        remedy: 'See the list of workers.',
      },
      not_found_node: {
        message: 'Node {{id}} not found in this session.',
        remedy: 'See the list of nodes.',
      },
      not_found_job: {
        message: 'Job {{id}} not found in this session.',
        remedy: 'See the list of jobs.',
      },
      not_found_placement_group: {
        message: 'Placement group {{id}} not found in this session.',
        remedy: 'See the list of placement groups.',
      },
      not_found_log_file: {
        message: 'The node no longer has the log file {{id}}, and no copy was kept.',
        remedy: 'Choose another file. RAYSCOPE_KEEP_LOGS says which logs are kept.',
      },
      bad_query_yaml: { message: 'It is not valid YAML: {{reason}}.', remedy: 'Fix or remove it.' },
      bad_query_rule_file: {
        message: 'It must be a mapping with {{keys}}.',
        remedy: 'See docs/reference/alerts.md.',
      },
      bad_query_rule_text: {
        message: 'Could not read it: {{reason}}',
        remedy: 'Check that it is UTF-8 text.',
      },
      bad_query_rule: { message: 'Rule {{id}} not found.', remedy: 'See the list of rules.' },
      bad_query_rule_keys: { message: 'Unknown keys: {{keys}}.', remedy: 'Known keys: {{known}}.' },
      bad_query_rule_condition: {
        message: 'A rule needs `expr`, or `metric`, `op`, and `threshold`.',
        remedy: '`metric` must be a selector, `op` one of {{operators}}, and `threshold` a number.',
      },
      bad_query_simple_rule: {
        message: 'A rule needs `expr`; this one has `metric`, `operator`, and `threshold`.',
        remedy: 'Write:\n{{yaml}}',
      },
      bad_query_duration: {
        message: '{{text}} is not a duration.',
        remedy: 'Use the form 30s, 5m, or 1h30m.',
      },
      session_live: {
        message: 'This session is still being recorded.',
        remedy: 'Stop its cluster and wait half a minute, or run `rayscope sessions delete SESSION --force`.',
      },
      session_in_use: {
        message: 'Somebody is reading this session.',
        remedy: 'Try again in a few seconds.',
      },
      busy: {
        message: 'The server is busy with other requests of this kind.',
        remedy: 'Try again in a few seconds.',
      },
      locked: {
        message: 'The record is in use by another process.',
        remedy: 'Stop the other Rayscope server on this data directory, or use another --data-dir.',
      },
      full: {
        message: 'The disk that holds the record is full.',
        remedy: 'Free some space; recording resumes automatically.',
      },
      memory: {
        message: 'The record needs more memory than allowed.',
        remedy: 'Raise RAYSCOPE_MEMORY_LIMIT and restart. No data is lost in the meantime.',
      },
      newer: {
        message: 'The record was written by a newer Rayscope.',
        remedy: 'Upgrade: pip install -U rayscope',
      },
      unauthenticated: {
        message: 'The GCS at {{address}} rejected the token, or requires one.',
        remedy: "Set RAY_AUTH_TOKEN, or set RAY_AUTH_TOKEN_PATH to the file with the cluster's token.",
      },
      not_gcs: {
        message: 'The service at {{address}} is not a Ray GCS.',
        remedy:
          'Use the GCS address of the head node (usually port 6379). If that is what you gave, wait until the head node has started.',
      },
      deadline: {
        message: 'The GCS at {{address}} did not respond within {{seconds}} s.',
        remedy: 'It is overloaded, or a firewall drops the packets. Try again, or run this on the head node.',
      },
      unreachable: {
        message: 'Could not reach a Ray GCS at {{address}}.',
        remedy:
          'Check that the cluster is running, and that this is the address that `ray start --head` printed.',
      },
      no_job_api: {
        message:
          "The cluster of this session has ended, or its dashboard (which serves Ray's job API) is unknown.",
        remedy:
          'Jobs can be submitted, stopped, and deleted while the cluster runs with a dashboard: run pip install "ray[default]" there, and do not start it with --include-dashboard=false.',
      },
      needs_operator: {
        message: 'This needs the operator token.',
        remedy: 'Run `rayscope token` on the server to get it.',
      },
      wrong_operator_token: {
        message: 'Wrong operator token.',
        remedy: 'Run `rayscope token` on the server to get it.',
      },
      bad_host: {
        message: 'The server does not accept requests for the host name in the address bar.',
        remedy: 'Use the IP address or localhost, or allow the name with RAYSCOPE_ALLOWED_HOSTS.',
      },
      usage_unheard: {
        message: "The utilization of this cluster's nodes is unknown.",
        remedy: 'It is available while the cluster is running and this server can reach its GCS.',
      },
      usage_died: {
        message: 'The node died before this server received its utilization.',
        remedy: 'Utilization is kept only while this server is running and listening.',
      },
      usage_none_yet: {
        message: 'The node has not reported anything yet.',
        remedy:
          "Each node's agent reports every 5 s. Agents need ray[default]; see dashboard_agent.log on the node.",
      },
      collector_no_gcs: {
        message: "The cluster's GCS is not being read.",
        remedy: 'Give its address: rayscope attach ADDRESS',
      },
      collector_no_node: {
        message: "No node's metrics could be read: {{said}}.",
        remedy:
          "They are served by Ray's dashboard agent on each node. Check that it is running (dashboard_agent.log) and that this machine can reach the nodes' metrics_export_port.",
      },
      collector_some_nodes: {
        message: '{{number}} of {{whole}} nodes could not be read: {{said}}.',
        remedy:
          "Their metrics are served by Ray's dashboard agent on each node. Check that it is running (dashboard_agent.log) and that this machine can reach the nodes' metrics_export_port.",
      },
      collector_head: {
        message: 'The metrics of the autoscaler or of the dashboard could not be read: {{said}}.',
        remedy: 'Allow this machine to reach that port of the head node.',
      },
      collector_late: {
        message: 'Timed out: no answer for {{seconds}} s (the limit is {{limit}} s).',
        remedy: 'It is queried again once it has answered. Other collectors are not affected.',
      },
      collector_too_much: {
        message: 'More than {{limit}} samples.',
        remedy: 'Make the collector return fewer samples.',
      },
      collector_no_sample: {
        message: '{{sample}} is not a sample: {{reason}}.',
        remedy: 'Create samples with rayscope.metrics.collector.sample().',
      },
      collector_broken: {
        message: '{{reason}}',
        remedy: 'Fix or uninstall the package that provides it, then restart the server.',
      },
      http_502: {
        message: 'The proxy could not reach the server.',
        remedy: 'Check that `rayscope` is still running. This page reconnects automatically.',
      },
      http_504: {
        message: 'The proxy got no response from the server in time.',
        remedy: 'Check that `rayscope` is still running. This page reconnects automatically.',
      },
    },
    agent: {
      no_agent: {
        message: 'The node has no dashboard agent, or it is not running yet.',
        remedy:
          'If the node is starting, try again. Otherwise, see dashboard_agent.log there; agents need ray[default].',
      },
      unreachable: {
        message: 'Could not reach the node.',
        remedy: 'Check that it is running and that this server can reach its ports.',
      },
      unauthenticated: {
        message: 'The node rejected the token.',
        remedy: 'Attach with Ray’s token, or set RAY_AUTH_TOKEN for this server.',
      },
      timeout: {
        message: 'The node did not respond in time.',
        remedy: 'It is overloaded or unreachable. Try again.',
      },
      deadline: {
        message: 'The cluster did not respond in time.',
        remedy: 'It is overloaded or unreachable. Try again.',
      },
      gone: {
        message: 'The file no longer exists on the node.',
        remedy: 'Showing the kept copy.',
      },
      not_asked: {
        message: "This node's files have not been listed yet.",
        remedy: 'Choose the node to list its files.',
      },
    },
  },
};
