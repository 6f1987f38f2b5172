import type { Translation } from './en';

export const zhShipped: Pick<Translation, 'shipped'> = {
  shipped: {
    NodeDead: {
      summary: '节点 {{node}} 已失效',
      description:
        'Ray 将此节点标记为已失效，而它并非主动下线。其上的任务和 Actor 已丢失或正在重启。节点页面显示了失效原因。',
    },
    NodeSilent: {
      summary: '节点 {{node}} 没有响应',
      description:
        '该节点的 agent 在最近 10 分钟内停止响应，但 Ray 仍认为节点存活：要么节点刚刚失效（Ray 约 15 秒后才会发现），要么已过载。',
    },
    NodeCpuHigh: {
      summary: '节点 {{node}} 的 CPU 使用率为 {{value}}%',
      description: '高于 80% 已持续一分钟。按节点的甘特图显示了那里正在运行什么。',
    },
    NodeMemoryHigh: {
      summary: '节点 {{node}} 的内存使用率为 {{value}}%',
      description: '达到 95% 时 Ray 会开始终止 Worker。节点页面显示了哪些 Worker 占用最多。',
    },
    ObjectStoreNearlyFull: {
      summary: '节点 {{node}} 的对象存储使用率为 {{value}}%',
      description: '写满后 Ray 会将对象溢写到磁盘。内存页面显示了谁持有它们。',
    },
    GpuIdleWhileReserved: {
      summary: '节点 {{node}} 上已预留但空闲的 GPU：{{value}}',
      description: '该节点的 GPU 使用率已有十分钟低于 5%，但任务或 Actor 预留了 GPU。',
    },
    TaskFailureRateHigh: {
      summary: '{{value}}% 的任务尝试失败',
      description: '五分钟内结束的尝试中有超过 10% 失败，且已持续至少五分钟。',
    },
    UnschedulableDemands: {
      summary: '无法调度的请求：{{value}}',
      description:
        '没有足够大的节点：在合适的节点加入之前，这些任务或 Actor 会一直等待调度。概览页显示了它们的需求。',
    },
    ActorRestartingInALoop: {
      summary: '{{name}} 类的 Actor 在 5 分钟内重启了 {{value}} 次',
      description: '它们反复终止。Actor 页面的详情面板显示了原因。',
    },
    ServeDeploymentUnhealthy: {
      summary: '应用 {{application}} 的 Deployment {{name}} 不健康',
      description:
        'Serve 报告其状态为 UNHEALTHY 或 DEPLOY_FAILED。Serve 页面显示 Serve 给出的原因以及各副本的日志。',
    },
    ServeReplicasMissing: {
      summary: '应用 {{application}} 的 Deployment {{name}} 缺少 {{value}} 个副本',
      description: '五分钟以来，运行中的副本一直少于 Serve 的目标数。可能是资源不足，或副本启动失败。',
    },
    ServeErrorRateHigh: {
      summary: '应用 {{application}} 的 Deployment {{name}} 有 {{value}}% 的请求失败',
      description: '最近五分钟内超过 5% 的请求以异常结束。Serve 页面显示从何时开始，以及各副本的日志。',
    },
    TrainingRunFailed: {
      summary: '5 分钟内失败的训练：{{value}} 个',
      description: 'Train 页面显示了每次尝试的错误以及各 Worker 的日志。',
    },
    TuneExperimentFailed: {
      summary: '5 分钟内失败的调参实验：{{value}} 个',
      description: '这些实验没有一个 Trial 成功。Tune 页面显示了每个 Trial 的错误和日志。',
    },
    TuneTrialsFailed: {
      summary: '5 分钟内失败的 Trial：{{value}} 个',
      description: 'Tune 页面显示了每个 Trial 的错误和日志。其他 Trial 可能仍在继续。',
    },
    DatasetStalled: {
      summary: '数据集 {{dataset}} 的算子 {{operator}} 停滞，有 {{value}} 个块在等待它',
      description:
        '该算子五分钟内没有任何输出。可能是其任务卡住或缺少资源，或者其输出无人取用。Data 页面显示了它的任务、反压以及 Ray Data 的警告。',
    },
    CostlyFinding: {
      summary: '{{script}}：{{title}}（{{function}}）耗费了 {{value}}% 的时间',
      description: '会话的“诊断”页面显示了怎样改进；rayscope diagnose 也会显示。',
    },
    EventsDropped: {
      summary: '5 分钟内丢弃的事件：{{value}}',
      description: 'Ray 的 agent 未能发送它们。会话上方的横幅显示了缺少什么。',
    },
    RecordNotWritten: {
      summary: '无法写入记录',
      description: '在此期间，事件在磁盘上排队。服务器日志和 /api/health 显示了原因。',
    },
  },
};
