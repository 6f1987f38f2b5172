/**
 * Texts for error codes where the UI's words differ from the server's, which are for all clients. Other messages
 * are shown as the server sends them (see ui/useServerMessage.ts).
 */
export const enServerMessages = {
  serverMessage: {
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
    session_live: {
      message: 'This session is still being recorded.',
      remedy: 'Stop its cluster and wait half a minute, or run `rayscope sessions delete SESSION --force`.',
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
    http_502: {
      message: 'The proxy could not reach the server.',
      remedy: 'Check that `rayscope` is still running. This page reconnects automatically.',
    },
    http_504: {
      message: 'The proxy got no response from the server in time.',
      remedy: 'Check that `rayscope` is still running. This page reconnects automatically.',
    },
  },
};
