/** What the server says of what went wrong, by its code (see components/useTold.ts). */
export const enTold = {
  told: {
    server: {
      not_found_session: {
        message: 'No session {{id}} is recorded here.',
        remedy: 'The list of sessions shows what is.',
      },
      not_found_task: {
        message: 'No task {{id}} in this session.',
        remedy:
          'It may be on its way: the record is some seconds behind. Else look for it in another session.',
      },
      not_found_actor: {
        message: 'No actor {{id}} in this session.',
        remedy: 'The list of actors shows all that are on record.',
      },
      not_found_worker: {
        message: 'No worker {{id}} in this session.',
        remedy: 'The list of workers shows all that are on record.',
      },
      not_found_node: {
        message: 'No node {{id}} in this session.',
        remedy: 'The list of nodes shows all that are on record.',
      },
      not_found_job: {
        message: 'No job {{id}} in this session.',
        remedy: 'The list of jobs shows all that are on record.',
      },
      not_found_placement_group: {
        message: 'No placement group {{id}} in this session.',
        remedy: 'The list of placement groups shows all that are on record.',
      },
      busy: {
        message: 'The server does the same for others just now.',
        remedy: 'Try again in some seconds.',
      },
      locked: {
        message: 'The record is in use by another process.',
        remedy: 'Stop the other Rayscope server on this data directory, or use another --data-dir.',
      },
      full: {
        message: 'The disk of the record is full.',
        remedy: 'Free some space; recording resumes by itself.',
      },
      memory: {
        message: 'The record needs more memory than it may have.',
        remedy: 'Raise RAYSCOPE_MEMORY_LIMIT and restart; nothing is lost meanwhile.',
      },
      newer: {
        message: 'The record was written by a newer Rayscope.',
        remedy: 'Upgrade: pip install -U rayscope',
      },
      unauthenticated: {
        message: 'The GCS at {{address}} refused our token, or wants one.',
        remedy: 'Set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to the file with the cluster’s token.',
      },
      not_gcs: {
        message: 'The service at {{address}} is not the GCS of a Ray cluster.',
        remedy:
          'Give the GCS address of the head node, usually port 6379; if it is that, wait until the head node has started.',
      },
      deadline: {
        message: 'The GCS at {{address}} did not answer within {{seconds}} s.',
        remedy: 'It is overloaded, or a firewall drops the packets: try again, or from the head node.',
      },
      unreachable: {
        message: 'Cannot reach a Ray GCS at {{address}}.',
        remedy: 'Check that the cluster runs, and that this is the address that `ray start --head` printed.',
      },
      no_job_api: {
        message: 'This session’s cluster is gone, or its dashboard (which has Ray’s job API) is not known.',
        remedy:
          'Jobs can be submitted, stopped and deleted while the cluster runs with a dashboard: pip install "ray[default]" there, and do not start it with --include-dashboard=false.',
      },
      needs_operator: {
        message: 'This needs the operator’s token.',
        remedy: '`rayscope operator` prints it on the server’s machine.',
      },
      wrong_operator_token: {
        message: 'That is not the operator’s token.',
        remedy: '`rayscope operator` prints it on the server’s machine.',
      },
      bad_host: {
        message: 'This server is not known by the name in the address bar.',
        remedy: 'Call it by its IP address or localhost, or allow the name with RAYSCOPE_ALLOWED_HOSTS.',
      },
      usage_unheard: {
        message: 'What this cluster’s machines use is not heard of.',
        remedy: 'It is told by a cluster that lives and whose GCS this server reaches.',
      },
      usage_died: {
        message: 'It died before this server heard from it.',
        remedy: 'What it used is kept from when this server listens, as long as it runs.',
      },
      usage_none_yet: {
        message: 'The node has told nothing yet.',
        remedy: 'Each node’s agent tells every 5 s. Agents need ray[default]; see dashboard_agent.log there.',
      },
      collector_no_gcs: {
        message: 'The cluster’s GCS is not being read.',
        remedy: 'Name its address: rayscope attach ADDRESS',
      },
      collector_no_node: {
        message: 'No node’s metrics can be read; {{said}}.',
        remedy:
          'Ray’s dashboard agent serves them on each node: check that it runs (dashboard_agent.log) and that this machine reaches the nodes’ metrics_export_port.',
      },
      collector_some_nodes: {
        message: '{{number}} of {{whole}} nodes cannot be read; {{said}}.',
        remedy:
          'Ray’s dashboard agent serves them on each node: check that it runs (dashboard_agent.log) and that this machine reaches the nodes’ metrics_export_port.',
      },
      collector_late: {
        message: 'It has not answered for {{seconds}} s (it may take {{limit}} s).',
        remedy: 'It is asked again when it has; the other collectors go on.',
      },
      collector_too_much: {
        message: 'It tells more than {{limit}} samples.',
        remedy: 'Let it tell less.',
      },
      collector_no_sample: {
        message: '{{sample}} is no sample: {{reason}}.',
        remedy: 'Make it with rayscope.metrics.collector.sample().',
      },
      collector_broken: {
        message: '{{reason}}',
        remedy: 'Mend or uninstall the package that brings it, then restart the server.',
      },
      http_502: {
        message: 'The proxy in between cannot reach the server.',
        remedy: 'Check that `rayscope` still runs. This page comes back by itself.',
      },
      http_504: {
        message: 'The proxy in between had no answer from the server in time.',
        remedy: 'Check that `rayscope` still runs. This page comes back by itself.',
      },
    },
    agent: {
      no_agent: {
        message: 'The node has no dashboard agent, or none yet.',
        remedy:
          'While the node starts: try again. Else see dashboard_agent.log there; agents need ray[default].',
      },
      unreachable: {
        message: 'The node cannot be reached.',
        remedy: 'Check that it runs, and that this server can reach its ports.',
      },
      unauthenticated: {
        message: 'The node refused our token.',
        remedy: 'Attach with Ray’s token, or set RAY_AUTH_TOKEN for this server.',
      },
      timeout: {
        message: 'The node did not answer in time.',
        remedy: 'It is overloaded or unreachable: try again.',
      },
      deadline: {
        message: 'The cluster did not answer in time.',
        remedy: 'It is overloaded or unreachable: try again.',
      },
      gone: {
        message: 'The node has no such file any more.',
        remedy: 'What was kept of it is shown.',
      },
      not_asked: {
        message: 'This node was not asked yet.',
        remedy: 'Choose it to list its files.',
      },
    },
  },
};
