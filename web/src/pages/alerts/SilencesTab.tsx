import { Button } from '@mantine/core';
import { IconBellOff } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { SilenceInfo } from '../../api/schema';
import { EmptyState } from '../../ui/EmptyState';
import { Time } from '../../ui/Time';
import pairs from '../../ui/theme/pairs.module.css';
import plain from '../../ui/theme/plainTable.module.css';
import words from '../../ui/theme/words.module.css';
import shared from './alerts.module.css';
import { useAlertActions } from './useAlertActions';

/** All silences, each with a button that ends it. */
export function SilencesTab({ items }: { items: readonly SilenceInfo[] }) {
  const { t } = useTranslation();
  const actions = useAlertActions();
  if (items.length === 0)
    return (
      <EmptyState icon={<IconBellOff size={26} />} title={t('alerts.noSilences')}>
        {t('alerts.noSilencesText')}
      </EmptyState>
    );
  return (
    <div className={shared.tableWrap}>
      <table className={plain.table} data-testid="alert-silences">
        <thead>
          <tr>
            <th>{t('alerts.stateColumn')}</th>
            <th>{t('alerts.matches')}</th>
            <th>{t('alerts.until')}</th>
            <th>{t('alerts.by')}</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {items.map((silence) => (
            <tr key={silence.id} data-testid="silence" data-state={silence.state}>
              <td>{t(`alerts.silenceState.${silence.state}`)}</td>
              <td>
                <span className={pairs.pairs}>
                  {silence.matchers.map((one) => (
                    <span key={one.label + one.op + one.value} className={pairs.pair}>
                      {one.label}
                      {one.op}
                      {one.value}
                    </span>
                  ))}
                </span>
              </td>
              <td>
                <Time ns={silence.ends_ns} full />
              </td>
              <td>
                {silence.created_by} <span className={words.dim}>{silence.comment}</span>
              </td>
              <td data-align="right">
                {silence.state !== 'expired' && (
                  <Button
                    size="compact-xs"
                    variant="default"
                    onClick={() => void actions.unsilence(silence)}
                    data-testid="unsilence"
                  >
                    {t('alerts.unsilence')}
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
