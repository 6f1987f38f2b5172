"""Chinese titles of findings, for the Chinese texts of alerts. The UI has the same titles
(``zh.insights.ts``).
"""

from __future__ import annotations

from collections.abc import Mapping

#: Kind of finding -> its title.
FINDING_TITLES_ZH = {
    "actor_bottleneck": "单个 Actor 是瓶颈",
    "actor_memory_grows": "Actor 的内存逐次调用增长",
    "data_issue": "Ray Data 报告了问题",
    "data_skew": "数据不均",
    "deadlock": "死锁：等待者占着被等待者所需的资源",
    "driver_bound": "Driver 是瓶颈",
    "filled_node_memory": "其他函数占满了节点内存",
    "forked_process": "Driver 或 Worker 中 fork 了进程",
    "get_in_loop": "循环中调用 ray.get",
    "gpu_idle": "预留的 GPU 空闲",
    "hang": "作业卡住",
    "head_overloaded": "头节点过载",
    "idle_actors": "空闲的 Actor 占着资源",
    "idle_gap": "CPU 在屏障处空闲",
    "leaked_objects": "无人使用的对象占满对象存储",
    "large_argument": "大参数每次调用都被复制",
    "large_closure": "函数携带了大对象",
    "locality": "任务没有在数据所在处运行",
    "many_objects_get": "一次 ray.get 取回过多对象",
    "memory_not_requested": "没有预留内存",
    "memory_requested_unused": "预留的内存多于使用",
    "nested_get": "对参数中的引用调用 ray.get",
    "node_death": "节点失效",
    "object_store_full": "对象存储溢写到磁盘",
    "oom_kill": "因内存不足被终止",
    "out_of_band_reference": "在 Ray 之外序列化引用",
    "over_asked_cpus": "预留的 CPU 多于使用",
    "pending_resources": "等待被他人占用的资源",
    "reconstruction": "丢失的结果被重新计算",
    "redefined_function": "函数每次调用都重新定义",
    "retries": "重试浪费的工作",
    "return_put": "任务返回 ray.put 的引用",
    "serialization": "时间花在打包数据上",
    "short_lived_actors": "只用一两次的 Actor",
    "single_core_actor": "占多个 CPU，只用一个核",
    "slow_node": "节点偏慢",
    "slow_place": "慢调用集中在同一个 Actor 或节点",
    "straggler": "掉队任务",
    "submission_order": "按提交顺序处理结果",
    "tiny_tasks": "任务粒度过细",
    "unbounded_pending": "待处理的任务过多",
    "under_asked_cpus": "使用的 CPU 多于预留",
    "unnecessary_get": "取回的值只是为了继续传递",
    "unschedulable": "无法调度",
    "unschedulable_group": "放置组无法放置",
    "waiting_actor": "Actor 等待任务时占着 CPU",
    "worker_startup": "Worker 启动过于频繁",
}


def with_chinese_title(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Return the labels of a series. If they describe a finding, their ``title`` is in Chinese."""
    title = FINDING_TITLES_ZH.get(labels.get("kind", ""))
    return {**labels, "title": title} if title and "title" in labels else labels
