import { useTranslation } from 'react-i18next';
import { clockTime, duration } from '../../base/format';
import { toFlow, withRange, withSettings } from '../../base/url';
import { Link } from '../../ui/Link';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { formatRange, lengthOf, middleOf, parseRange, type TimeRange } from '../shared/range';
import css from './RangeLinks.module.css';

/** Links to the other views of the range, and to comparisons. */
export function RangeLinks({ range, onZoom }: { range: TimeRange; onZoom: (() => void) | undefined }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const kept = parseRange(url.settings?.vs);
  const isKept = kept !== null && formatRange(kept) === formatRange(range);
  const within = { ...url, filters: { ...url.filters, since_ns: range.from, until_ns: range.to } };
  const flame = (vs: string | undefined) => withSettings(toFlow(within, 'flame'), { vs });
  const set = (vs: string | undefined) => change((before) => withSettings(before, { vs }));
  return (
    <div className={css.ways}>
      <button
        type="button"
        className={words.link}
        disabled={onZoom === undefined}
        onClick={onZoom}
        data-testid="gantt-range-zoom"
      >
        {t('range.zoom')}
      </button>
      <button
        type="button"
        className={words.link}
        title={t('range.everywhereHint')}
        onClick={() =>
          change((before) =>
            withRange(withSettings(before, { range: undefined, from: undefined, to: undefined }), range),
          )
        }
        data-testid="gantt-range-everywhere"
      >
        {t('range.everywhere')}
      </button>
      <Link to={flame(undefined)} testId="gantt-range-flame">
        {t('range.flame')}
      </Link>
      <Link to={withSettings(toFlow(url, 'stack'), { at: middleOf(range) })} testId="gantt-range-stack">
        {t('range.stack')}
      </Link>
      <span className={words.dim}>{t('range.compare')}</span>
      <Link to={flame('rest')} testId="gantt-range-rest">
        {t('range.withRest')}
      </Link>
      {kept === null || isKept ? (
        <button
          type="button"
          className={words.link}
          title={t('range.keepHint')}
          aria-pressed={isKept}
          onClick={() => set(isKept ? undefined : formatRange(range))}
          data-testid="gantt-range-keep"
        >
          {t(isKept ? 'range.kept' : 'range.keep')}
        </button>
      ) : (
        <>
          <Link to={flame(formatRange(kept))} testId="gantt-range-compare">
            {t('range.withKept', { from: clockTime(kept.from), span: duration(lengthOf(kept)) })}
          </Link>
          <button type="button" className={words.link} onClick={() => set(undefined)}>
            {t('range.forget')}
          </button>
        </>
      )}
    </div>
  );
}
