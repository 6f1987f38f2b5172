import { useTranslation } from 'react-i18next';
import type { MergedFrame } from '../api/schema';
import { count } from '../base/format';

/** The name of a frame: its function, or a description of a line without code. */
export function useCodeName(): (frame: MergedFrame) => string {
  const { t } = useTranslation();
  return (frame) => {
    if (frame.kind === 'thread') return t('frames.thread', { name: frame.name || t('common.unknown') });
    if (frame.kind === 'cut') return t('frames.cut', { n: count(frame.line ?? 0) });
    if (frame.kind === 'await') return t('frames.await');
    if (frame.kind === 'none') return t('frames.none');
    return frame.name;
  };
}

/** `pkg/mod.py:12`; empty for lines without code. */
export function placeOf(frame: MergedFrame): string {
  if (frame.kind !== 'code') return '';
  return frame.line === null ? frame.file : `${frame.file}:${frame.line}`;
}
