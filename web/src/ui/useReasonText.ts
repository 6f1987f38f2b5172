import { useTranslation } from 'react-i18next';
import type { ReasonItem } from '../api/schema';
import { amount, count } from '../base/format';

/** Why something is pending, in the user's language. */
export function useReasonText(): (reason: ReasonItem) => string {
  const { t, i18n } = useTranslation();
  return (reason) => {
    const code = codeOf(reason);
    if (!i18n.exists(`nodes.reasons.${code}`)) return reason.message;
    return t(`nodes.reasons.${code}` as 'nodes.reasons.busy', numbersOf(reason));
  };
}

/** A remedy for the reason, in the user's language. */
export function useRemedyText(): (reason: ReasonItem) => string {
  const { t, i18n } = useTranslation();
  return (reason) => {
    const code = codeOf(reason);
    if (!i18n.exists(`nodes.remedies.${code}`)) return reason.remedy;
    return t(`nodes.remedies.${code}` as 'nodes.remedies.busy', numbersOf(reason));
  };
}

function codeOf(reason: ReasonItem): string {
  return reason.code === 'busy' && reason.resource === null ? 'busyAll' : reason.code;
}

function numbersOf(reason: ReasonItem) {
  const { resource } = reason;
  const amountText = (value: number | null) => (value === null ? '–' : amount(resource ?? '', value));
  return {
    resource,
    nodes: count(reason.nodes),
    wanted: amountText(reason.wanted),
    total: amountText(reason.total),
    free: amountText(reason.free),
    error: reason.error,
  };
}
