import type { enInsights } from './en.insights';
import type { Translated } from './texts';

/**
 * Texts of findings by kind. `{{name}}` is a number of the finding, or its `function`, `actor_class` or
 * `caller`. Kinds that are missing here, such as those of custom detectors, use the texts of their detector.
 */
export const zhKinds: Record<string, { title: string; advice: string }> = {
  actor_bottleneck: {
    title: '单个 Actor 是瓶颈',
    advice:
      '{{actor}} 从第一次调用到最后一次调用有 {{busy}} 的时间在忙，平均有 {{queue}} 个调用在等它。请把调用分散到多个 Actor；如果调用大多在等待，可让它并发执行（async 方法、max_concurrency）。',
  },
  actor_memory_grows: {
    title: 'Actor 的内存逐次调用增长',
    advice:
      '{{actor}} 的进程在 {{calls}} 次调用中从 {{first_bytes}} 增长到 {{last_bytes}}，每次调用增加 {{each_bytes}}。{{actor_class}} 有 {{actors}} 个 Actor 如此。如果它有意保留结果或缓存，请加以限制；否则请查找是什么一直引用着旧值，例如使用 tracemalloc，或定期重启该 Actor。',
  },
  data_issue: {
    title: 'Ray Data 报告了问题',
    advice: 'Ray Data 对算子 {{operator}} 的报告（{{issue}}）：{{message}}',
  },
  data_skew: {
    title: '数据不均',
    advice:
      '{{function}} 的 {{calls}} 次调用中有 {{skewed}} 次拿到多达 {{largest_bytes}} 的参数，耗时最长 {{longest_ns}}；中位数分别是 {{median_bytes}} 和 {{median_ns}}。耗时随数据量增长（相关系数 {{correlation}}）。请把数据分得更均匀：增加分区，或换一个分区键。',
  },
  deadlock: {
    title: '死锁：等待者占着被等待者所需的资源',
    advice:
      '{{function}} 有 {{tasks}} 个任务，每个需要 {{needed}} 个 {{resource}}。够用的部分都被 {{holders}} 个 {{holder}} 占着，而它们阻塞在 ray.get 中等这些任务运行。已有 {{quiet_ns}} 没有任何进展，也不会再有。请让 {{holder}} 少占用 {{resource}}，限制其同时运行的数量，或由调用者提交 {{function}} 并传递引用。',
  },
  driver_bound: {
    title: 'Driver 是瓶颈',
    advice:
      'Driver 在各次提交之间自己计算了 {{own_ns}}（占作业的 {{share}}），其间平均只有 {{running}} 个任务在运行。请把这些工作移到任务中，或由多个任务来提交。',
  },
  filled_node_memory: {
    title: '其他函数占满了节点内存',
    advice:
      '节点 {{node}} 内存不足，{{killed}} 有 {{kills}} 个进程被终止。当时 {{name}} 的 {{processes}} 个进程在该节点上占用 {{held_bytes}}，最大的占 {{peak_bytes}}，而节点共有 {{node_memory_bytes}}。请用 memory= 为 {{name}} 预留内存，使两者在同一节点上不超出其内存，或让 {{name}} 占用更少内存。',
  },
  forked_process: {
    title: 'Driver 或 Worker 中 fork 了进程',
    advice:
      '{{place}} 至少 fork 了 {{forks}} 个进程。fork 出的进程共用 Ray 的连接，却没有处理这些连接的线程：消息可能错乱，进程也可能卡在这些线程当时持有的锁上。请用 spawn 方式启动进程，或改用任务和 Actor。',
  },
  get_in_loop: {
    title: '循环中调用 ray.get',
    advice:
      '{{function}} 的 {{calls}} 次调用逐个提交，每次提交后都立即 ray.get，因此同时最多只有一个在运行。请先全部提交，再用一次 ray.get 取回所有结果。如果后一次调用需要前一次的结果，请传递引用而不是值。',
  },
  gpu_idle: {
    title: '预留的 GPU 空闲',
    advice:
      '{{name}} 在 {{nodes}} 个节点上预留 GPU 达 {{held_ns}}，其间 GPU 只有 {{busy}} 在忙。请把数据准备放到单独的 CPU 任务中，让 GPU 不必等数据；增大批量；或让更多任务共享一块 GPU：num_gpus={{less}}。',
  },
  hang: {
    title: '作业卡住',
    advice:
      '已有 {{quiet_ns}} 没有任务开始或结束，而仍有 {{open}} 个任务未完成。等待关系：{{chain}}。请让其中一个返回而不是等待：传递引用、把方法改为 async，或增加 Actor 的线程（max_concurrency）。',
  },
  head_overloaded: {
    title: '头节点过载',
    advice:
      '头节点的 CPU 平均 {{head_busy}} 在忙，而其余 {{workers}} 个节点只有 {{others_busy}}。调度器、对象目录，通常还有 Driver 都在头节点上，也在等 CPU。请不要在头节点上运行任务和 Actor（num_cpus=0），或换更大的机器。',
  },
  idle_actors: {
    title: '空闲的 Actor 占着资源',
    advice:
      '{{actors}} 个 {{actor_class}} 占用了集群 {{total}} 个 {{resource}} 中的 {{held}} 个，却只有 {{busy}} 的时间在执行，而任务等待 {{resource}} 达 {{waited_ns}}。请让它们少占资源（大多在等待的 Actor 可用 num_cpus=0），减少数量，或在完成后将其结束。',
  },
  idle_gap: {
    title: 'CPU 在屏障处空闲',
    advice:
      'ray.get 有 {{barriers}} 次等到一个阶段全部完成才提交下一阶段；在这些阶段的最后 {{tail_ns}} 里，{{cpus}} 个 CPU 有 {{idle_share}} 空闲。请传递引用，让任务在自己的参数就绪时就开始，或用 ray.wait 先处理已完成的结果。',
  },
  leaked_objects: {
    title: '无人使用的对象占满对象存储',
    advice:
      '{{name}} 的 {{objects}} 个对象（共 {{unused_bytes}}）在作业结束时仍在对象存储中，但至少 {{unused_ns}} 没有人使用过。它们的引用仍被某处持有：列表、Actor 的属性或闭包。取完值后请删除引用（del refs），让 Ray 在不得不溢写之前释放内存。',
  },
  large_argument: {
    title: '大参数每次调用都被复制',
    advice:
      '{{function}} 的 {{calls}} 次调用按值传入了同一个 {{argument_bytes}} 的值，因此它被序列化并存储了 {{calls}} 次。请用 ray.put 存储一次，然后传递引用。',
  },
  large_closure: {
    title: '函数携带了大对象',
    advice:
      '{{function}} 序列化后有 {{code_bytes}}，因为它使用了在其外部定义的大对象。Ray 会把它随代码一起上传，每个 Worker 都要下载并反序列化：{{workers}} 个 Worker 共花了 {{loading_ns}}。请用 ray.put 存储该对象，并把引用作为参数传递。',
  },
  locality: {
    title: '任务没有在数据所在处运行',
    advice:
      '{{function}} 的 {{calls}} 次调用中有 {{away}} 次从其他节点获取了 {{moved_bytes}}，而那些节点当时有空位。Ray 优先选择拥有任务大部分参数的节点：请去掉 scheduling_strategy（SPREAD、节点亲和），并把引用直接作为参数传递，而不是放在列表里。',
  },
  many_objects_get: {
    title: '一次 ray.get 取回过多对象',
    advice:
      '一次 ray.get 同时需要 {{objects}} 个对象，共 {{got_bytes}}，而节点的对象存储只有 {{store_bytes}}。放不下的会写到磁盘再读回，甚至使作业失败。请用 ray.wait 在结果完成时分批取回，并及时释放每一批。',
  },
  memory_not_requested: {
    title: '没有预留内存',
    advice:
      '{{function}} 有 {{calls}} 次尝试被测量，平均使用 {{mean_bytes}} 内存，大多数不超过 {{peak_bytes}}，但没有预留内存。一个节点上同时有 {{at_once}} 个在运行，平均共需 {{together_bytes}}，而该节点可供任务使用的内存为 {{node_memory_bytes}}。请用 memory= 为每个预留 {{memory_bytes}}，使该节点最多同时运行 {{fit}} 个。',
  },
  memory_requested_unused: {
    title: '预留的内存多于使用',
    advice:
      '{{function}} 预留 {{reserved_bytes}} 内存，而其 {{calls}} 次被测量的尝试大多不超过 {{peak_bytes}}：有 {{unused_bytes}} 未被使用。一个节点只能同时运行 {{fit}} 个，它的任务共等待了 {{waited_ns}}。请预留 {{memory_bytes}}，这样可以同时运行 {{could}} 个。',
  },
  nested_get: {
    title: '对参数中的引用调用 ray.get',
    advice:
      '{{function}} 的 {{calls}} 次调用对其参数中的引用调用了 ray.get，共等待 {{blocked_ns}}。其间每个都占着一个 Worker，Ray 又启动了 {{workers}} 个。请把引用直接作为参数传递：这样 Ray 会在值就绪时才启动任务。',
  },
  node_death: {
    title: '节点失效',
    advice:
      '节点 {{node}} 失效（{{death}}）。其上的 {{lost}} 次尝试丢失，共 {{lost_ns}} 的工作，大部分是 {{name}}；其中 {{again}} 次已重试。请检查该机器：是被抢占，还是内存不足？请为耗时的工作做检查点，并把 Driver 和不能丢失的内容放在稳定的节点上。',
  },
  object_store_full: {
    title: '对象存储溢写到磁盘',
    advice:
      '作业向磁盘溢写了 {{spilled_bytes}}；有 {{nodes}} 个对象存储（每个 {{capacity_bytes}}）已满。数据大部分来自 {{name}}（共 {{made_bytes}}）。请在不需要时立即释放引用，减少提前提交的任务，返回更少的数据，或给 Ray 更大的对象存储。',
  },
  oom_kill: {
    title: '因内存不足被终止',
    advice:
      '{{function}} 有 {{killed}} 次尝试因节点内存不足被终止，当时该节点上同时有 {{running}} 个任务和调用在运行；共浪费 {{lost_ns}} 的工作。请用 memory= 为每个预留 {{memory_bytes}}，使每个节点同时运行得更少，或让每个任务占用更少内存。如果单个任务也放不下，请使用更大的节点。',
  },
  out_of_band_reference: {
    title: '在 Ray 之外序列化引用',
    advice:
      '{{place}} 至少序列化了 {{references}} 个引用：程序自行序列化，或函数的代码中用到了它们。Ray 无法知道还有谁会使用，因此在该进程存活期间一直保留这些对象。请把引用作为参数或返回值传递，也可以放在列表、字典或对象中。',
  },
  over_asked_cpus: {
    title: '预留的 CPU 多于使用',
    advice:
      '{{name}} 预留 {{reserved}} 个 CPU，只用了 {{used}} 个，而其他任务等待 CPU 达 {{waited_ns}}，机器的 CPU 只有 {{busy}} 在忙。请设置 num_cpus={{needed}}，让更多任务同时运行。',
  },
  pending_resources: {
    title: '等待被他人占用的资源',
    advice:
      '{{waiter}} 有 {{waiting}} 个在等 {{needed}} 个 {{resource}}，最长等了 {{waited_ns}}。其间集群的 {{total}} 个中有 {{held}} 个被占用，大部分属于 {{holder}}（{{holders}} 个）。请在 {{holder}} 完成后将其结束，让它少占用，或增加 {{resource}}。',
  },
  reconstruction: {
    title: '丢失的结果被重新计算',
    advice:
      '{{function}} 有 {{again}} 个任务已经完成，却又运行了共 {{again_ns}}，因为它们的结果丢失了，多半是随所在节点一起丢失的。请把代价高的结果写到共享存储，或保存在稳定的节点上。',
  },
  redefined_function: {
    title: '函数每次调用都重新定义',
    advice:
      '{{function}} 为 {{calls}} 次调用定义了 {{definitions}} 次。每个定义都要序列化、上传并由 Worker 加载，共花了 {{loading_ns}}。请在循环或调用它的函数之外只定义一次，把不同之处作为参数传递。',
  },
  retries: {
    title: '重试浪费的工作',
    advice:
      '{{function}} 有 {{failed}} 次尝试失败后重试，这些尝试共运行了 {{lost_ns}}。原因见 {{function}} 的失败列表。',
  },
  return_put: {
    title: '任务返回 ray.put 的引用',
    advice:
      '{{function}} 的 {{calls}} 次调用用 ray.put 存储结果并返回引用。调用者必须取两次，多花了 {{blocked_ns}}；较小的结果无法随应答一起返回，而且所有结果都会随存储它们的 Worker 一起丢失。请直接返回值；有多个值时使用 num_returns 或生成器。',
  },
  serialization: {
    title: '时间花在打包数据上',
    advice:
      '{{function}} 的 {{calls}} 次调用花了 {{packing_ns}} 解包参数和存储结果（占其时间的 {{share}}），数据共 {{data_bytes}}。NumPy 数组和 Arrow 表完全不需要复制；列表、字典和自定义对象则要逐个打包。请传递数组，或更小的值。',
  },
  short_lived_actors: {
    title: '只用一两次的 Actor',
    advice:
      '{{actors}} 个 {{actor_class}} 平均各运行 {{calls}} 次调用，一生共工作 {{work_ns}}；而启动一个要 {{start_ns}}，因为每个都有自己的进程。请改用任务（Ray 会复用其进程），或保留少量 Actor 处理所有调用（ray.util.ActorPool）。',
  },
  single_core_actor: {
    title: '占多个 CPU，只用一个核',
    advice:
      '{{name}} 预留 {{reserved}} 个 CPU，同时运行 {{threads}} 个调用，忙碌时却只用 {{used}} 个核：Python 的全局锁使同一时刻只有一个线程能计算。请改用多个各占一个 CPU 的 Actor 或任务，或使用在锁外计算的库。',
  },
  slow_node: {
    title: '节点偏慢',
    advice:
      '{{function}} 的调用在节点 {{node}} 上耗时 {{median_ns}}，在其他节点上是 {{others_ns}}，相差 {{times}} 倍，而数据量相近。请检查该机器上还运行着什么，以及它的主频和内存；或把它移出集群。',
  },
  slow_place: {
    title: '慢调用集中在同一个 Actor 或节点',
    advice:
      '{{function}} 的 {{stragglers}} 次慢调用中有 {{shared}} 次在 {{ran_on}} 上运行，耗时最长 {{longest_ns}}；全部 {{calls}} 次调用的中位数是 {{median_ns}}。请先检查 {{ran_on}} 有何不同，再看输入：Actor 保存的状态、它分到的工作量，或其机器上还运行着什么。',
  },
  straggler: {
    title: '掉队任务',
    advice:
      '{{function}} 的 {{calls}} 次调用中有 {{stragglers}} 次耗时最长达 {{longest_ns}}，而中位数是 {{median_ns}}。请把它们的参数和节点与其他调用比较：拆分过大的输入，或检查该节点。',
  },
  submission_order: {
    title: '按提交顺序处理结果',
    advice:
      '{{function}} 的结果按提交顺序逐个取回；调用者等待某个结果的时间里，有 {{blocked_ns}} 后面的结果其实已经就绪。请用 ray.wait 先处理已完成的结果。',
  },
  tiny_tasks: {
    title: '任务粒度过细',
    advice:
      '{{function}} 的 {{calls}} 次调用每次运行时间的中位数只有 {{median_ns}}，比 Ray 运行一个任务的开销还小。请让每次调用完成约 {{batch}} 次的工作量。',
  },
  unbounded_pending: {
    title: '待处理的任务过多',
    advice:
      '{{caller_name}} 同时有 {{pending}} 个任务待处理，并持续提交了 {{submitting_ns}}。每个任务及其参数和结果在完成前都占用内存。请限制待处理的数量：当每个 CPU 已有几个任务时，先用 ray.wait 等待再提交下一个。',
  },
  under_asked_cpus: {
    title: '使用的 CPU 多于预留',
    advice:
      '{{name}} 预留 {{reserved}} 个 CPU，却使用 {{used}} 个核，因此 Ray 在一个节点上放了超过其 CPU 能力的任务，全都变慢。请设置 num_cpus={{needed}}，或限制所调用的库的线程数（OMP_NUM_THREADS）。',
  },
  unnecessary_get: {
    title: '取回的值只是为了继续传递',
    advice:
      '调用者用 ray.get 取回 {{function}} 的 {{calls}} 个值（每个 {{value_bytes}}），再按值传给 {{taker}}，因此每个值都多取回并存储了一次，共花了 {{copying_ns}}。如果调用者不另作他用，请直接传递引用。',
  },
  unschedulable: {
    title: '无法调度',
    advice:
      '{{function}} 有 {{tasks}} 个任务从未开始：每个需要 {{needed}} {{resource}}，而最大的节点只有 {{largest}}。请减少需求，或增加拥有该资源的节点。',
  },
  unschedulable_group: {
    title: '放置组无法放置',
    advice:
      '{{group}}（{{bundles}} 个 Bundle，{{strategy}}）一直没有放置。请使用更小的 Bundle，或增加节点。各策略中，PACK 和 SPREAD 的要求比 STRICT 策略低。',
  },
  waiting_actor: {
    title: 'Actor 等待任务时占着 CPU',
    advice:
      '{{actors}} 个 {{actor_class}} 在 ray.get 中等待 {{name}} 的 {{tasks}} 个任务，而这些任务为等 CPU 最长等了 {{waited_ns}}。其间等待中的 Actor 占着集群 {{total}} 个 CPU 中的 {{held}} 个。任务等待时 Ray 会把它的 CPU 借给别人，Actor 的则不会。请让 {{actor_class}} 不预留 CPU，或让它返回引用，由调用者取回结果。',
  },
  worker_startup: {
    title: 'Worker 启动过于频繁',
    advice:
      '任务或 Actor 有 {{starts}} 次等待新的 Worker，共 {{startup_ns}}，而同时运行的最多只有 {{at_once}} 个。一个 Worker 只服务一个运行时环境。请为作业设置一个运行时环境，保留并复用 Actor，让每个任务多做一些工作。',
  },
};

