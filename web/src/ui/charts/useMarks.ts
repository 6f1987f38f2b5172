import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { refreshEnded } from '../../api/connection';
import { answerTo } from '../../api/queries';
import { programName } from '../../base/format';
import type { Tone } from '../../base/tokens';

/** An event that may explain a bend in a chart. */
export interface Mark {
  /** ms since the epoch. */
  ms: number;
  tone: Tone;
  text: string;
}

/** Job starts, node deaths and alerts of a session. All charts share them, so they are fetched once. */
export function useMarks(session: string): Mark[] {
  const { t } = useTranslation();
  const events = useQuery({
    ...answerTo('/events', { session, kind: 'job,node', limit: 500 }),
    refetchInterval: refreshEnded,
  }).data;
  const alerts = useQuery({
    ...answerTo('/alerts/history', { session, limit: 200 }),
    refetchInterval: refreshEnded,
  }).data;
  return useMemo(() => {
    const marks: Mark[] = [];
    for (const { event, severity, time_ns, title } of events?.items ?? []) {
      const name = title ?? '';
      if (event === 'JOB_STARTED')
        marks.push({
          ms: time_ns / 1e6,
          tone: 'busy',
          text: t('charts.mark.job', { name: programName(name) || name }),
        });
      // A node that terminated as expected, or together with its session, explains nothing.
      if (event === 'NODE_DEAD' && severity === 'ERROR')
        marks.push({ ms: time_ns / 1e6, tone: 'bad', text: t('charts.mark.node', { name }) });
    }
    for (const { after, time_ns, rule, labels } of alerts?.items ?? [])
      if (after === 'firing' && labels.severity !== 'info')
        marks.push({ ms: time_ns / 1e6, tone: 'waiting', text: t('charts.mark.alert', { name: rule }) });
    return marks.sort((a, b) => a.ms - b.ms);
  }, [events, alerts, t]);
}

interface PlacedMark {
  /** Distance from the left edge of the plot, px. */
  x: number;
  marks: Mark[];
}

/** The marks within a range, placed in a plot of the given width. Overlapping marks are merged. */
export function placed(marks: readonly Mark[], from: number, to: number, width: number): PlacedMark[] {
  const found: PlacedMark[] = [];
  for (const mark of marks) {
    if (mark.ms < from || mark.ms > to) continue;
    const x = ((mark.ms - from) / Math.max(1, to - from)) * width;
    const before = found[found.length - 1];
    if (before !== undefined && x - before.x < MARK_WIDTH) before.marks.push(mark);
    else found.push({ x, marks: [mark] });
  }
  return found;
}

/** Width of the handle of a mark, px. */
const MARK_WIDTH = 9;
