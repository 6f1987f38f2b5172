import { Checkbox, Group, SegmentedControl, Tooltip } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import { withSettings } from '../../base/url';
import { usePalette } from '../../ui/canvas';
import { OnlyMineSwitch } from '../../ui/insights/OnlyMine';
import { useJobName } from '../../ui/JobName';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { FindBox } from '../shared/FindBox';
import { SaveMenu } from '../shared/SaveMenu';
import css from './LogicalToolbar.module.css';
import { toSvg } from './logicalExport';
import type { Layout } from './logicalLayout';
import { type LogicalAnswer, matches, type Shown, toggleShown, WEIGHTS, weightOf } from './logicalModel';
import { nodeName } from './logicalNames';

/** Search, colours, kinds of edges, and export of the graph. */
export function LogicalToolbar(props: {
  answer: LogicalAnswer | undefined;
  layout: Layout | undefined;
  shown: Shown;
  /** Number of minor nodes and edges. They are hidden by default. */
  minor: number;
  /** The job whose critical path gives the colors, if that is known. */
  pathJob?: string | null;
}) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const { answer, layout, shown } = props;
  const palette = usePalette();
  const jobName = useJobName();
  const find = url.settings?.find ?? '';
  const found = find.trim() === '' ? null : (answer?.nodes.filter((node) => matches(node, find)).length ?? 0);
  const picture = () =>
    answer &&
    layout &&
    toSvg(answer, layout, shown, palette.scheme, (node) => nodeName(t, node, node.kind === 'driver'));
  return (
    <div className={css.toolbar}>
      <FindBox view="logical" label={t('logical.find')} />
      {found !== null && (
        <span className={`${words.dim} ${words.num}`} role="status" data-testid="logical-found">
          {found === 0 ? t('logical.notFound') : t('logical.found', { n: count(found) })}
        </span>
      )}
      <SegmentedControl
        size="xs"
        aria-label={t('logical.color')}
        value={weightOf(url.settings)}
        onChange={(value) =>
          change((before) => withSettings(before, { weight: value === 'state' ? undefined : value }))
        }
        data={WEIGHTS.map((weight) => ({
          value: weight,
          label:
            weight === 'executing' || weight === 'blocked'
              ? t(`time.${weight}`)
              : weight === 'critical_path'
                ? t(`flame.weights.${weight}`)
                : t(`logical.weight.${weight}`),
        }))}
        data-testid="logical-weight"
      />
      {props.pathJob && (
        <span className={words.dim}>{t('functions.byPath', { job: jobName(props.pathJob) })}</span>
      )}
      {(['calls', 'data'] as const).map((kind) => (
        <Tooltip key={kind} label={t(`logical.${kind}Hint`)}>
          <div>
            <Checkbox
              size="xs"
              label={
                <span className={css.legend} data-kind={kind}>
                  {t(`logical.${kind}`)}
                </span>
              }
              checked={shown[kind]}
              onChange={() => change((before) => withSettings(before, { hide: toggleShown(shown, kind) }))}
              data-testid={`logical-show-${kind}`}
            />
          </div>
        </Tooltip>
      ))}
      <OnlyMineSwitch />
      {props.minor > 0 && (
        <Tooltip label={t('logical.minorHint')}>
          <div>
            <Checkbox
              size="xs"
              label={t('logical.minor', { n: count(props.minor) })}
              checked={url.settings?.minor === '1'}
              onChange={(event) => {
                const minor = event.currentTarget.checked ? '1' : undefined;
                change((before) => withSettings(before, { minor }));
              }}
              data-testid="logical-minor"
            />
          </div>
        </Tooltip>
      )}
      <Group ml="auto">
        <SaveMenu
          view="logical"
          disabled={!answer || !layout || answer.nodes.length === 0}
          picture={picture}
          data={answer}
        />
      </Group>
    </div>
  );
}
