import { Group } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Change } from '../../api/insights';
import { useNodeChoices } from '../../api/queries';
import type { InsightsAnswer } from '../../api/schema';
import { count, duration, percent } from '../../base/format';
import { onlyMineOf } from '../../base/url';
import { OnlyMineSwitch, useLibraryTexts } from '../../ui/insights/OnlyMine';
import { OriginTag } from '../../ui/insights/OriginTag';
import { isOwn } from '../../ui/insights/useFindingTexts';
import { useRange } from '../../ui/insights/useRange';
import { Panel } from '../../ui/panels/Panel';
import { ShareBar } from '../../ui/ShareBar';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { changeOf } from './changes';
import css from './Gains.module.css';
import { useChangeText } from './useChanges';

/** Number of functions that are listed at first. */
const SHOWN = 10;
/**
 * Minimum length of the bars' scale, as a share of the job. On a shorter one, tiny savings would look large.
 */
const MIN_SCALE = 0.1;
/** The speed-up that the server tries for each function: half the time. */
const TRIED_SPEEDUP = 2;

type Try = (change: Change) => void;

/** Possible savings by speeding up each function and by other changes, largest first. */
export function Gains({ insights, onTry }: { insights: InsightsAnswer; onTry: Try }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const libraryTexts = useLibraryTexts();
  const { functions, functions_total: total, options } = insights;
  const onlyMine = onlyMineOf(url) !== undefined;
  const hasOthers = functions.some(({ origin }) => !isOwn(origin));
  const shown = onlyMine ? functions.filter(({ origin }) => isOwn(origin)) : functions;
  const hidden = onlyMine ? byLibrary(functions) : [];
  const most = Math.max(MIN_SCALE, ...[...functions, ...options].map(({ share }) => share));
  if (functions.length === 0 && options.length === 0) return null;
  return (
    <Panel title={t('insights.gains.title')} note={t('insights.gains.hint')} testId="gains" wide>
      {(hasOthers || onlyMine) && (
        <Group mb={8} gap="sm">
          <OnlyMineSwitch />
          {hidden.length > 0 && (
            <span className={words.dim} data-testid="libraries">
              {libraryTexts(hidden)}
            </span>
          )}
        </Group>
      )}
      <div className={css.tables}>
        <FunctionTable functions={shown} listed={functions.length} total={total} most={most} onTry={onTry} />
        <OptionTable options={options} most={most} onTry={onTry} />
      </div>
    </Panel>
  );
}

/** Number of functions and attempts per library. */
function byLibrary(functions: InsightsAnswer['functions']) {
  const found = new Map<string, { library: string; functions: number; attempts: number }>();
  for (const { origin, attempts } of functions) {
    if (origin === null || isOwn(origin)) continue;
    const of = found.get(origin) ?? { library: origin, functions: 0, attempts: 0 };
    found.set(origin, { ...of, functions: of.functions + 1, attempts: of.attempts + attempts });
  }
  return [...found.values()];
}

function FunctionTable(props: {
  functions: InsightsAnswer['functions'];
  /** Number of functions that the server lists, including those of libraries. */
  listed: number;
  total: number;
  most: number;
  onTry: Try;
}) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const { functions, listed, total, most } = props;
  const shown = all ? functions : functions.slice(0, SHOWN);
  return (
    <div>
      <table className={css.table}>
        <thead>
          <tr>
            <th>{t('insights.gains.function')}</th>
            <th data-align="right">{t('insights.gains.attempts')}</th>
            <th data-align="right" title={t('insights.gains.ownHint')}>
              {t('insights.gains.own')}
            </th>
            <SavingHead />
            <th>{t('insights.gains.share')}</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <Row
              key={`${row.is_driver} ${row.function}`}
              change={changeOf('speed', row.function, TRIED_SPEEDUP)}
              onTry={props.onTry}
              testId="gain"
              name={
                <>
                  <span className={words.ellipsis} title={row.function}>
                    {row.is_driver ? t('task.driver') : row.function}
                  </span>
                  <OriginTag origin={row.origin} />
                </>
              }
            >
              <td data-align="right" className={words.num}>
                {count(row.attempts)}
              </td>
              <td data-align="right" className={words.num}>
                {duration(row.own_ns)}
              </td>
              <Saving gain={row} most={most} />
            </Row>
          ))}
        </tbody>
      </table>
      {shown.length < functions.length && (
        <button type="button" className={`${words.link} ${css.more}`} onClick={() => setAll(true)}>
          {t('insights.gains.more', { n: count(functions.length - shown.length) })}
        </button>
      )}
      {total > listed && shown.length === functions.length && (
        <p className={`${words.dim} ${css.more}`}>
          {t('insights.gains.some', { n: count(listed), all: count(total) })}
        </p>
      )}
    </div>
  );
}

