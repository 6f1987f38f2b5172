import type { Translation } from './en';

export const zhShipped: Pick<Translation, 'shipped'> = {
  shipped: {
    NodeDead: {
      summary: '节点 {{node}} 已死亡',
      description:
        'Ray 的 GCS 认定它已死亡，而没有人要求它退出。其上的 Actor 和任务已丢失或重新开始；该节点的页面说明了死亡原因。',
    },
    NodeSilent: {
      summary: '节点 {{node}} 没有应答',
      description:
        '它的 agent 几分钟前还有应答，现在没有了，而 Ray 仍认为该节点存活：它刚刚丢失（Ray 约 15 秒后才会发现），或者已过载。',
    },
    NodeCpuHigh: {
      summary: '节点 {{node}} 的 CPU 使用率为 {{value}} %',
      description: '高于 80 % 已有一分钟。按节点的甘特图显示那里在运行什么。',
    },
    NodeMemoryHigh: {
      summary: '节点 {{node}} 的内存使用率为 {{value}} %',
      description: '达到 95 % 后 Ray 会终止 Worker。该节点的页面显示哪些 Worker 占用最多。',
    },
    ObjectStoreNearlyFull: {
      summary: '节点 {{node}} 的对象存储使用率为 {{value}} %',
      description: '超出后 Ray 会溢写到磁盘。请查看是哪些调用位置持有这些对象。',
    },
    GpuIdleWhileReserved: {
      summary: '节点 {{node}} 有 {{value}} 个 GPU 被预留但空闲',
      description: '十分钟内该节点的 GPU 使用率低于 5 %，而任务或 Actor 占用着其中一些。',
    },
    TaskFailureRateHigh: {
      summary: '{{value}} % 的任务尝试失败',
      description: '连续五分钟，在五分钟内结束的尝试中有十分之一以上失败。',
    },
    UnschedulableDemands: {
      summary: '{{value}} 个任务或 Actor 请求的资源没有任何节点能提供',
      description: '除非有这样的节点加入，否则它们会一直等待。概览页显示它们请求了什么。',
    },
    ActorRestartingInALoop: {
      summary: '{{name}} 在 5 分钟内重启了 {{value}} 次',
      description: '此类的 Actor 反复死亡。它们的页面说明了原因。',
    },
    EventsDropped: {
      summary: '5 分钟内丢失了 {{value}} 个事件',
      description: 'Ray 的 agent 没能保住要发送的事件。会话上方的横幅说明了缺少什么。',
    },
    RecordNotWritten: {
      summary: '记录无法写入',
      description: '事件暂存在磁盘上。服务器日志和 /api/health 说明了原因。',
    },
  },
};
