import type { Translated } from '../../base/i18n/texts';
import type { en } from './en';

export const zh: Translated<typeof en> = {
  nav: { functions: '函数' },
  intro: { functions: '按函数统计时间花在哪里，点击函数可查看其各次调用，最慢的在前。' },
  functions: {
    shareOfPath: '占关键路径的比例：作业耗时由它决定',
    shareOfExecuting: '占所列全部函数执行时间的比例',
    byPath: '占比按 {{job}} 的关键路径计算。',
    byExecuting: {
      pending: '关键路径算出之前，占比按执行时间计算。',
      failed: '没有经过任务的关键路径，占比按执行时间计算。',
      range: '占比按执行时间计算：关键路径针对整个作业，而不是其中一部分。',
    },
    parts: '时间去向',
    partsHint: '总时间的各部分：等待（不含准备）、准备、执行、异步等待、阻塞和存储',
    ofDuration: '该函数各次尝试的耗时',
    memory: { p50: '内存 p50', p95: '内存 p95', max: '峰值内存' },
    all: '共 {{n}} 个函数。点击可查看各次尝试，最慢的在前。',
    top: '耗时最多的 {{n}} 个函数，可能还有更多。点击可查看各次尝试，最慢的在前。',
    empty: '还没有函数运行过',
  },
};
