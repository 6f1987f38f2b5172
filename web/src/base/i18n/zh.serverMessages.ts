export const zhServerMessages = {
  serverMessage: {
    server: {
      not_found_session: {
        message: '会话 {{id}} 不存在。',
        remedy: '请查看会话列表。',
      },
      not_found_task: {
        message: '此会话中没有任务 {{id}}。',
        remedy: '它可能稍后出现：记录有几秒延迟。否则请到其他会话中查找。',
      },
      not_found_actor: {
        message: '此会话中没有 Actor {{id}}。',
        remedy: '请查看 Actor 列表。',
      },
      not_found_worker: {
        message: '此会话中没有 Worker {{id}}。',
        remedy: '请查看 Worker 列表。',
      },
      not_found_node: { message: '此会话中没有节点 {{id}}。', remedy: '请查看节点列表。' },
      not_found_job: { message: '此会话中没有作业 {{id}}。', remedy: '请查看作业列表。' },
      not_found_placement_group: {
        message: '此会话中没有放置组 {{id}}。',
        remedy: '请查看放置组列表。',
      },
      not_found_log_file: {
        message: '节点上已没有日志文件 {{id}}，也未保留副本。',
        remedy: '请选择其他文件。保留哪些日志由 RAYSCOPE_KEEP_LOGS 决定。',
      },
      bad_query_yaml: { message: '不是有效的 YAML：{{reason}}。', remedy: '请修正或删除它。' },
      bad_query_rule_file: {
        message: '它必须是含有 {{keys}} 的映射。',
        remedy: '见 docs/reference/alerts.md。',
      },
      bad_query_rule_text: { message: '无法读取：{{reason}}', remedy: '请确认它是 UTF-8 文本。' },
      bad_query_rule: { message: '规则 {{id}} 不存在。', remedy: '请查看规则列表。' },
      bad_query_rule_keys: { message: '未知的键：{{keys}}。', remedy: '可用的键：{{known}}。' },
      bad_query_rule_condition: {
        message: '规则需要 `expr`，或者 `metric`、`op` 和 `threshold`。',
        remedy: '`metric` 须为选择器，`op` 为 {{operators}} 之一，`threshold` 为数字。',
      },
      bad_query_simple_rule: {
        message: '规则需要 `expr`，而这条规则写的是 `metric`、`operator` 和 `threshold`。',
        remedy: '请写成：\n{{yaml}}',
      },
      bad_query_duration: { message: '{{text}} 不是时长。', remedy: '请写成 30s、5m 或 1h30m。' },
      session_live: {
        message: '该会话仍在记录中。',
        remedy: '请停止其集群并等待半分钟，或运行 `rayscope sessions delete SESSION --force`。',
      },
      session_in_use: { message: '有人正在读取该会话。', remedy: '请几秒后重试。' },
      busy: { message: '服务器正忙于处理同类请求。', remedy: '请几秒后重试。' },
      locked: {
        message: '记录正被另一个进程使用。',
        remedy: '请停止使用此数据目录的另一个 Rayscope 服务器，或用 --data-dir 指定其他目录。',
      },
      full: { message: '记录所在的磁盘已满。', remedy: '请腾出一些空间；记录会自动恢复。' },
      memory: {
        message: '读取记录所需的内存超出了允许的上限。',
        remedy: '请调高 RAYSCOPE_MEMORY_LIMIT 并重启；期间不会丢失任何数据。',
      },
      newer: { message: '记录由更新版本的 Rayscope 写入。', remedy: '请升级：pip install -U rayscope' },
      unauthenticated: {
        message: '{{address}} 的 GCS 拒绝了令牌，或需要令牌。',
        remedy: '请设置 RAY_AUTH_TOKEN，或让 RAY_AUTH_TOKEN_PATH 指向存有集群令牌的文件。',
      },
      not_gcs: {
        message: '{{address}} 上的服务不是 Ray 的 GCS。',
        remedy: '请给出头节点的 GCS 地址（端口通常为 6379）；如果地址无误，请等待头节点启动完成。',
      },
      deadline: {
        message: '{{address}} 的 GCS 在 {{seconds}} 秒内没有响应。',
        remedy: '它可能过载，或被防火墙丢弃了数据包：请重试，或在头节点上运行。',
      },
      unreachable: {
        message: '无法连接 {{address}} 的 Ray GCS。',
        remedy: '请确认集群正在运行，且这就是 `ray start --head` 打印的地址。',
      },
      no_job_api: {
        message: '此会话的集群已结束，或不知道它的 Dashboard（提供 Ray 的作业 API）。',
        remedy:
          '集群带 Dashboard 运行时才能提交、停止和删除作业：请在那里执行 pip install "ray[default]"，并且不要用 --include-dashboard=false 启动。',
      },
      needs_operator: {
        message: '此操作需要操作员令牌。',
        remedy: '在服务器上运行 `rayscope token` 即可获得。',
      },
      wrong_operator_token: {
        message: '操作员令牌不正确。',
        remedy: '在服务器上运行 `rayscope token` 即可获得。',
      },
      bad_host: {
        message: '服务器不接受地址栏中的主机名。',
        remedy: '请用 IP 地址或 localhost 访问，或用 RAYSCOPE_ALLOWED_HOSTS 允许此名称。',
      },
      usage_unheard: {
        message: '此集群各节点的使用率未知。',
        remedy: '只有集群在运行且本服务器能访问其 GCS 时才有数据。',
      },
      usage_died: {
        message: '该节点在本服务器收到其使用率之前已失效。',
        remedy: '只有本服务器运行并接收期间的使用率会被保留。',
      },
      usage_none_yet: {
        message: '该节点还没有上报任何数据。',
        remedy:
          '每个节点的 agent 每 5 秒上报一次。agent 需要 ray[default]；请查看该节点的 dashboard_agent.log。',
      },
      collector_no_gcs: {
        message: '没有在读取该集群的 GCS。',
        remedy: '请给出它的地址：rayscope attach ADDRESS',
      },
      collector_no_node: {
        message: '无法读取任何节点的指标：{{said}}。',
        remedy:
          '指标由每个节点上的 Ray dashboard agent 提供：请确认它在运行（dashboard_agent.log），且本机能访问各节点的 metrics_export_port。',
      },
      collector_some_nodes: {
        message: '{{whole}} 个节点中有 {{number}} 个无法读取：{{said}}。',
        remedy:
          '指标由每个节点上的 Ray dashboard agent 提供：请确认它在运行（dashboard_agent.log），且本机能访问各节点的 metrics_export_port。',
      },
      collector_head: {
        message: '无法读取 autoscaler 或 dashboard 的指标：{{said}}。',
        remedy: '请让本机能够访问头节点的该端口。',
      },
      collector_late: {
        message: '超时：已有 {{seconds}} 秒没有响应（上限为 {{limit}} 秒）。',
        remedy: '响应后会再次读取；其他采集器不受影响。',
      },
      collector_too_much: {
        message: '样本超过 {{limit}} 个。',
        remedy: '请让该采集器返回更少的样本。',
      },
      collector_no_sample: {
        message: '{{sample}} 不是样本：{{reason}}。',
        remedy: '请用 rayscope.metrics.collector.sample() 生成。',
      },
      collector_broken: {
        message: '{{reason}}',
        remedy: '请修复或卸载提供它的软件包，然后重启服务器。',
      },
      http_502: {
        message: '代理无法连接服务器。',
        remedy: '请确认 `rayscope` 仍在运行。恢复后本页会自动重连。',
      },
      http_504: {
        message: '代理没有及时收到服务器的响应。',
        remedy: '请确认 `rayscope` 仍在运行。恢复后本页会自动重连。',
      },
    },
    agent: {
      no_agent: {
        message: '该节点没有 dashboard agent，或它尚未运行。',
        remedy: '如果节点正在启动，请重试；否则请查看该节点的 dashboard_agent.log。agent 需要 ray[default]。',
      },
      unreachable: { message: '无法连接该节点。', remedy: '请确认它正在运行，且本服务器能访问它的端口。' },
      unauthenticated: {
        message: '该节点拒绝了令牌。',
        remedy: '请用 Ray 的令牌连接，或为本服务器设置 RAY_AUTH_TOKEN。',
      },
      timeout: { message: '该节点没有及时响应。', remedy: '它可能过载或无法访问：请重试。' },
      deadline: { message: '集群没有及时响应。', remedy: '它可能过载或无法访问：请重试。' },
      gone: { message: '该文件在节点上已不存在。', remedy: '显示的是保留的副本。' },
      not_asked: { message: '尚未列出该节点的文件。', remedy: '选择该节点即可列出其文件。' },
    },
  },
};