/** Labels of the numbers in findings. */
const numbers: Record<string, string> = {
  actors: 'Actor 数',
  again: '重新运行',
  again_ns: '重新计算',
  argument_bytes: '参数大小',
  at_once: '同时运行',
  away: '不在数据所在处',
  barriers: '屏障',
  batch: '每批',
  between_ns: '其间计算',
  blocked_ns: '阻塞',
  bundles: 'Bundle 数',
  busy: '忙碌',
  calls: '调用次数',
  capacity_bytes: '容量',
  chain: '等待关系',
  code_bytes: '代码大小',
  copying_ns: '复制耗时',
  correlation: '相关系数',
  cpus: 'CPU',
  data_bytes: '数据量',
  death: '失效原因',
  definitions: '定义次数',
  failed: '失败',
  forks: 'fork 次数（至少）',
  full_share: '满载时间占比',
  gets: 'get 次数',
  got_bytes: '取回的数据',
  group: '放置组',
  head_busy: '头节点忙碌',
  held: '被占用',
  held_ns: '占用时长',
  holder: '占用者',
  holders: '占用者数',
  idle_share: '空闲',
  issue: '问题类型',
  killed: '被终止',
  largest: '最大节点',
  largest_bytes: '最大数据量',
  loading_ns: '加载耗时',
  longest_ns: '最长',
  lost: '丢失',
  lost_ns: '浪费',
  made_bytes: '产生的数据',
  median_bytes: '数据量中位数',
  median_ns: '中位数',
  memory_bytes: '每个的内存',
  less: '每个预留 GPU（建议）',
  message: '消息',
  more: 'Actor 数（建议）',
  moved_bytes: '传输的数据',
  name: '名称',
  needed: '需要',
  node: '节点',
  node_memory_bytes: '节点内存',
  nodes: '节点数',
  objects: '对象数',
  open: '未完成',
  operator: '算子',
  others_busy: '其他节点忙碌',
  others_ns: '其他节点',
  own_ns: '自身计算',
  packing_ns: '打包耗时',
  pending: '待处理',
  place: '代码位置',
  queue: '排队',
  quiet_ns: '无进展时长',
  ran_on: '运行位置',
  reason: '原因',
  references: '引用数（至少）',
  reserved: '预留',
  resource: '资源',
  running: '运行中',
  share: '占比',
  shared: '其中位于此处',
  skewed: '数据过多的调用',
  spilled_bytes: '溢写',
  start_ns: '启动耗时',
  starts: '启动次数',
  startup_ns: '启动耗时',
  store_bytes: '对象存储',
  stragglers: '掉队',
  strategy: '策略',
  submitting_ns: '提交耗时',
  tail_ns: '屏障前空闲时长',
  taker: '接收者',
  tasks: '任务',
  threads: '同时调用',
  times: '倍数',
  total: '总量',
  used: '使用',
  value_bytes: '值的大小',
  unused_bytes: '无人使用',
  unused_ns: '未使用时长',
  waited_ns: '等待时长',
  waiter: '等待者',
  waiting: '等待中',
  work_ns: '工作时长',
  workers: '其他节点数',
};

