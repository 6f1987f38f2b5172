import type { Translated } from '../../base/i18n/texts';
import type { en } from './en';

export const zh: Translated<typeof en> = {
  nav: { tasks: '任务' },
  intro: { tasks: '每个任务和 Actor 调用的每次尝试：等了什么，用了多久。' },
};
