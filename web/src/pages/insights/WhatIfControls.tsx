import { NumberInput, Select, Slider, Switch } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Change } from '../../api/insights';
import { answerTo } from '../../api/queries';
import type { InsightsAnswer } from '../../api/schema';
import { useSessionUrl } from '../../ui/useUrl';
import { amountOf, changeOf, partsOfChange, withChange, withoutChange } from './changes';
import css from './WhatIfControls.module.css';

/** Speeds that the slider offers, as multiples of the current speed. */
const SPEEDS = [0.25, 0.33, 0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10] as const;
const MARKS = [0.25, 1, 2, 4, 10].map((times) => ({
  value: SPEEDS.indexOf(times as 1),
  label: `${times}×`,
}));
const OPTIONS = ['no_startup', 'no_stragglers', 'no_retries', 'no_transfer'] as const;

interface Props {
  insights: InsightsAnswer;
  changes: Change[];
  setChanges: (next: (before: Change[]) => Change[]) => void;
}

/**
 * Controls for all possible changes: the speed of functions, the cluster's size, the number of actors, and
 * what to leave out.
 */
export function WhatIfControls({ insights, changes, setChanges }: Props) {
  const { t } = useTranslation();
  const set: SetAmount = (kind, name, amount) =>
    setChanges((before) =>
      amount === undefined
        ? withoutChange(before, changeOf(kind, name))
        : withChange(before, changeOf(kind, name, amount)),
    );
  return (
    <div className={css.controls}>
      <FunctionControls insights={insights} changes={changes} set={set} />
      <Part title={t('insights.whatif.ofCluster')}>
        <div className={css.pair}>
          {(['cpus', 'nodes'] as const).map((kind) => (
            <Amount
              key={kind}
              label={t(`insights.whatif.${kind}`)}
              value={amountOf(changes, kind)}
              min={1}
              max={1000}
              onChange={(amount) => set(kind, '', amount)}
              testId={`whatif-${kind}`}
            />
          ))}
        </div>
      </Part>
      <ActorControls job={insights.job_id} changes={changes} set={set} />
      <Part title={t('insights.whatif.without')}>
        <div className={css.switches}>
          {OPTIONS.map((kind) => (
            <Switch
              key={kind}
              size="xs"
              label={t(`insights.option.${kind}`)}
              title={t(`insights.optionHint.${kind}`)}
              checked={amountOf(changes, kind) !== undefined}
              onChange={(event) => set(kind, '', event.currentTarget.checked ? 1 : undefined)}
              data-testid={`whatif-${kind}`}
            />
          ))}
        </div>
      </Part>
    </div>
  );
}

type SetAmount = (kind: Change['kind'], name: string, amount: number | undefined) => void;

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <fieldset className={css.part}>
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}

const OF_FUNCTIONS: ReadonlySet<string> = new Set(['speed', 'num_cpus', 'batch', 'one_get']);

function FunctionControls(props: { insights: InsightsAnswer; changes: Change[]; set: SetAmount }) {
  const { t } = useTranslation();
  const { changes, set } = props;
  const functions = props.insights.functions;
  const [picked, setPicked] = useState<string | null>(null);
  // The user can adjust changes that came from a link or from a row of a table.
  const changed = changes.filter(({ kind }) => OF_FUNCTIONS.has(kind)).map((one) => partsOfChange(one).name);
  const chosen = picked ?? changed.at(-1) ?? functions[0]?.function ?? null;
  const names = [...new Set([...functions.map((one) => one.function), ...changed])];
  if (chosen === null) return null;
  const isDriver = functions.some((one) => one.is_driver && one.function === chosen);
  return (
    <Part title={t('insights.whatif.ofFunction')}>
      <Select
        size="xs"
        aria-label={t('insights.whatif.function')}
        searchable
        allowDeselect={false}
        value={chosen}
        data={names.map((value) => ({
          value,
          label: functions.some((one) => one.is_driver && one.function === value) ? t('task.driver') : value,
        }))}
        onChange={setPicked}
        data-testid="whatif-function"
      />
      <Speed
        key={chosen}
        times={amountOf(changes, 'speed', chosen)}
        onChange={(times) => set('speed', chosen, times)}
      />
      {!isDriver && (
        <>
          <div className={css.pair}>
            <Amount
              label={t('insights.whatif.numCpus')}
              value={amountOf(changes, 'num_cpus', chosen)}
              min={0}
              max={1000}
              step={0.5}
              onChange={(amount) => set('num_cpus', chosen, amount)}
              testId="whatif-num_cpus"
            />
            <Amount
              label={t('insights.whatif.batch')}
              value={amountOf(changes, 'batch', chosen)}
              min={2}
              max={100_000}
              onChange={(amount) => set('batch', chosen, amount)}
              testId="whatif-batch"
            />
          </div>
          <Switch
            size="xs"
            label={t('insights.whatif.oneGet')}
            checked={amountOf(changes, 'one_get', chosen) !== undefined}
            onChange={(event) => set('one_get', chosen, event.currentTarget.checked ? 1 : undefined)}
            data-testid="whatif-one_get"
          />
        </>
      )}
    </Part>
  );
}

