import { useTranslation } from 'react-i18next';
import type { AlertProfile as Taken } from '../../api/schema';
import { toProfile } from '../../base/url';
import { Link } from '../../ui/Link';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';

/** The profile that an alert took, or the reason why it took none. Hidden if its rule takes none. */
export function AlertProfile({ profile }: { profile: Taken | null }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const translate = useServerMessage();
  if (profile === null) return null;
  return (
    <p className={`${words.line} ${words.breaks}`} data-testid="alert-profile">
      {profile.profile_id !== null && (
        <Link to={toProfile(url, profile.profile_id)}>{t('alerts.profile')}</Link>
      )}
      {profile.problem !== null && t('alerts.noProfile', { reason: translate(profile.problem).line })}
    </p>
  );
}
