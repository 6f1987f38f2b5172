import { ActionIcon, Tooltip } from '@mantine/core';
import { IconClock, IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { fullTime } from '../base/format';
import { appliesRange, type SessionUrl, withRange } from '../base/url';
import filters from '../ui/filters/filters.module.css';
import words from '../ui/theme/words.module.css';
import { go } from '../ui/useUrl';

/** The range of time that applies to all pages, with a button that clears it; hidden if there is none. */
export function RangeChip({ url }: { url: SessionUrl }) {
  const { t } = useTranslation();
  const { since_ns: since, until_ns: until } = url.filters;
  if (!since && !until) return null;
  const text =
    since === until
      ? shortTime(since)
      : `${since ? shortTime(since) : '…'} – ${until ? shortTime(until) : '…'}`;
  const isApplied = appliesRange(url.view);
  return (
    <span className={filters.chip} data-testid="range-chip">
      <Tooltip
        label={isApplied ? t('app.rangeHint') : t('app.rangeNotHereHint', { range: text })}
        multiline
        maw={320}
      >
        <span className={`${filters.chipText} ${words.num}`} data-testid="range-text">
          <IconClock size={13} aria-hidden />
          <span className={isApplied ? words.ellipsis : `${words.ellipsis} ${words.dim}`}>
            {isApplied ? text : t('app.rangeNotHere')}
          </span>
        </span>
      </Tooltip>
      <ActionIcon
        size={16}
        aria-label={t('app.rangeRemove')}
        onClick={() => go(withRange(url, null))}
        data-testid="range-remove"
      >
        <IconX size={12} />
      </ActionIcon>
    </span>
  );
}

/** Local time to the second; includes the date unless it is today. */
function shortTime(ns: string | undefined): string {
  const text = fullTime(ns);
  const today = fullTime(Date.now() * 1e6).slice(0, 10);
  return text.startsWith(today) ? text.slice(11, 19) : text.slice(5, 19);
}
