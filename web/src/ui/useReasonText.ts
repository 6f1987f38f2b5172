import { useTranslation } from 'react-i18next';
import type { Reason } from '../api/nodes';
import { amount, count } from '../base/format';

/** Why something has no place, in the reader's language. */
export function useReasonText(): (reason: Reason) => string {
  const { t, i18n } = useTranslation();
  return (reason) => {
    const { resource } = reason;
    const amountText = (value: number | null) => (value === null ? '–' : amount(resource ?? '', value));
    const code = reason.code === 'busy' && resource === null ? 'busyAll' : reason.code;
    if (!i18n.exists(`nodes.reasons.${code}`)) return reason.message;
    return t(`nodes.reasons.${code}` as 'nodes.reasons.busy', {
      resource,
      nodes: count(reason.nodes),
      wanted: amountText(reason.wanted),
      total: amountText(reason.total),
      free: amountText(reason.free),
      error: reason.error,
    });
  };
}
