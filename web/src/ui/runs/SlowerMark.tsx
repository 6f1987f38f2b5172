import { IconTrendingUp } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { RunItem, SlowerJob } from '../../api/schema';
import { duration, percent } from '../../base/format';
import type { RunsUrl } from '../../base/url';
import { Link } from '../Link';
import { useUrl } from '../useUrl';
import css from './SlowerMark.module.css';

/** The trend of a run's group. */
export const toTrend = (
  { script, variant }: Pick<RunItem, 'script' | 'variant'>,
  lang?: string,
): RunsUrl => ({
  page: 'runs',
  filters: { script, variant },
  lang,
});

/** How much slower than usual a run was, with a link to its trend. Hidden for other runs. */
export function SlowerMark({ run, short }: { run: RunItem | SlowerJob | null | undefined; short?: boolean }) {
  const { t } = useTranslation();
  const { lang } = useUrl();
  if (!run || run.ratio === null || ('verdict' in run && run.verdict !== 'slower')) return null;
  const hint = t('usual.hint', {
    usual: duration(run.usual?.mid_ns),
    n: run.usual?.runs ?? 0,
    script: run.script,
  });
  const change = `${percent(run.ratio - 1)}%`;
  const text = t('usual.slower', { change });
  return (
    <Link
      to={toTrend(run, lang)}
      className={css.mark}
      title={short ? `${text}\n${hint}` : hint}
      label={text}
      testId="slower-mark"
    >
      <IconTrendingUp size={13} aria-hidden />
      {short ? `+${change}` : text}
    </Link>
  );
}
