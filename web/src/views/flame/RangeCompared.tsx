import { ActionIcon } from '@mantine/core';
import { IconArrowsExchange, IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { clockTime, duration } from '../../base/format';
import { withSettings } from '../../base/url';
import { useSessionUrl } from '../../ui/useUrl';
import { formatRange, lengthOf, parseRange } from '../shared/range';
import css from './RangeCompared.module.css';

/** The choice of what the filtered range is compared with: the rest of the time, or another range. */
export function RangeCompared({ vs }: { vs: string }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const { since_ns, until_ns } = url.filters;
  const range = parseRange(vs);
  const mine = since_ns && until_ns ? parseRange(`${since_ns}-${until_ns}`) : null;
  return (
    <span className={css.vs} data-testid="flame-vs">
      {range === null
        ? t('range.againstRest')
        : t('range.againstRange', { from: clockTime(range.from), span: duration(lengthOf(range)) })}
      {range !== null && mine !== null && (
        <ActionIcon
          size={22}
          aria-label={t('range.swap')}
          title={t('range.swap')}
          onClick={() =>
            change((before) =>
              withSettings(
                { ...before, filters: { ...before.filters, since_ns: range.from, until_ns: range.to } },
                { vs: formatRange(mine) },
              ),
            )
          }
          data-testid="flame-vs-swap"
        >
          <IconArrowsExchange size={14} />
        </ActionIcon>
      )}
      <ActionIcon
        size={22}
        aria-label={t('range.noComparison')}
        title={t('range.noComparison')}
        onClick={() => change((before) => withSettings(before, { vs: undefined }))}
        data-testid="flame-vs-clear"
      >
        <IconX size={14} />
      </ActionIcon>
    </span>
  );
}