function OptionTable(props: { options: InsightsAnswer['options']; most: number; onTry: Try }) {
  const { t } = useTranslation();
  const cpus = useCpus();
  const { options, most, onTry } = props;
  return (
    <table className={css.table} data-kind="options">
      <thead>
        <tr>
          <th>{t('insights.gains.otherTitle')}</th>
          <SavingHead />
          <th>{t('insights.gains.share')}</th>
        </tr>
      </thead>
      <tbody>
        {options.map(({ option, ...gain }) => (
          <Row
            key={option}
            change={option === 'twice_the_cpus' ? changeOf('cpus', '', cpus) : changeOf(option)}
            onTry={option === 'twice_the_cpus' && cpus === 0 ? undefined : onTry}
            testId="option"
            name={
              <span className={words.ellipsis} title={t(`insights.optionHint.${option}`)}>
                {t(`insights.option.${option}`)}
              </span>
            }
          >
            <Saving gain={gain} most={most} />
          </Row>
        ))}
      </tbody>
    </table>
  );
}

/** The number of CPUs of all nodes in the session; 0 until it is known. */
function useCpus(): number {
  const [url] = useSessionUrl();
  const nodes = useNodeChoices(url.session).data?.items ?? [];
  return nodes.reduce((sum, { resources_total: text }) => {
    const resources = text === null ? {} : (JSON.parse(text) as Record<string, number>);
    return sum + Math.floor(resources.CPU ?? 0);
  }, 0);
}

/** A row for a change. A click on it tries the change. */
function Row(props: {
  change: Change;
  onTry: Try | undefined;
  testId: string;
  name: React.ReactNode;
  children: React.ReactNode;
}) {
  const { t } = useTranslation();
  const changeText = useChangeText();
  const { change, onTry } = props;
  return (
    // The whole row reacts to the mouse. Keyboards and screen readers use its button.
    <tr
      data-testid={props.testId}
      data-clicks={onTry !== undefined || undefined}
      onClick={() => onTry?.(change)}
    >
      <td>
        {onTry === undefined ? (
          <span className={css.name}>{props.name}</span>
        ) : (
          <button
            type="button"
            className={css.name}
            title={t('insights.gains.try', { change: changeText(change) })}
          >
            {props.name}
          </button>
        )}
      </td>
      {props.children}
    </tr>
  );
}

function SavingHead() {
  const { t } = useTranslation();
  return (
    <th data-align="right" title={t('insights.gains.savingHint')}>
      {t('insights.gains.saving')}
    </th>
  );
}

type Gain = Pick<
  InsightsAnswer['options'][number],
  'saving_ns' | 'saving_low_ns' | 'saving_high_ns' | 'share'
>;

function Saving({ gain, most }: { gain: Gain; most: number }) {
  const range = useRange();
  const share = Math.max(0, gain.share);
  const isNone = gain.saving_ns <= 0;
  return (
    <>
      <td data-align="right" className={words.num} data-zero={isNone || undefined}>
        {isNone ? '–' : `${duration(gain.saving_ns)} (${range(gain.saving_low_ns, gain.saving_high_ns)})`}
      </td>
      <td>
        <span className={css.share}>
          <ShareBar share={share / most} />
          <span className={`${words.num} ${css.percent}`}>{isNone ? '' : `${percent(share)}%`}</span>
        </span>
      </td>
    </>
  );
}
