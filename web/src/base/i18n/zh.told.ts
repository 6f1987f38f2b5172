export const zhTold = {
  told: {
    server: {
      not_found_session: {
        message: '这里没有会话 {{id}} 的记录。',
        remedy: '会话列表中是全部已记录的会话。',
      },
      not_found_task: {
        message: '此会话中没有任务 {{id}}。',
        remedy: '它可能还在路上：记录有几秒延迟。否则请到其他会话中查找。',
      },
      not_found_actor: {
        message: '此会话中没有 Actor {{id}}。',
        remedy: 'Actor 列表中是全部已记录的 Actor。',
      },
      not_found_worker: {
        message: '此会话中没有 Worker {{id}}。',
        remedy: 'Worker 列表中是全部已记录的 Worker。',
      },
      not_found_node: { message: '此会话中没有节点 {{id}}。', remedy: '节点列表中是全部已记录的节点。' },
      not_found_job: { message: '此会话中没有作业 {{id}}。', remedy: '作业列表中是全部已记录的作业。' },
      not_found_placement_group: {
        message: '此会话中没有放置组 {{id}}。',
        remedy: '放置组列表中是全部已记录的放置组。',
      },
      busy: { message: '服务器正在为他人处理同样的请求。', remedy: '请几秒后重试。' },
      locked: {
        message: '记录正被另一个进程使用。',
        remedy: '请停止使用此数据目录的另一个 Rayscope 服务器，或用 --data-dir 指定其他目录。',
      },
      full: { message: '记录所在的磁盘已满。', remedy: '请腾出一些空间；记录会自动继续。' },
      memory: {
        message: '读取记录所需的内存超出了允许的上限。',
        remedy: '请调高 RAYSCOPE_MEMORY_LIMIT 并重启；期间不会丢失任何数据。',
      },
      newer: { message: '记录由更新版本的 Rayscope 写入。', remedy: '请升级：pip install -U rayscope' },
      unauthenticated: {
        message: '{{address}} 的 GCS 拒绝了我们的令牌，或需要令牌。',
        remedy: '请设置 RAY_AUTH_TOKEN，或让 RAY_AUTH_TOKEN_PATH 指向存有集群令牌的文件。',
      },
      not_gcs: {
        message: '{{address}} 上的服务不是 Ray 集群的 GCS。',
        remedy: '请给出头节点的 GCS 地址（端口通常为 6379）；如果地址无误，请等待头节点启动完成。',
      },
      deadline: {
        message: '{{address}} 的 GCS 在 {{seconds}} 秒内没有应答。',
        remedy: '它可能过载，或被防火墙丢弃了数据包：请重试，或在头节点上运行。',
      },
      unreachable: {
        message: '无法连接 {{address}} 的 Ray GCS。',
        remedy: '请确认集群正在运行，且这就是 `ray start --head` 打印的地址。',
      },
      no_job_api: {
        message: '此会话的集群已经不在，或不知道它的 dashboard（Ray 的作业 API 由它提供）。',
        remedy:
          '只有集群在运行且带有 dashboard 时才能提交、停止和删除作业：请在那里执行 pip install "ray[default]"，并且不要用 --include-dashboard=false 启动。',
      },
      needs_operator: {
        message: '此操作需要操作员令牌。',
        remedy: '在服务器所在的机器上执行 `rayscope operator` 可打印它。',
      },
      wrong_operator_token: {
        message: '这不是操作员令牌。',
        remedy: '在服务器所在的机器上执行 `rayscope operator` 可打印它。',
      },
      bad_host: {
        message: '服务器不认识地址栏中的主机名。',
        remedy: '请用 IP 地址或 localhost 访问，或用 RAYSCOPE_ALLOWED_HOSTS 允许此名称。',
      },
      usage_unheard: {
        message: '没有听到此集群的机器使用了什么。',
        remedy: '只有存活且本服务器能访问其 GCS 的集群才会告知。',
      },
      usage_died: {
        message: '它在本服务器听到它的消息之前就已死亡。',
        remedy: '从本服务器开始监听起，只要它在运行，节点的使用情况就会保留。',
      },
      usage_none_yet: {
        message: '该节点还没有告知任何信息。',
        remedy: '每个节点的 agent 每 5 秒告知一次。agent 需要 ray[default]；请看那里的 dashboard_agent.log。',
      },
      collector_no_gcs: {
        message: '没有在读取该集群的 GCS。',
        remedy: '请给出它的地址：rayscope attach ADDRESS',
      },
      collector_no_node: {
        message: '所有节点的指标都无法读取；{{said}}。',
        remedy:
          '指标由每个节点上的 Ray dashboard agent 提供：请确认它在运行（dashboard_agent.log），且本机能访问各节点的 metrics_export_port。',
      },
      collector_some_nodes: {
        message: '{{whole}} 个节点中有 {{number}} 个无法读取；{{said}}。',
        remedy:
          '指标由每个节点上的 Ray dashboard agent 提供：请确认它在运行（dashboard_agent.log），且本机能访问各节点的 metrics_export_port。',
      },
      collector_late: {
        message: '它已有 {{seconds}} 秒没有应答（上限为 {{limit}} 秒）。',
        remedy: '应答后会再次询问；其他采集器不受影响。',
      },
      collector_too_much: {
        message: '它给出的样本超过 {{limit}} 个。',
        remedy: '请让它少给一些。',
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
        message: '中间的代理无法连接服务器。',
        remedy: '请确认 `rayscope` 仍在运行。恢复后本页会自动更新。',
      },
      http_504: {
        message: '中间的代理未及时收到服务器的应答。',
        remedy: '请确认 `rayscope` 仍在运行。恢复后本页会自动更新。',
      },
    },
    agent: {
      no_agent: {
        message: '该节点没有 dashboard agent，或尚未就绪。',
        remedy: '节点正在启动时请重试；否则请看该节点的 dashboard_agent.log。agent 需要 ray[default]。',
      },
      unreachable: { message: '无法连接该节点。', remedy: '请确认它正在运行，且本服务器能访问它的端口。' },
      unauthenticated: {
        message: '该节点拒绝了我们的令牌。',
        remedy: '请用 Ray 的令牌连接，或为本服务器设置 RAY_AUTH_TOKEN。',
      },
      timeout: { message: '该节点未及时应答。', remedy: '它可能过载或无法访问：请重试。' },
      deadline: { message: '集群未及时应答。', remedy: '它可能过载或无法访问：请重试。' },
      gone: { message: '该节点上已没有这个文件。', remedy: '显示的是已保存的部分。' },
      not_asked: { message: '还没有询问该节点。', remedy: '选择它即可列出它的文件。' },
    },
  },
};