export const zhInsights: Translated<typeof enInsights> = {
  insights: {
    job: '作业',
    loading: '正在重放作业',
    none: '还没有可诊断的作业',
    noneText: '作业运行任务后，这里会显示它为什么慢。',
    verdict: {
      driver: '瓶颈在 Driver：{{whole}} 中它自己运行了 {{took}}。',
      actor: '瓶颈是一个 Actor：{{whole}} 中 {{name}} 运行了 {{took}}，其他调用在等它。',
      actors: '瓶颈是多个 Actor：{{whole}} 中 {{name}} 运行了 {{took}}，其他调用在等它。',
      cluster: '瓶颈是集群规模：{{whole}} 中 {{name}} 运行了 {{took}}，其他任务在等待空位。',
      function: '瓶颈是一个函数：{{whole}} 中 {{name}} 运行了 {{took}}。',
      awaiting: '瓶颈在一个 async 方法：{{whole}} 中 {{name}} 异步等待了 {{took}}。',
      waiting_args: '瓶颈在数据：{{whole}} 中有 {{took}} 任务在等待参数。',
      waiting_node: '瓶颈在资源：{{whole}} 中有 {{took}} 任务在等待资源。',
      starting_worker: '瓶颈在启动 Worker：{{whole}} 中有 {{took}} 任务在等待新的 Worker。',
      queued: '瓶颈在排队：{{whole}} 中有 {{took}} 任务在其 Worker 前排队。',
      loading: '瓶颈在加载代码：{{whole}} 中花了 {{took}}。',
      fetching: '瓶颈在数据：{{whole}} 中有 {{took}} 任务在获取和解包参数。',
      storing: '瓶颈在数据：{{whole}} 中有 {{took}} 任务在存储结果。',
      blocked: '瓶颈在结果的传递：{{whole}} 中有 {{took}} 是结果产生之后才过去的。',
      retrying: '瓶颈在失败：{{whole}} 中有 {{took}} 任务在等待重试。',
      preparing: '瓶颈在首个任务之前：{{whole}} 中 Driver 准备了 {{took}}。',
      finishing: '瓶颈在最后一个任务之后：{{whole}} 中 Driver 又运行了 {{took}}。',
      unknown: '{{whole}} 中有 {{took}} 不知道作业在等什么。',
    },
    explained: {
      executing:
        '{{name}} 自身运行了 {{took}}。查看其最耗时的代码行，或在代码中使用 `rayscope.span`，即可看出哪一部分耗时。',
      awaiting: '{{name}} 异步等待了 {{took}}：休眠、等待 I/O、等待锁，或等待事件循环调度。',
      training: '{{name}} 等待训练 Worker {{took}}。各 rank 每一步的耗时见 Train 页面。',
      driver: 'Driver 自身的代码运行了 {{took}}。用 `rayscope.span` 标记各部分，即可看出哪一部分耗时。',
      preparing: '首个任务之前 Driver 运行了 {{took}}。用 `rayscope.span` 标记各部分，即可看出哪一部分耗时。',
      finishing:
        '最后一个任务之后 Driver 又运行了 {{took}}。用 `rayscope.span` 标记各部分，即可看出哪一部分耗时。',
      waiting_args: '任务等待参数 {{took}}，主要是 {{name}}。',
      waiting_node: '任务等待资源 {{took}}，主要是 {{name}}。“节点”页面显示资源被谁占用。',
      starting_worker:
        '任务等待 Worker 启动和导入模块 {{took}}，主要是 {{name}}。减少任务数量并加长单个任务、复用 Actor、统一运行时环境，可以少启动 Worker。',
      queued: '调用在忙碌的 Worker 或 Actor 前排队 {{took}}，主要是 {{name}}。',
      loading: 'Worker 加载代码用了 {{took}}，主要是 {{name}} 的代码。',
      fetching: '任务获取和解包参数用了 {{took}}，主要是 {{name}}。',
      storing: '任务存储结果用了 {{took}}，主要是 {{name}}。',
      blocked: '结果产生之后，又过了 {{took}} {{name}} 才继续运行。',
      retrying: '失败的任务等待重试 {{took}}，主要是 {{name}}。',
      unknown: '作业在 {{took}} 内做了什么没有记录。追踪器会记录谁在等谁：请用 `rayscope run` 启动程序。',
    },
    aTask: '某个任务',
    theActor: '查看该 Actor',
    mostOn: '大部分在 {{place}}',
    asOf: '截至 {{time}}',
    theDriver: 'Driver',
    range: '{{low}} 至 {{high}}',
    upTo: '至多 {{high}}',
    remedy: {
      finding: '解决“{{title}}”（{{place}}）可节省约 {{saving}}，即 {{share}}%（90% 把握：{{range}}）。',
      findingOfJob: '解决“{{title}}”可节省约 {{saving}}，即 {{share}}%（90% 把握：{{range}}）。',
      cost: '请先解决“{{title}}”（{{place}}）：它最多占用 {{cost}}，即 {{share}}%。',
      costOfJob: '请先解决“{{title}}”：它最多占用 {{cost}}，即 {{share}}%。',
      function: '{{name}} 的耗时减半可节省约 {{saving}}，即 {{share}}%（90% 把握：{{range}}）。',
      option: '{{name}}可节省约 {{saving}}，即 {{share}}%（90% 把握：{{range}}）。',
    },
    option: {
      no_startup: '免去 Worker 启动',
      no_stragglers: '没有掉队任务',
      no_retries: '没有重试',
      no_transfer: '免去获取数据',
      twice_the_cpus: 'CPU 翻倍',
    },
    optionHint: {
      no_startup: '需要时 Worker 已经就绪',
      no_stragglers: '没有调用比其函数通常的耗时长很多',
      no_retries: '没有尝试失败后重试',
      no_transfer: '参数和结果无需获取和解包',
      twice_the_cpus: '集群的 CPU 数量翻倍',
    },
    facts: {
      duration: '耗时',
      soFar: '已耗时',
      soFarHint: '截至 {{time}}。作业仍在运行：以下内容可能变化。',
      attempts: '尝试次数',
      utilisation: 'CPU 利用率',
      utilisationHint: '所有 CPU 的时间中被任务和 Actor 预留的部分',
      error: '重放误差',
      errorHint: '预测的可信程度：不作改变地重放，作业耗时 {{replayed}}。',
    },
    notRecorded: {
      title: '未记录：',
      tracer_off: '等待和对象。追踪器没有从作业的进程报告任何内容。',
      dropped: '{{events}} 个事件在作业运行期间被丢弃，可能缺少任务或时间。',
    },
    withheld: {
      title: '不作预测。',
      notYet: '暂无预测。',
      consequence: '各项发现给出的是最多损失多少，而不是解决后能节省多少。',
      inaccurate: '不作改变地重放，作业耗时 {{replayed}}，而实际是 {{recorded}}。误差超过 50% 时不作预测。',
      no_driver: '没有此作业 Driver 的记录，因此不知道它在等什么。',
      not_traced:
        '不知道作业的 Driver 和任务在等什么：追踪器没有从中报告任何内容。请用 `rayscope run` 启动程序，或用 `rayscope start` 启动集群。',
      stuck: '重放作业时到了一个所有部分都在等待的状态。',
      takes_long: '作业有 {{attempts}} 次尝试，重放需要一分钟以上。',
      too_large: '作业有 {{attempts}} 次尝试，超过了可分析的数量。',
      later: '重放将在作业结束后开始。',
      replaying: '正在重放：{{percents}}%',
    },
    causes: {
      title: '时间花在哪里',
      hint: '关键路径：作业每一刻在等什么',
      other: '其余部分',
    },
    findings: {
      title: '发现',
      noneText: '没有检测到占作业时间 1% 或以上的问题，也没有发现风险。',
      saves: '可节省约 {{time}}，{{share}}%（90% 把握：{{range}}）',
      savesAbout: '可节省约 {{time}}，{{share}}%',
      costs: '最多损失 {{time}}（{{share}}%）',
      risk: '存在风险',
      free: '不耗费时间：没有任务等待过它',
      caller: '调用者：{{name}}',
      confidence: { high: '可信度高', medium: '可信度中', low: '可信度低' },
      evidence: '依据',
      copySketch: '复制代码',
      doc: 'Ray 文档：{{page}}',
      tasks: '查看这些任务',
      gantt: '在甘特图上查看',
      more: '再显示 {{n}} 项',
      silent: '{{n}} 项检查数据不足',
      open: '查看发现：{{title}}',
    },
    gains: {
      title: '先优化什么',
      hint: '如果每个函数的耗时减半，作业能节省多少',
      otherTitle: '其他有帮助的改变',
      function: '函数',
      attempts: '尝试次数',
      own: '自身时间',
      ownHint: '其各次尝试的计算时间，不含等待',
      saving: '可节省',
      savingHint: '最佳估计，以及把握为 90% 的范围',
      share: '占总耗时',
      some: '共 {{all}} 个函数，列出耗时最多的 {{n}} 个',
      more: '再显示 {{n}} 项',
      try: '试一试：{{change}}',
    },
    whatif: {
      title: '假设分析',
      hint: '按所选的改变重放作业来预测',
      choose: '选择要改变什么，或点击上面的一行',
      chooseText: '这里会显示作业将耗时多久，以及之后的瓶颈在哪里。',
      reset: '重置',
      remove: '移除：{{change}}',
      ofFunction: '某个函数',
      function: '函数',
      speed: '速度',
      speedOf: '{{times}} 倍',
      numCpus: '每次调用请求的 CPU 数',
      batch: '合并的调用数',
      oneGet: '一次取回它的全部结果',
      ofCluster: '集群',
      cpus: '增加 CPU',
      nodes: '增加节点',
      ofActors: 'Actor',
      className: '类',
      actors: '增加 Actor',
      without: '假设',
      asIs: '不变',
      change: {
        speed: '{{name}} 的速度为 {{n}} 倍',
        cpus: '增加 {{n}} 个 CPU',
        nodes: '增加 {{n}} 个节点',
        actors: '增加 {{n}} 个 {{name}}',
        num_cpus: '{{name}} 每次 {{n}} 个 CPU',
        batch: '{{name}} 每批 {{n}} 个',
        one_get: '{{name}}：一次取回全部结果',
      },
      before: '实际',
      after: '改变之后',
      saves: '速度为 {{times}} 倍：可节省约 {{time}}，{{share}}%（90% 把握：{{range}}）',
      costs: '速度为 {{times}} 倍：会多耗时约 {{time}}，{{share}}%（90% 把握：{{range}}）',
      same: '没有差别',
      utilisation: 'CPU 利用率：之前 {{before}}%，之后 {{after}}%',
      path: '新的关键路径',
      pathHint:
        '按时间画出最长的 {{n}} 段（占 {{share}}%），以及全部路径由哪些函数组成。点击一段可查看其任务。',
      phase: { executing: '执行', waiting: '等待', starting: '启动' },
      stuck: '采用这些改变后，重放到了一个所有部分都在等待的状态。',
    },
    ofLibrary: '这是 {{library}} 的代码：请改变作业使用它的方式，而不是这段代码。',
    kinds: zhKinds,
    numbers,
  },
};
