import { Button } from '@mantine/core';
import { useCallback, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ComparedRun } from '../../api/schema';
import { Duration } from '../../ui/Duration';
import { ErrorPanel } from '../../ui/ErrorPanel';
import words from '../../ui/theme/words.module.css';
import { SessionContext } from '../../ui/useUrl';
import { GanttChart } from '../../views/gantt/GanttChart';
import { within } from '../../views/gantt/gantt';
import { useGanttFind } from '../../views/gantt/useGanttFind';
import { type SharedAxis, useGanttShown } from '../../views/gantt/useGanttShown';
import type { Span } from '../../views/shared/span';
import css from './Pictures.module.css';
import type { PictureProps, SideName } from './sides';
import { useRunState } from './useRunState';

const SIDES: readonly SideName[] = ['a', 'b'];

/** The Gantt charts of both runs on one axis: the time since the start of each run. */
export default function GanttPicture({ runs }: PictureProps) {
  const { t } = useTranslation();
  const [window, setWindow] = useState<Span | null>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const onMove = useCallback(
    (next: Span | null, limits: Span) => setWindow(next === null ? null : within(next, limits)),
    [],
  );
  const whole = { begin: 0, end: Math.max(1, runs.a.duration_ns, runs.b.duration_ns) };
  return (
    <>
      <div className={css.controls}>
        <Button
          size="compact-xs"
          variant="default"
          disabled={window === null}
          onClick={() => setWindow(null)}
          data-testid="compared-gantt-fit"
        >
          {t('gantt.fit')}
        </Button>
        <span className={css.legend}>{t('compare.pictures.ganttHint')}</span>
      </div>
      {SIDES.map((side) => (
        <Side
          key={side}
          side={side}
          run={runs[side]}
          axis={{ zero: runs[side].begin_ns, whole, window, onMove }}
          cursor={{ at: cursor, onMove: setCursor }}
        />
      ))}
    </>
  );
}

interface SideProps {
  side: SideName;
  run: ComparedRun;
  axis: SharedAxis;
  cursor: { at: number | null; onMove: (at: number | null) => void };
}

function Side(props: SideProps) {
  const { side, run } = props;
  const { t } = useTranslation();
  const state = useRunState(run, 'gantt');
  return (
    <SessionContext.Provider value={state}>
      <section className={css.gantt} data-testid={`compared-gantt-${side}`}>
        <h3>
          {t(`compare.total.${side}`)}{' '}
          <span className={words.dim}>
            · {run.name || run.job_id} · <Duration ns={run.duration_ns} />
          </span>
        </h3>
        <Chart {...props} />
      </section>
    </SessionContext.Provider>
  );
}

function Chart({ axis, cursor }: SideProps) {
  const { t } = useTranslation();
  const { data, nodes, query, shift, shown, setWidth, onMove, onLanes } = useGanttShown(axis);
  const canvas = useRef<HTMLCanvasElement>(null);
  const find = useGanttFind(data, '');
  if (query.error !== null && data === undefined)
    return <ErrorPanel error={query.error} onRetry={() => void query.refetch()} />;
  if (data?.attempts === 0) return <p className={words.dim}>{t('gantt.empty')}</p>;
  return (
    <GanttChart
      data={data}
      nodes={nodes}
      shift={shift}
      window={shown}
      path={undefined}
      pathShift={0}
      canvas={canvas}
      range={null}
      kept={null}
      find={find}
      onWidth={setWidth}
      onMove={onMove}
      onLanes={onLanes}
      cursor={cursor}
    />
  );
}
