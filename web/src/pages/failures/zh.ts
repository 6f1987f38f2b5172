import type { Translated } from '../../base/i18n/texts';
import type { en } from './en';

export const zh: Translated<typeof en> = {
  nav: { failures: '失败' },
  intro: { failures: '按错误和源码行归类的失败，未能由重试恢复的排在前面。' },
  failures: {
    empty: '没有失败',
    emptyText: '此会话中没有失败的尝试。',
    groups: '{{n}} / {{of}} 组，共 {{attempts}} 次失败的尝试',
    outcome: '结果',
    outcomes: { final: '失败', retrying: '正在重试', recovered: '已由重试恢复' },
    tasks: '任务：失败 {{final}}，正在重试 {{retrying}}，已由重试恢复 {{recovered}}',
    count: '次数',
    countHint: '失败的尝试次数',
    line: '源码行',
    lineHint: '错误堆栈中最内层的您的代码',
    copyLine: '复制 {{path}}',
    newest: '最近一次尝试的错误堆栈和日志：',
    stopped: '由库主动终止：{{n}}',
    stoppedHint:
      '被 Ray 各库主动取消的尝试，或因其终止自身 Actor 而中断的尝试。Ray 将其标记为失败，此处不计为失败。',
    first: '首次',
    last: '最近',
    more: '已显示 {{shown}} / {{n}}。查看该函数此类错误的全部失败尝试',
  },
};
