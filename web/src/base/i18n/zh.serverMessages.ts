/** Texts for the server's error codes (see ui/useServerMessage.ts). */
export const zhServerMessages = {
  serverMessage: {
    not_in_report: { message: '报告中没有此内容。', remedy: '请在 Rayscope 中打开该会话。' },
    not_found_session: {
      message: '会话 {{id}} 不存在。',
      remedy: '请查看会话列表。',
    },
    not_found_earlier_run: {
      message: '在 {{session}}/{{job}} 之前没有同一脚本的运行记录。',
      remedy: '请指定要比较的运行。',
    },
    not_found_run_summary: {
      message: '没有关于运行 {{session}}/{{job}} 的数据。',
      remedy: '请查看运行列表。作业结束后才会加入。',
    },
    not_found_run_group: { message: '没有 {{script}} 的运行。', remedy: '请查看运行列表。' },
    not_found_tag: {
      message: '没有运行过任务的会话带有标签 {{tag}}。',
      remedy: '用 rayscope run --tag TAG 给运行加标签，或用 rayscope sessions note --tag TAG 给会话加标签。',
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
    few_samples: {
      message: '只有 {{samples}} 个样本，不足以计算占比（至少需要 {{least}} 个）。',
      remedy: '请查看该函数的所有尝试，或使用 --samples 20 重新记录。',
    },
    profile_samples: {
      message: '该性能剖析只有 {{samples}} 个用户代码的样本（至少需要 {{least}} 个）。',
      remedy: '请在代码运行期间剖析更长时间。',
    },
    profile_pause: {
      message: '刚有告警剖析过或尝试剖析该会话，每 10 分钟最多剖析一次。',
      remedy: '请查看其他告警及其剖析，或手动采集。',
    },
    profile_failed: { message: '无法开始剖析：{{reason}}', remedy: '请查看服务器的日志。' },
    profile_gone: { message: '进程已结束。', remedy: '请剖析当前正在运行的 Worker。' },
    bad_query_profiles_full: {
      message: '该会话的剖析过多。',
      remedy: '请查看已有的剖析：GET /api/v1/profiles',
    },
    driver_untraced: {
      message: 'Driver 的追踪器没有采到样本。',
      remedy: '请记录 Driver 并开启采样：使用 `rayscope run`，不要加 --samples 0。',
    },
    bad_query_memory_driver: {
      message: '无法剖析 Driver 的内存。',
      remedy: '请在其所在处运行 `memray run`。',
    },
    bad_query_memory_seconds: { message: '内存剖析最多持续 {{limit}} 秒。', remedy: '请缩短时间。' },
    bad_query_memory_native: { message: '内存剖析不包含 C 和 C++ 栈帧。', remedy: '请去掉 native。' },
    bad_query_profile_idle: {
      message: '那里没有正在运行、可供剖析的任务。',
      remedy: '请在任务运行期间开始剖析。记录有几秒延迟。',
    },
    samples_off: {
      message: '这些尝试的进程没有采样：采样已关闭。',
      remedy: '请在不使用 --samples 0 和 RAYSCOPE_TRACE_SAMPLES=0 的情况下重新记录。',
    },
    samples_untraced: {
      message: '这些尝试的进程没有采样：其中没有运行追踪器。',
      remedy: '原因见 `rayscope doctor`。',
    },
    no_samples: {
      message: '没有这些尝试的样本。',
      remedy: '它们可能太短或尚未开始，或者其进程在上报之前就被终止了。',
    },
    bad_query_sampled_stacks: {
      message: '样本中的不同调用栈超过 {{limit}} 个。',
      remedy: '请用筛选条件缩小范围：job_id、func_name、since_ns 和 until_ns。',
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
      message: '规则需要 `expr`，而不是 `metric`、`operator` 和 `threshold`。',
      remedy: '请写成：\n{{yaml}}',
    },
    bad_query_simple_operator: {
      message: '{{operator}} 不是运算符。',
      remedy: '请使用以下之一：{{known}}。',
    },
    bad_query_rule_profile: {
      message: 'rayscope_profile 不能是 {{text}}。',
      remedy: '请使用整数秒，从 1s 到 {{limit}}s。',
    },
    bad_query_duration: { message: '{{text}} 不是时长。', remedy: '请写成 30s、5m 或 1h30m。' },
    session_live: {
      message: '该会话仍在记录中。',
      remedy: '请停止其集群并等待半分钟，或运行 `rayscope sessions delete SESSION --force`。',
    },
    session_live_export: {
      message: '该会话仍在记录中，现在导出的文件会缺少之后的内容。',
      remedy: '请停止其集群并等待半分钟。',
    },
    session_exists: {
      message: '本服务器上已有会话 {{id}}，且内容不同。',
      remedy: '请保留现有的会话，或先在此删除它，再重新打开文件。',
    },
    bad_session_file_damaged: {
      message: '无法打开该会话文件：{{reason}}。',
      remedy: '请在保存该会话的地方重新导出：`rayscope export --format session`。',
    },
    bad_session_file_newer: {
      message: '该会话文件由更新版本的 Rayscope 写入。',
      remedy: '请升级：pip install -U rayscope',
    },
    store_error_session_file: {
      message: '无法解压该会话文件：{{reason}}。',
      remedy: '请检查数据目录，然后重试。',
    },
    full_session_file: {
      message: '无法解压该会话文件：{{reason}}。',
      remedy: '请腾出一些空间，然后重试。',
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
    not_paused: {
      message: '此任务已不再等待调试器。',
      remedy: '`rayscope debug` 会列出正在等待调试器的任务。',
    },
    not_paused_no_viewer: {
      message: '网页的调试器未附加到此任务。',
      remedy: '请先加载其调用栈。',
    },
    debugger_disabled: {
      message: '此服务器不允许接入调试器。',
      remedy: '请用 --debugger（RAYSCOPE_DEBUGGER=1）启动它。',
    },
    debugger_in_use: {
      message: '已有来自 {{address}} 的调试器接入此进程。',
      remedy: '请等它离开，或放行该任务。',
    },
    debugger_unreachable: {
      message: '此任务的调试器没有正常响应。',
      remedy: '请放行该任务，或重试；也请查看其 worker，它可能已不在。',
    },
    bad_query_paused_frame: {
      message: '该栈帧已不在栈上。',
      remedy: '请重新加载调用栈。',
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
    no_agent: {
      message: '该节点没有 dashboard agent，或它尚未运行。',
      remedy: '如果节点正在启动，请重试；否则请查看该节点的 dashboard_agent.log。agent 需要 ray[default]。',
    },
    unreachable_agent: {
      message: '无法连接该节点。',
      remedy: '请确认它正在运行，且本服务器能访问它的端口。',
    },
    unauthenticated_agent: {
      message: '该节点拒绝了令牌。',
      remedy: '请用 Ray 的令牌连接，或为本服务器设置 RAY_AUTH_TOKEN。',
    },
    timeout_agent: { message: '该节点没有及时响应。', remedy: '它可能过载或无法访问：请重试。' },
    gone_log_file: { message: '该文件在节点上已不存在。', remedy: '显示的是保留的副本。' },
    not_asked: { message: '尚未列出该节点的文件。', remedy: '选择该节点即可列出其文件。' },
    timeout: { message: '超时。', remedy: '请重试，或只采样一行的栈。' },
    no_agent_not_agent: {
      message: '该端口上的服务不是 Ray 的 agent。',
      remedy: '如果节点正在启动，请重试；否则请查看该节点的 dashboard_agent.log。agent 需要 ray[default]。',
    },
    unreachable_agent_closed: { message: '与该节点 agent 的连接已关闭。', remedy: '请重试。' },
    failed_agent: {
      message: '该节点的 agent 返回了 {{answer}}。',
      remedy: '如果节点正在启动，请重试；否则请查看该节点的 dashboard_agent.log。agent 需要 ray[default]。',
    },
    no_py_spy: {
      message: '在该节点上找不到 py-spy。',
      remedy:
        '它随 ray[default] 安装。请在该节点安装，并在启动 Ray 时让 py-spy 所在目录位于 PATH 中（激活环境，或使用 `rayscope start`）。',
    },
    no_permission: {
      message: '该节点上的 py-spy 无权查看进程。',
      remedy:
        '在该节点上执行：`sudo chown root:root $(which py-spy) && sudo chmod u+s $(which py-spy)`。容器请添加 SYS_PTRACE：docker run --cap-add=SYS_PTRACE；Kubernetes 请用 securityContext.capabilities.add。',
    },
    gone_process: { message: '进程已结束。', remedy: '请重新采样。' },
    moved_on: { message: '该 Worker 已在执行其他任务：记录有几秒延迟。', remedy: '请重新采样。' },
    not_running: { message: '该 Worker 没有在执行符合筛选条件的任务。', remedy: '请选择当前栈中的行。' },
    no_process: {
      message: '尚不清楚该 Driver 的进程。',
      remedy: 'Ray 会在 Driver 启动几秒后报告其进程。请重新采样。',
    },
    idle_driver: {
      message: '根据记录（有几秒延迟），该 Driver 没有进行中的任务。',
      remedy: '请重新采样。',
    },
    unseen_driver: {
      message: '该 Driver 仍在运行，但其节点的代理看不到它的进程。',
      remedy: '该 Driver 可能在单独的容器中。请在那里执行 `py-spy dump`。',
    },
    failed_py_spy: {
      message: 'py-spy 失败：{{reason}}',
      remedy: '请重新采样，或查看该节点的 dashboard_agent.log。',
    },
    no_memray: {
      message: '在该节点上找不到 memray。',
      remedy:
        '请在该节点上 Ray 的 Python 环境中安装（`pip install memray`），并在启动 Ray 时让其所在目录位于 PATH 中（激活环境，或使用 `rayscope start`）。',
    },
    no_memray_worker: {
      message: '该 Worker 的 Python 环境中没有 memray。',
      remedy: '请把它加入运行时环境：`runtime_env={"pip": ["memray"]}`。',
    },
    no_debugger: {
      message: 'memray 需要 gdb 或 lldb，但该节点上两者都没有。',
      remedy: '请在该节点上安装其中之一，例如 `apt-get install gdb`。',
    },
    no_permission_memray: {
      message: '该节点上的 memray 无权附加到进程。',
      remedy:
        '在该节点上执行：`sudo sysctl kernel.yama.ptrace_scope=0`。容器请添加 SYS_PTRACE：docker run --cap-add=SYS_PTRACE；Kubernetes 请用 securityContext.capabilities.add。',
    },
    failed_memray: {
      message: 'memray 失败：{{reason}}',
      remedy: '请重试，或查看该节点的 dashboard_agent.log。',
    },
    failed_memray_report: {
      message: '无法读取 memray 的报告。',
      remedy: '请在该节点上安装最新的 memray，或缩短剖析时间。',
    },
    failed_too_large: {
      message: '该节点 agent 的回复过大。',
      remedy: '请减少请求的内容：缩短时间，或减少文件、进程。',
    },
    memray_on: {
      message: '{{reason}}memray 可能仍在该 Worker 中运行。',
      remedy: '请再次对其进行内存剖析：结束时会关闭 memray。',
    },
    failed_no_stacks: { message: 'py-spy 返回的内容不是调用栈。', remedy: '请重新采样。' },
    bad_query_not_connected: {
      message: '集群尚未连接。',
      remedy: '请连接它：rayscope attach HOST:PORT。',
    },
    not_connected: {
      message: '{{session}} 的集群尚未连接。',
      remedy: '请等待几秒，或连接它：rayscope attach HOST:PORT。',
    },
    bad_query_ended: { message: '集群已结束。', remedy: '请查看保留的日志副本。' },
    not_found_log_file_name: { message: '日志文件名无效。', remedy: '请从文件列表中选择。' },
    not_found_unread_log: {
      message: '没有保留日志文件 {{id}} 的副本，且无法读取它所在的节点。',
      remedy: '请确认该节点正在运行，且本服务器能访问它的端口。',
    },
    logs_not_kept: { message: '保留日志失败：{{reason}}', remedy: '请查看服务器的日志。' },
    logs_disk: { message: '磁盘即将写满，因此不再保留日志。', remedy: '请腾出一些空间；之后会自动恢复。' },
    no_dashboard: {
      message: '该集群没有 Dashboard，而 Ray 各个库的状态由它提供。',
      remedy: '请在头节点安装 ray[default]，并且不要用 --include-dashboard=false 启动 Ray。',
    },
    dashboard_other_cluster: {
      message: '{{url}} 的 Dashboard 属于另一个集群（{{other}}）。',
      remedy: '请在头节点上运行 Rayscope，或用其他 Dashboard 端口和 --dashboard-host=0.0.0.0 启动 Ray。',
    },
    dashboard_unreachable: {
      message: '无法访问 Ray 的 Dashboard（{{url}}）：{{reason}}。',
      remedy: '请确认该集群的 Dashboard 正在运行，且本机可以访问。',
    },
    dashboard_token: {
      message: '{{url}} 的 Ray Dashboard 拒绝了令牌，或需要令牌。',
      remedy: '请设置 RAY_AUTH_TOKEN，或让 RAY_AUTH_TOKEN_PATH 指向存有集群令牌的文件。',
    },
    dashboard_answer: {
      message: '{{url}} 的响应不是 Ray Dashboard 应有的内容。',
      remedy: '请确认这是 Ray Dashboard 的地址；另见头节点上的 dashboard.log。',
    },
    dashboard_folder: {
      message: '{{url}} 的 Ray 作业 API 没有接收该文件夹：{{reason}}。',
      remedy: '请重试，或用 `rayscope jobs submit --working-dir` 提交。',
    },
    dashboard_job_api: {
      message: '{{url}} 的 Ray 作业 API 没有响应：{{reason}}。',
      remedy: '重试前请先查看作业的状态：Ray 可能已接受该请求。',
    },
    refused: {
      message: 'Ray 拒绝了该请求：{{reason}}',
      remedy: '请解决其中指出的问题，或查看头节点上的 dashboard.log。',
    },
    failed_gcs_answer: {
      message: '{{address}} 的 GCS 对 {{method}} 返回了 {{said}}。',
      remedy: '请查看头节点上该会话日志目录中的 gcs_server.out。',
    },
    failed_gcs_rejected: {
      message: '{{address}} 的 GCS 拒绝了 {{method}}：{{reason}}。',
      remedy: '请查看头节点上该会话日志目录中的 gcs_server.out。',
    },
    failed_gcs_new_session: {
      message: '{{address}} 的集群现在运行的是 {{session}}。',
      remedy: 'Rayscope 会把它记录为另一个会话。',
    },
    failed_gcs_query: { message: '无法查询 {{address}} 的 GCS：{{reason}}', remedy: '请重新建立连接。' },
    failed_gcs_subscribe: { message: '无法订阅 GCS：{{reason}}', remedy: '请重新建立连接。' },
    failed_gcs_no_pubsub: {
      message: '所安装的 Ray 没有可订阅的服务。',
      remedy: '请安装 Ray 2.50 或更新版本。',
    },
    train_untracked: {
      message: 'Ray Train 没有保留此会话中 {{number}} 个训练运行的状态。',
      remedy:
        '请在 Driver 的环境中设置 RAY_TRAIN_ENABLE_STATE_TRACKING=1；`rayscope run` 和 `rayscope env` 会设置它，除非使用 --no-train-state。',
    },
    train_v1: {
      message: '此会话使用了 Ray Train V1，其训练运行不在此显示。',
      remedy: '请使用 Ray Train V2：设置 RAY_TRAIN_V2_ENABLED=1（较新的 Ray 默认如此）。',
    },
    tune_untraced: {
      message: '{{number}} 个 Actor 执行过 Ray Tune 的 Trial，但其实验没有记录。',
      remedy:
        '只有 Driver 中的追踪器会上报实验：请用 `rayscope run` 启动程序，或在 `rayscope env` 的环境中启动，且不要使用 --no-trace。',
    },
    archive_copy: { message: '无法复制归档的内容：{{reason}}', remedy: '请重试。' },
    archive_differs: {
      message: '校验失败：归档中的 {{path}} 与写入的内容不同。',
      remedy: '该会话仍保留在本机磁盘上。请检查存储；Rayscope 会自动重试。',
    },
    archive_large_file: {
      message: '归档中的 {{path}} 大于 {{limit}} 字节。',
      remedy: '请检查存储中的内容。',
    },
    archive_manifest: {
      message: '会话 {{id}} 的归档清单已损坏：{{reason}}。',
      remedy: '请在仍有该会话记录的机器上重新归档：rayscope archive push。',
    },
    archive_not_as_listed: {
      message: '归档中的 {{path}} 与清单不符。',
      remedy: '它可能正在被替换，请重试。如果一直如此，说明归档已损坏。',
    },
    archive_table: {
      message: '归档的表 {{table}} 无法使用：{{reason}}。',
      remedy: '请在仍有该会话记录的机器上重新归档：rayscope archive push。',
    },
    archive_unreachable: { message: '归档 {{url}} 没有响应。', remedy: '请检查存储，然后重试。' },
    archive_unusable: {
      message: '归档 {{url}} 无法使用：{{reason}}',
      remedy: '请检查该 URL、访问权限和存储。',
    },
    not_archived: { message: '归档中没有 {{path}}。', remedy: '它可能刚被替换，请重试。' },
    store_error_archived_logs: {
      message: '无法读取归档的日志：{{reason}}',
      remedy: '请检查它们：rayscope archive verify。',
    },
    full_archive: {
      message: '无法从归档取回 {{id}}：{{reason}}。',
      remedy: '请在服务器的磁盘上腾出一些空间，然后重试。',
    },
    full_warehouse: {
      message: '无法从数据仓库取回 {{id}}：{{reason}}。',
      remedy: '请在服务器的磁盘上腾出一些空间，然后重试。',
    },
    full_session: {
      message: '无法在 {{folder}} 中创建会话：{{reason}}。',
      remedy: '请腾出一些空间，或让数据目录可写；记录会自动恢复。',
    },
    bad_change_class: { message: '该作业没有类 {{name}} 的 Actor。', remedy: '请从列表中选择。' },
    bad_change_cpus: { message: '该作业没有申请 CPU 的任务或 Actor {{name}}。', remedy: '请从列表中选择。' },
    bad_change_function: { message: '该作业没有函数 {{name}}。', remedy: '请从列表中选择。' },
    bad_change_loop: { message: '没有循环逐个获取 {{name}} 的值。', remedy: '请选择其他函数。' },
    bad_query_alert_limit: {
      message: '{{name}} 产生了 {{number}} 个告警，超过上限 {{limit}}。',
      remedy: '请在其表达式中做聚合。',
    },
    bad_query_alert_over: { message: '该告警已不再触发。', remedy: '请查看当前的告警列表。' },
    bad_query_alert_query: { message: '它的序列超过 {{limit}} 个。', remedy: '请在查询中做聚合。' },
    bad_query_alertmanager_query: {
      message: '`url` 不能含有查询参数和片段。',
      remedy: '请删除从 `?` 或 `#` 开始的部分。',
    },
    bad_query_alertmanager_url: {
      message: '`url` 必须是 Alertmanager 的 URL，并以 http 开头。',
      remedy: '例如 http://host:9093。',
    },
    bad_query_apprise_file: {
      message: '第 {{number}} 个 URL 指定了 Apprise 会在服务器上读取的文件（模板或密钥）。',
      remedy: '请删除该参数。',
    },
    bad_query_apprise_log: {
      message: '第 {{number}} 个 URL 会写入服务器所在机器的日志。',
      remedy: 'syslog 服务器请用 rsyslog://。',
    },
    bad_query_apprise_redirect: {
      message: '第 {{number}} 个 URL 带有参数 redirect。',
      remedy: '请删除它：从不跟随重定向。',
    },
    bad_query_apprise_url: {
      message: 'Apprise 不支持第 {{number}} 个 URL。',
      remedy: '请查看 Apprise 文档中的服务列表。',
    },
    bad_query_apprise_urls: {
      message: '`urls` 必须是含 1 到 {{limit}} 个 URL 的列表。',
      remedy: '请查看 Apprise 文档中的服务列表。',
    },
    bad_query_at_time: {
      message: '@ 之后的时间不在 1970 年到 2242 年之间。',
      remedy: '请写成自 1970 年起的秒数。',
    },
    bad_query_backtest: {
      message: '时间范围的终点必须晚于起点，且最多求值 {{limit}} 次。',
      remedy: '该规则每 {{seconds}} 秒求值一次：请缩短时间范围。',
    },
    bad_query_bare_range: {
      message: '区间样本不能直接作为值。',
      remedy: '请用 rate()、avg_over_time() 等函数处理它。',
    },
    bad_query_bare_subquery: {
      message: '子查询的结果不能直接作为值。',
      remedy: '请用 max_over_time()、rate() 等函数处理它。',
    },
    bad_query_call_paths: {
      message: '调用路径超过 {{limit}} 条。',
      remedy: '请用筛选缩小范围：作业、函数或时间范围。',
    },
    bad_query_cells: {
      message: '{{number}} 个序列、{{steps}} 个步长，超过了 {{limit}} 个值的上限。',
      remedy: '请用匹配条件减少序列，或加大步长、缩短时间范围。',
    },
    bad_query_channel_address: { message: '该通知渠道没有地址。', remedy: '请填写发送地址。' },
    bad_query_channel_config: { message: '`config` 中不能有 {{keys}}。', remedy: '请删除它们。' },
    bad_query_channel_entry: { message: '通知渠道必须是映射。', remedy: '至少需要 `name` 和 `type`。' },
    bad_query_channel_file: {
      message: 'channels.yml 必须是含有 `channels` 和 `route` 的映射。',
      remedy: '见 docs/reference/alerts.md。',
    },
    bad_query_channel_group_by: {
      message: '`group_by` 必须是标签列表。',
      remedy: '例如 [alertname, node_id]。',
    },
    bad_query_channel_list: {
      message: '`channels` 必须是列表，最多含 {{limit}} 个通知渠道。',
      remedy: '见 docs/reference/alerts.md。',
    },
    bad_query_channel_match: {
      message: '`match` 必须是从标签到值的映射。',
      remedy: '例如 match: {severity: critical}。',
    },
    bad_query_channel_rules: {
      message: '`rules` 必须是规则名称的列表。',
      remedy: '例如 rules: [JobFailed, NodeDead]。',
    },
    bad_query_channel_names: { message: '有两个通知渠道同名。', remedy: '请为每个通知渠道取不同的名称。' },
    bad_query_channel_route: { message: '`route` 必须是映射。', remedy: '它的键为 {{keys}}。' },
    bad_query_channel_type: { message: '未知的渠道类型：{{type}}。', remedy: '可用的类型：{{known}}。' },
    bad_query_channel_yaml: {
      message: 'channels.yml 不是有效的 YAML，或者过大、嵌套过深。',
      remedy: '请修正该文件。Python 的 yaml 模块会指出错误的位置。',
    },
    bad_query_chart_without_expr: { message: '图表“{{chart}}”没有表达式。', remedy: '请添加表达式。' },
    bad_query_dashboard_limit: { message: '仪表板已有 {{limit}} 个。', remedy: '请先删除一个。' },
    bad_query_dashboard_name: {
      message: '{{name}} 不是有效的仪表板名称。',
      remedy: '请使用最多 64 个小写字母、数字和连字符，且不以连字符开头。',
    },
    bad_query_dashboard_size: { message: '该仪表板大于 {{limit}} 字节。', remedy: '请把它拆成两个。' },
    bad_query_deep_expr: {
      message: '表达式的运算符超过 {{operators}} 个，或嵌套超过 {{depth}} 层。',
      remedy: '请拆成多个表达式。',
    },
    bad_query_driver_job: {
      message: '该作业不是提交的，而是直接启动的 Driver。',
      remedy: '请在它运行的地方停止该 Driver。Ray 的作业 API 只管理提交的作业。',
    },
    bad_query_empty_folder: { message: '该文件夹中没有文件。', remedy: '请选择其他文件夹。' },
    bad_query_expanded: { message: '最多同时展开 {{limit}} 个类和函数。', remedy: '请先收起一些。' },
    bad_query_flame_diff: { message: '`of` 不能与 `focus` 或基线同时使用。', remedy: '请分成两个请求。' },
    bad_query_flame_path: {
      message: '关键路径属于整个作业，而不是它的一部分。',
      remedy: '请只按作业筛选，或改用其他权重。',
    },
    bad_query_id_prefix: { message: '有多个 ID 以 {{text}} 开头：{{ids}}。', remedy: '请使用其中一个 ID。' },
    bad_query_label_name: { message: '{{name}} 不是有效的标签名。', remedy: '请使用字母、数字和下划线。' },
    bad_query_lane_paths: { message: '调用路径超过 {{limit}} 条。', remedy: '请改为按函数分泳道。' },
    bad_query_large_folder: {
      message: '该文件夹的文件超过 {{files}} 个或 {{mib}} MiB。',
      remedy: '请选择较小的文件夹，或让 working_dir 为 URI。',
    },
    bad_query_long_duration: { message: '{{text}} 过长。', remedy: '最长为一年。' },
    bad_query_long_expr: { message: '表达式超过 {{limit}} 个字符。', remedy: '请缩短它。' },
    bad_query_long_sql: { message: '查询超过 {{limit}} 个字符。', remedy: '请缩短它。' },
    bad_query_long_template: { message: '模板超过 {{limit}} 个字符。', remedy: '请缩短它。' },
    bad_query_long_text: { message: '文本超过 {{limit}} 个字符。', remedy: '请缩短它。' },
    bad_query_long_time: { message: '时长超过 {{limit}} 天。', remedy: '请使用较短的时长。' },
    bad_query_many_to_many: {
      message: '同一侧有多个序列匹配 {{labels}}，例如 {{example}}。',
      remedy: '不支持多对多匹配：请按更多标签匹配，或先聚合这一侧。',
    },
    bad_query_many_to_one: {
      message: '左侧有多个序列匹配 {{labels}}。',
      remedy: '多对一匹配必须显式写出：group_left 或 group_right。',
    },
    bad_query_needs_number: { message: '此处需要数字。', remedy: '请用 scalar(...) 转换单个序列。' },
    bad_query_needs_series: { message: '此处需要序列，而不是数字。', remedy: '请用 vector(...) 转换。' },
    bad_query_needs_text: {
      message: '此处需要带引号的字符串。',
      remedy: '支持的写法见 docs/reference/promql.md。',
    },
    bad_query_no_zip: { message: '该文件夹不是 ZIP 文件。', remedy: '请发送其文件的 ZIP。' },
    bad_query_not_text: {
      message: '此处需要数字，而不是字符串。',
      remedy: '支持的写法见 docs/reference/promql.md。',
    },
    bad_query_outside_folder: {
      message: '文件 {{file}} 会落在该文件夹之外。',
      remedy: '请只发送其中的普通文件。',
    },
    bad_query_points: { message: '时间范围内的点超过 {{limit}} 个。', remedy: '请缩短时间范围。' },
    bad_query_promql: {
      message: '第 {{character}} 个字符处有语法错误：{{reason}}',
      remedy: '支持的写法见 docs/reference/promql.md。',
    },
    bad_query_record_keys: {
      message: '记录规则只有 `record`、`expr` 和 `labels`。',
      remedy: '请删除其他键。',
    },
    bad_query_record_name: { message: '{{name}} 不是序列名。', remedy: '请使用字母、数字、_ 和 :。' },
    bad_query_record_selector: {
      message: '{{name}} 是记录规则，不支持对它使用匹配条件和时间范围。',
      remedy: '请直接使用它的表达式。',
    },
    bad_query_records_circle: {
      message: '其中的记录规则互相引用，或过长。',
      remedy: '请减少使用的记录规则。',
    },
    bad_query_regex: {
      message: '无效的正则表达式 {{pattern}}：{{reason}}',
      remedy: '请使用 RE2 语法：https://github.com/google/re2/wiki/Syntax',
    },
    bad_query_rule_entry: {
      message: '规则必须是映射，含有 `alert`（告警名）或 `record`（要记录的名称）。',
      remedy: '见 docs/reference/alerts.md。',
    },
    bad_query_rule_expr: {
      message: '`expr` 必须是字符串，且不能与简写同时使用。',
      remedy: '请只使用其中一种。',
    },
    bad_query_rule_given: { message: '没有给出规则。', remedy: '请给出规则的名称或其 YAML。' },
    bad_query_rule_group: {
      message: '规则组必须有 `name` 和列表 `rules`。',
      remedy: '见 docs/reference/alerts.md。',
    },
    bad_query_rule_groups: {
      message: '`groups` 必须是规则组的列表；`disable` 和 `enable` 必须是名称的列表。',
      remedy: '见 docs/reference/alerts.md。',
    },
    bad_query_rule_limit: { message: '规则超过 {{limit}} 条。', remedy: '请删除一些。' },
    bad_query_rule_name: { message: '名称 {{name}}… 过长。', remedy: '最多 {{limit}} 个字符。' },
    bad_query_rule_texts: {
      message: '`{{key}}` 必须是从名称到字符串的映射。',
      remedy: '见 docs/reference/alerts.md。',
    },
    bad_query_rule_threshold: { message: '阈值过大。', remedy: '请写成 1e300。' },
    bad_query_rules_given: {
      message: '这里有 {{number}} 条规则。',
      remedy: '请只给出一条规则，并放在一个规则组中。',
    },
    bad_query_same_alert: {
      message: '{{name}} 的两个序列产生了同一个告警：{{labels}}。',
      remedy: '规则的标签不能覆盖用来区分序列的标签。',
    },
    bad_query_same_labels: {
      message: '结果会有两个标签同为 {{labels}} 的序列。',
      remedy: '请按更多标签聚合，或只匹配一个指标名。',
    },
    bad_query_samples: {
      message: '这些序列在该时间内有 {{number}} 个样本，上限为 {{limit}}。',
      remedy: '请用匹配条件减少序列，或缩短时间范围。',
    },
    bad_query_search_regex: {
      message: '无效的正则表达式：{{reason}}。',
      remedy: '请使用 RE2 语法，它不支持环视和反向引用。',
    },
    bad_query_selector_metrics: {
      message: '该选择器匹配 {{number}} 个指标，上限为 {{limit}}。',
      remedy: '请以指标名开头。',
    },
    bad_query_session_name: { message: '有 {{number}} 个会话名为 {{text}}。', remedy: '请使用会话的 ID。' },
    bad_query_session_prefix: { message: '有多个会话以 {{text}} 开头。', remedy: '请多输入几个字符。' },
    bad_query_silence_all: { message: '这会静默所有告警。', remedy: '请至少匹配一个必须存在的标签。' },
    bad_query_silence_creator: { message: '静默需要创建者。', remedy: '请填写创建者。' },
    bad_query_silence_end: { message: '静默的终点必须晚于起点，且在将来。', remedy: '请选择较晚的终点。' },
    bad_query_silence_limit: { message: '静默已有 {{limit}} 个。', remedy: '请先结束一些。' },
    bad_query_silence_matcher: { message: '匹配条件过长。', remedy: '最多 {{limit}} 个字符。' },
    bad_query_silence_matchers: {
      message: '静默必须有 1 到 {{limit}} 个匹配条件。',
      remedy: '请给出要匹配的标签。',
    },
    bad_query_sql: {
      message: '{{said}}',
      remedy: '用 SHOW TABLES 列出所有表，用 DESCRIBE tasks 列出一个表的列。',
    },
    bad_query_sql_call: {
      message: '不允许调用 {{name}}()：记录是只读的。',
      remedy: '用 SHOW TABLES 列出所有表，用 DESCRIBE tasks 列出一个表的列。',
    },
    bad_query_sql_crash: {
      message: '查询使执行它的进程崩溃，很可能是内存不足。',
      remedy: '请缩小查询范围或做聚合（可用 RAYSCOPE_MEMORY_LIMIT 提高上限）。服务器不受影响。',
    },
    bad_query_sql_memory: {
      message: '查询所需的内存超出了上限。',
      remedy: '请缩小查询范围或做聚合（可用 RAYSCOPE_MEMORY_LIMIT 提高上限）。',
    },
    bad_query_sql_open: {
      message: '复制并打开记录的时间超过 {{seconds}} 秒。',
      remedy: '请用 WHERE 缩小范围，或延长时限（RAYSCOPE_SQL_TIMEOUT_S）。',
    },
    bad_query_sql_select: {
      message: '只允许一条 SELECT：记录是只读的。',
      remedy: '用 SHOW TABLES 列出所有表，用 DESCRIBE tasks 列出一个表的列。',
    },
    bad_query_sql_size: { message: '结果大于 {{mb}} MB。', remedy: '请减少列或行（LIMIT），或做聚合。' },
    bad_query_sql_time: {
      message: '查询超过 {{seconds}} 秒，已停止。',
      remedy: '请用 WHERE 缩小范围，或延长时限（RAYSCOPE_SQL_TIMEOUT_S）。',
    },
    bad_query_sql_value: { message: '结果中有无法显示的值：{{error}}。', remedy: '请把它转换为 VARCHAR。' },
    bad_query_stack_ended: { message: '该会话已结束，其进程也已退出。', remedy: '请选择仍在运行的会话。' },
    bad_query_stack_line: { message: '此行的任务都已不在执行。', remedy: '请选择当前栈中的行。' },
    bad_query_stack_not_connected: {
      message: '该会话的集群尚未连接，因此无法对其 Worker 采样。',
      remedy: '请等待几秒，或连接它：rayscope attach HOST:PORT。',
    },
    bad_query_steps: {
      message: '步数 {{number}} 超过上限 {{limit}}。',
      remedy: '请加大步长或缩短时间范围。',
    },
    bad_query_subquery_steps: {
      message: '子查询的步数 {{number}} 超过上限 {{limit}}。',
      remedy: '请加大步长或缩短时间范围。',
    },
    bad_query_task_id: {
      message: '{{text}} 不是任务 ID。',
      remedy: '请使用全部 48 位十六进制数字，或至少前 4 位。',
    },
    bad_query_task_prefix: {
      message: '有 {{number}} 个任务的 ID 以 {{text}} 开头。',
      remedy: '请输入更多位。',
    },
    bad_query_template: {
      message: '无法解析模板 {{text}}：{{reason}}。',
      remedy: '模板可含的内容见 docs/reference/alerts.md。',
    },
    bad_query_time_range: { message: '时间范围的终点必须晚于起点。', remedy: '请修改时间范围，或移除它。' },
    bad_query_smoothing: { message: '平滑因子不在 0 和 1 之间。', remedy: '请使用 0 和 1 之间的数字。' },
    bad_query_topk: { message: '要保留的序列数不是数字。', remedy: '请给 topk 和 bottomk 一个数字。' },
    bad_query_unsupported: {
      message: '此处不支持 {{name}}。',
      remedy: '支持的写法见 docs/reference/promql.md。',
    },
    bad_query_window_samples: {
      message: '这些时间窗内有 {{number}} 个样本，上限为 {{limit}}。',
      remedy: '请用匹配条件减少序列，或缩短时间范围、加大步长。',
    },
    bad_query_compared_runs: {
      message: '每一侧需要 1 到 {{runs}} 次运行。',
      remedy: '用逗号分隔：a=SESSION/JOB,SESSION/JOB。',
    },
    not_found_call_paths: {
      message: '{{session}}/{{job}} 的调用路径未知，因为没有记录其任务的调用者。',
      remedy: '请按函数名对比。',
    },
    bad_query_skip_first: {
      message: '去掉最先的 {{skipped}} 次后，某一侧没有剩余的运行。',
      remedy: '请去掉更少的运行，或加入更多运行。',
    },
    bad_query_run_on_both_sides: {
      message: '{{session}}/{{job}} 同时出现在两侧。',
      remedy: '请指定不同的运行。标签代表会话，会话代表其中最长的作业。',
    },
    bad_query_working_dir: {
      message: '此处的 working_dir 必须是 URI：集群无法读取服务器的文件夹。',
      remedy:
        '请使用 URI（s3://…、gs://…、https://….zip），或在有该文件夹的机器上用 rayscope.Client 或 `ray job submit` 提交。',
    },
    bad_query_yaml_alias: {
      message: '不是有效的 YAML：不允许使用别名（`*name`）。',
      remedy: '请修正或删除它。',
    },
    bad_query_yaml_depth: { message: '不是有效的 YAML：嵌套超过 {{limit}} 层。', remedy: '请修正或删除它。' },
    bad_query_yaml_entries: {
      message: '不是有效的 YAML：条目超过 {{limit}} 个。',
      remedy: '请修正或删除它。',
    },
    bad_query_yaml_size: { message: '不是有效的 YAML：大于 {{kib}} KiB。', remedy: '请修正或删除它。' },
    channel_services: { message: '这些服务没有接收通知：{{services}}。', remedy: '原因见服务器的日志。' },
    channel_answer: { message: '{{host}} 返回了 {{status_code}}。' },
    channel_failed: { message: '该通知渠道出错：{{error}}。' },
    channel_plugin: { message: '无法创建该通知渠道：{{error}}。', remedy: '请查看该插件的文档。' },
    channel_unreachable: { message: '无法连接 {{host}}：{{reason}}。' },
    corrupt: {
      message: '无法读取 {{file}}：{{reason}}',
      remedy: '该文件已损坏，或不是 Rayscope 的记录。请从备份恢复，或删除其文件夹。',
    },
    evaluation_failed: { message: '求值失败：{{reason}}' },
    template_error: { message: '无法生成“{{name}}”：{{reason}}。' },
    internal: {
      message: '由于 Rayscope 的缺陷，此请求失败（{{error}}）。',
      remedy: '请报告此问题，并附上服务器日志中的回溯。',
    },
    internal_writer: {
      message: '由于 Rayscope 的缺陷，数据无法写入：{{reason}}',
      remedy: '请报告此问题，并附上服务器的日志。Rayscope 会一直重试，事件会保留在写入队列中。',
    },
    spool_backlog: {
      message: '有 {{mib}} MiB 的事件等待写入；暂不接收新事件。',
      remedy: '写入记录失败或过慢：请查看服务器的日志。',
    },
    spool_folder: {
      message: '无法使用文件夹 {{folder}}：{{reason}}。',
      remedy: '请让数据目录可以访问；记录会自动恢复。',
    },
    spool_read: { message: '无法读取写入队列：{{reason}}', remedy: '请检查磁盘。Rayscope 会一直重试。' },
    spool_write: {
      message: '无法在 {{folder}} 中保存一批事件：{{reason}}。',
      remedy: '请让数据目录可写；记录会自动恢复。',
    },
    login: {
      message: '{{address}} 拒绝了用户 {{user}} 和此密码。',
      remedy: '请检查 URL 中的用户名和密码；特殊字符请写成 %XX。',
    },
    logs_kept: {
      message: '无法读写保留的日志：{{reason}}。',
      remedy: '请腾出一些空间，或从会话的文件夹中删除 logs.sqlite 以重新开始。',
    },
    memory_server: {
      message: '内存不足。',
      remedy: '请为服务器增加内存，或释放一些内存。Rayscope 会一直重试，不会丢失数据。',
    },
    no_warehouse_missing: {
      message: '{{address}} 上没有数据仓库。',
      remedy: '请创建它：rayscope warehouse init',
    },
    no_warehouse_packages: {
      message: '没有安装数据仓库所需的软件包。',
      remedy: "pip install 'rayscope[warehouse]'",
    },
    not_found_application: { message: '此会话中没有应用 {{id}}。', remedy: '请查看应用列表。' },
    not_found_attempt: { message: '没有尝试 {{id}}。', remedy: '请查看其所有尝试。' },
    not_found_channel: { message: '通知渠道 {{id}} 不存在。', remedy: '请查看通知渠道列表。' },
    not_found_dashboard: { message: '仪表板 {{id}} 不存在。', remedy: '请查看仪表板列表。' },
    not_found_dataset: { message: '此会话中没有数据集 {{id}}。', remedy: '请查看数据集列表。' },
    not_found_experiment: { message: '此会话中没有实验 {{id}}。', remedy: '请查看实验列表。' },
    not_found_frame: { message: '此会话中没有该帧（{{id}}）。', remedy: '请从火焰图中选择一帧。' },
    not_found_job_tasks: { message: '作业 {{id}} 还没有任务记录。', remedy: '请查看作业列表。' },
    not_found_job_times: { message: '作业 {{id}} 的任务还没有时间记录。', remedy: '请几秒后重试。' },
    not_found_local_record: {
      message: '{{id}} 的记录不在此磁盘上。',
      remedy: '如果该会话已归档：rayscope archive pull。如果它刚开始，请重试。',
    },
    not_found_node_then: { message: '此时没有节点 {{id}}。', remedy: '请查看此时的节点。' },
    not_found_record: { message: '还没有任何记录。', remedy: '请记录一个脚本：rayscope run SCRIPT' },
    not_found_rule_elsewhere: { message: '规则 {{id}} 不在 {{file}} 中。', remedy: '请修改它所在的文件。' },
    not_found_run: { message: '此会话中没有训练运行 {{id}}。', remedy: '请查看训练运行列表。' },
    not_found_silence: { message: '该静默不存在。', remedy: '请查看静默列表。' },
    not_found_tasks: { message: '还没有任务记录。', remedy: '请查看作业列表。' },
    older_clickhouse: {
      message: '{{url}} 是 ClickHouse {{version}}；数据仓库需要 {{wanted}} 或更新版本。',
      remedy: '请升级 ClickHouse。',
    },
    older_record: {
      message: '{{file}} 由更旧的 Rayscope 写入，此版本无法读取其格式。',
      remedy: '请用写入它的 Rayscope 读取，或删除其文件夹。',
    },
    older_warehouse: { message: '数据仓库的版本较旧。', remedy: '请迁移它：rayscope warehouse init' },
    other_cluster_cluster: {
      message: '数据仓库是用另一个 --cluster 创建的。',
      remedy: '请使用当时的 --cluster，或在 URL 中换用其他数据库。',
    },
    session_in_use_elsewhere: {
      message: '该会话尚未在所有服务器上删除。',
      remedy: 'Rayscope 会自动重试。请一分钟后再看。',
    },
    store_error_delete_dashboard: { message: '无法删除该仪表板：{{reason}}', remedy: '请检查它的文件。' },
    store_error_read_file: { message: '无法读取 {{file}}：{{reason}}', remedy: '请确认它是 UTF-8 文本。' },
    store_error_read_only: { message: '此数据目录只用于读取。', remedy: '请启动服务器：rayscope serve' },
    store_error_session_name: {
      message: '无法写入该会话的名称：{{reason}}。',
      remedy: '请腾出一些空间，或让数据目录可写，然后重试。',
    },
    store_error_write_file: {
      message: '无法写入 {{file}}：{{reason}}。',
      remedy: '请腾出一些空间，并让其文件夹可写。',
    },
    unreachable_heartbeat: {
      message: '其他服务器有一段时间没有收到本服务器的消息。',
      remedy: 'Rayscope 会自动重试。',
    },
    unreachable_metrics: {
      message: '没有在读取 {{id}} 的 GCS。',
      remedy: '请给出它的地址：rayscope attach ADDRESS',
    },
    unreachable_servers: { message: '还不知道有哪些服务器。', remedy: 'Rayscope 会自动重试。' },
    unreachable_warehouse: {
      message: '无法连接 {{address}}：{{reason}}。',
      remedy: '请检查主机、端口（HTTP：8123，TLS：8443）和网络。',
    },
    unreadable_damaged_file: { message: '{{file}} 已损坏，且无法重命名：{{reason}}。', remedy: '请删除它。' },
    unreadable_dashboard: { message: '{{file}} 不是仪表板：{{reason}}', remedy: '请修正或删除该文件。' },
    unreadable_file: { message: '无法读取 {{file}}：{{reason}}。', remedy: '请让该文件可读。' },
    unreadable_record: {
      message: '无法读取 {{session}} 的记录：{{reason}}',
      remedy: '请重试。如果一直失败，请查看服务器的日志。',
    },
    unusable_record: {
      message: '无法使用 {{file}}：{{reason}}',
      remedy: 'Rayscope 会一直重试。如果一直失败，请检查文件夹的权限和服务器的日志。',
    },
    unusable_runs: {
      message: '无法使用运行摘要：{{reason}}',
      remedy: '请腾出一些空间，或让数据目录可写。Rayscope 会继续重试。',
    },
    unusable_sql_process: {
      message: '无法启动执行 SQL 的进程：{{reason}}。',
      remedy: '请释放一些内存或磁盘空间，然后重试。',
    },
    warehouse_copy: { message: '无法复制 {{path}}。', remedy: '请重试。' },
    warehouse_folder: { message: '无法使用 {{folder}}。', remedy: '请检查文件夹的权限和剩余空间。' },
    warning_not_recorded: { message: '没有记录 {{name}}：Ray 内部的直方图只记录总和与计数。' },
    warning_left_out: { message: '{{name}}：另有 {{number}} 个序列未计入，已计入 {{read}} 个。' },
    warning_sampled: { message: '该时间范围的数据过多，因此每 {{seconds}} 秒取一个样本。' },
    warning_widened: {
      message: '这么早的数据每 {{seconds}} 秒保留一个样本，因此时间窗放宽为 {{range}} 秒。',
    },
    metrics_damaged: { message: '指标文件已损坏，保留为 {{file}}；已新建一个文件。' },
    prometheus_answer: { message: '没有使用所配置的 Prometheus：它的响应不是 Prometheus 的格式。' },
    prometheus_error: { message: '没有使用所配置的 Prometheus，它报告的错误是：{{reason}}' },
    prometheus_size: { message: '没有使用所配置的 Prometheus：它的响应大于 {{mib}} MiB。' },
    prometheus_time: { message: '没有使用所配置的 Prometheus：它的响应用时超过 {{seconds}} 秒。' },
    prometheus_unreachable: { message: '没有使用所配置的 Prometheus：无法连接（{{reason}}）。' },
    too_large: { message: '请求的内容过大。', remedy: '请减少一次发送的内容。' },
    too_slow: { message: '请求的内容没有及时到达。', remedy: '请重新发送。' },
    unauthorized: { message: '令牌不正确，或缺少令牌。', remedy: '服务器在启动时打印了它的令牌。' },
    invalid_parameter: { message: '参数无效：{{reason}}', remedy: '请检查输入的内容。' },
    busy_archive: { message: '正在从归档取回该会话，或正在归档它。', remedy: '请一分钟后重试。' },
    busy_archive_twice: {
      message: '另一个服务器正在把该会话写入同一个归档。',
      remedy: '每个会话请只由一个服务器归档。Rayscope 会自动重试。',
    },
    busy_profile: { message: '该会话已有一次性能剖析正在进行。', remedy: '请等待其结束。' },
    busy_profiles: { message: '其他会话的性能剖析正在进行。', remedy: '请等待其结束。' },
    busy_stopping: { message: '服务器正在停止。', remedy: '请在它重新启动后重试。' },
    busy_unwritten: { message: '该会话的记录尚未写入。', remedy: 'Rayscope 会自动重试。' },
    full_fetch: {
      message: '磁盘空间不足：该会话需要 {{mib}} MiB。',
      remedy: '请在服务器的磁盘上腾出一些空间，然后重试。',
    },
    full_metrics: {
      message: '指标所在的磁盘剩余空间不足 {{mib}} MiB。',
      remedy: '请腾出一些空间。在此之前指标保留在内存中；之后会自动恢复写入。',
    },
    full_sql: {
      message: '磁盘空间不足，无法为 SQL 复制记录（{{mb}} MB）。',
      remedy: '请腾出一些空间，或停止服务器：之后 rayscope sql 会直接读取记录。',
    },
    full_warehouse_disk: { message: '{{address}} 的磁盘已满。', remedy: '请腾出一些空间，然后重试。' },
    locked_warehouse: {
      message: '{{folder}} 正被另一个进程使用，或已损坏。',
      remedy: 'chDB 的文件夹同一时间只能由一个进程使用。请等待另一个进程结束，或改用 ClickHouse 服务器。',
    },
    newer_warehouse: {
      message: '数据仓库由更新版本的 Rayscope 创建。',
      remedy: "请升级：pip install -U 'rayscope[warehouse]'",
    },
    newer_duckdb: {
      message: '记录由更新版本的 DuckDB 写入。',
      remedy: '请升级：pip install -U rayscope duckdb，并使用 Python 3.11 或更新版本。记录保持不变。',
    },
    death_worker_died: { message: '其 Worker 进程（PID {{pid}}）终止了。' },
    death_owner_died: { message: '其所有者终止了；Ray 会结束已终止进程的任务和 Actor。' },
    death_node_died: { message: '其节点终止了。' },
    death_driver_died: { message: '其驱动进程（PID {{pid}}）终止了。' },
    death_idle: { message: 'Worker 空闲，被 Ray 回收。' },
    death_job_ended: { message: '其作业已结束，由 Ray 结束。' },
    death_max_calls: { message: 'Worker 已达到 max_calls 规定的调用次数。' },
    death_actor_exited: { message: 'Actor 通过 exit_actor() 或 SystemExit 自行退出。' },
    death_ray_kill: { message: '程序用 ray.kill() 结束了该 Actor。' },
    death_out_of_scope: { message: '程序不再持有该 Actor 的引用。' },
    death_placement_group_removed: { message: '其放置组已被移除。' },
    death_cancelled: { message: '程序用 ray.cancel(force=True) 结束了它的任务。' },
    death_released: { message: 'Ray 按预期结束了该 Worker。' },
    death_finished: { message: '程序正常结束。' },
    death_job_stopped: { message: '作业被停止。' },
    death_node_stopped: { message: '节点被停止。' },
    death_node_drained: { message: '节点空闲，被自动扩缩容器移除。' },
    death_node_preempted: { message: '节点即将被抢占，已被排空。' },
    death_tune_stopped: { message: '试验已结束（{{detail}}），Ray Tune 结束了它的 Actor。' },
    death_train_restarted: { message: '工作组中有 Worker 失败，Ray Train 结束了整个工作组。' },
    death_health_check_failed: { message: '健康检查失败，Ray Serve 结束了该副本：{{detail}}' },
    death_node_lost: { message: '节点不再响应 Ray 的健康检查。' },
    death_node_failed: { message: '节点意外终止。' },
    death_pod_event: { message: 'Kubernetes 报告其 Pod 发生 {{event}}。' },
    death_memory_monitor: { message: '节点内存不足，被 Ray 的内存监控器杀死。' },
    death_kernel_oom: { message: '进程（PID {{pid}}）被内核 OOM killer 杀死。' },
    death_killed: { message: '有人用 SIGKILL 杀死了进程（PID {{pid}}），并非内核 OOM killer 所为。' },
    death_sigkill: { message: '进程（PID {{pid}}）被 SIGKILL 杀死。' },
    death_terminated: { message: '进程（PID {{pid}}）被 SIGTERM 结束，信号来自 Ray 或其他人。' },
    death_interrupted: { message: 'Ctrl-C (SIGINT) 结束了进程（PID {{pid}}）。' },
    death_crashed: { message: '进程（PID {{pid}}）因 {{signal}} 崩溃。' },
    death_exited: { message: '进程（PID {{pid}}）自行退出，状态码 {{status}}。' },
    death_creation_failed: { message: 'Actor 的 __init__ 抛出异常：{{error}}' },
    death_runtime_env_failed: { message: '无法建立其运行时环境：{{error}}' },
    death_worker_start_failed: { message: '其 Worker 进程无法启动。' },
    death_unschedulable: { message: '没有任何节点能运行它。' },
    death_driver_raised: { message: '驱动进程退出，状态码 {{status}}，此前抛出：{{error}}' },
    death_driver_failed: { message: '驱动进程退出，状态码 {{status}}。' },
    death_job_failed: { message: 'Ray 的作业 API 报告该作业失败。' },
    death_maybe_kernel_oom: { message: '被内核 OOM killer 杀死。' },
    death_maybe_killed: { message: '被他人用 SIGKILL 杀死。' },
    death_maybe_exited: { message: '自行退出，例如调用了 os._exit()。' },
    death_maybe_crashed: { message: '崩溃，但其日志中的崩溃报告未保留。' },
    death_maybe_cluster_gone: { message: '随集群一起结束。' },
    death_missing_exit_status: {
      message:
        '进程的退出状态可以说明原因。节点上装有 rayscope-agent，并且 Linux 不低于 6.15，或 Ray 以 root 运行且不在容器中时，Rayscope 会读取它。',
    },
    death_missing_oom_counter: { message: '内核的 OOM 计数可以说明原因，但节点的代理无法读取。' },
    death_missing_report: { message: '录制停止时 Ray 尚未报告它如何结束。' },
  },
};