/** A slider for the speed of a function. Its middle means unchanged. */
function Speed({ times, onChange }: { times: number | undefined; onChange: (times?: number) => void }) {
  const { t } = useTranslation();
  const now = times ?? 1;
  const nearest = SPEEDS.reduce((best, one) => (Math.abs(one - now) < Math.abs(best - now) ? one : best));
  const current = SPEEDS.indexOf(nearest);
  // The URL is updated only when the drag ends.
  const [dragged, setDragged] = useState<number | null>(null);
  const at = dragged ?? current;
  const textOf = (index: number) => t('insights.whatif.speedOf', { times: SPEEDS[index] });
  return (
    <div className={css.speed}>
      <span className={css.label}>
        {t('insights.whatif.speed')}{' '}
        <b>{dragged === null ? t('insights.whatif.speedOf', { times: now }) : textOf(at)}</b>
      </span>
      <Slider
        size="sm"
        min={0}
        max={SPEEDS.length - 1}
        startPointValue={SPEEDS.indexOf(1)}
        label={textOf}
        marks={MARKS}
        value={at}
        onChange={setDragged}
        onChangeEnd={(index) => {
          setDragged(null);
          const chosen = SPEEDS[index];
          onChange(chosen === 1 ? undefined : chosen);
        }}
        thumbLabel={t('insights.whatif.speed')}
        data-testid="whatif-speed"
      />
    </div>
  );
}

function ActorControls({ job, changes, set }: { job: string; changes: Change[]; set: SetAmount }) {
  const { t } = useTranslation();
  const classes = useActorClasses(job);
  const [picked, setPicked] = useState<string | null>(null);
  const changed = changes.filter(({ kind }) => kind === 'actors').map((one) => partsOfChange(one).name);
  const names = [...new Set([...classes, ...changed])];
  const chosen = picked ?? changed.at(-1) ?? names[0];
  if (chosen === undefined) return null;
  return (
    <Part title={t('insights.whatif.ofActors')}>
      <div className={css.pair}>
        <Select
          size="xs"
          label={t('insights.whatif.className')}
          searchable
          allowDeselect={false}
          value={chosen}
          data={names}
          onChange={setPicked}
          data-testid="whatif-class"
        />
        <Amount
          key={chosen}
          label={t('insights.whatif.actors')}
          value={amountOf(changes, 'actors', chosen)}
          min={1}
          max={1000}
          onChange={(amount) => set('actors', chosen, amount)}
          testId="whatif-actors"
        />
      </div>
    </Part>
  );
}

/** The actor classes of a job (its first 1000). */
function useActorClasses(job: string): string[] {
  const [url] = useSessionUrl();
  const { data } = useQuery({
    ...answerTo('/actors', { session: url.session, job_id: job, limit: 1000 }),
    placeholderData: keepPreviousData,
    refetchInterval: false,
    staleTime: 30_000,
  });
  const names = (data?.items ?? []).map((actor) => actor.class_name);
  return [...new Set(names.filter((name) => name !== null))].sort();
}

/** A number field. If it is empty, the value is unchanged. */
function Amount(props: {
  label: string;
  value: number | undefined;
  min: number;
  max: number;
  step?: number;
  onChange: (value: number | undefined) => void;
  testId: string;
}) {
  const { t } = useTranslation();
  return (
    <NumberInput
      size="xs"
      label={props.label}
      placeholder={t('insights.whatif.asIs')}
      min={props.min}
      max={props.max}
      step={props.step ?? 1}
      allowDecimal={props.step !== undefined}
      clampBehavior="strict"
      value={props.value ?? ''}
      onChange={(value) => props.onChange(typeof value === 'number' ? value : undefined)}
      data-testid={props.testId}
    />
  );
}
