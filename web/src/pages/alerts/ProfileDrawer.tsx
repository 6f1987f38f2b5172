import { IconFlame } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { useAnswer } from '../../api/queries';
import { withSettings } from '../../base/url';
import { Drawer, Section } from '../../ui/Drawer';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { LinesExport } from '../../ui/LinesExport';
import { ProfileBody } from '../../ui/Profile';
import { useSessionUrl } from '../../ui/useUrl';

/** A profile of the session, such as one that an alert took. */
export function ProfileDrawer({ id }: { id: string }) {
  const { t } = useTranslation();
  const [url, change] = useSessionUrl();
  const { data, error } = useAnswer('/profiles', { session: url.session });
  const items = data?.items;
  const profile = items?.find((item) => item.profile_id === id);
  return (
    <Drawer
      testId="profile-drawer"
      title={profile?.taken_by ?? t('profile.title')}
      subtitle={Object.entries(profile?.filters ?? {})
        .map(([name, value]) => `${name} ${value}`)
        .join(' · ')}
      onClose={() => change((before) => withSettings(before, { profile: undefined }))}
    >
      {profile !== undefined && (
        <Section
          title={t('profile.title')}
          right={!profile.is_running && profile.memory === null && <LinesExport of={{ profile: id }} />}
        >
          <ProfileBody profile={profile} />
        </Section>
      )}
      {error !== null && <ErrorPanel error={error} />}
      {items !== undefined && profile === undefined && (
        <EmptyState icon={<IconFlame size={26} />} title={t('alerts.profileGone')} />
      )}
    </Drawer>
  );
}
