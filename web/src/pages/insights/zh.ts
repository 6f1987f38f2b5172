import type { Translated } from '../../base/i18n/texts';
import type { en } from './en';

export const zh: Translated<typeof en> = {
  nav: { insights: '诊断' },
  intro: { insights: '作业为什么慢，怎样改进，能节省多少时间。' },
};
