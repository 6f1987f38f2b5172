import { ActionIcon, Menu, Tooltip, useMantineColorScheme } from '@mantine/core';
import {
  type Icon,
  IconBell,
  IconBook,
  IconCheck,
  IconChevronRight,
  IconClock,
  IconDeviceDesktop,
  IconLanguage,
  IconMoon,
  IconSun,
} from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { useConnection } from '../api/connection';
import { useSessions } from '../api/queries';
import { type AlertsTopic, useTopic } from '../api/realtime';
import { docsUrl } from '../base/docsUrl';
import { count, wholeAge, ZONES, type Zone } from '../base/format';
import { LANGUAGES, type Language } from '../base/i18n/language';
import { REPORT } from '../base/report';
import { ROOT } from '../base/root';
import { type SessionUrl, toView } from '../base/url';
import { worstTone } from '../ui/alerts/severity';
import { CopyId } from '../ui/CopyId';
import { Dot } from '../ui/Dot';
import { itemTone } from '../ui/ItemState';
import { Link } from '../ui/Link';
import { useSession, useSessionTexts } from '../ui/session';
import words from '../ui/theme/words.module.css';
import { useStored } from '../ui/useStored';
import { go, useUrl } from '../ui/useUrl';
import { ExportMenu } from './ExportMenu';
import css from './Header.module.css';
import { setLanguage } from './i18n';
import { KeyHelpButton } from './keys/KeyHelpButton';
import { usePages } from './pages';
import { PaletteButton } from './palette/PaletteButton';
import { RangeChip } from './RangeChip';
import { ShareMenu } from './share/ShareMenu';
import { useServerState } from './useServerState';

export function Header() {
  const url = useUrl();
  const needsLogin = useConnection((connection) => connection.needsLogin);
  const { t } = useTranslation();
  return (
    <header className={css.header}>
      {REPORT === null ? (
        <Link
          to={{ page: 'sessions', filters: {}, lang: url.lang }}
          className={css.logo}
          title={t('app.toSessions')}
        >
          <img src={`${ROOT}/assets/favicon.svg`} width={22} height={22} alt="" />
          <span>Rayscope</span>
        </Link>
      ) : (
        <span className={css.logo}>Rayscope</span>
      )}
      {url.page === 'session' && (
        <>
          <IconChevronRight size={14} className={`${words.dim} ${css.icon}`} aria-hidden />
          <SessionSwitch session={url.session} />
          <RangeChip url={url} />
        </>
      )}
      {url.page !== 'session' && REPORT === null && (
        <nav className={css.pages} aria-label={t('app.pages')}>
          <Link
            to={{ page: 'sessions', filters: {}, lang: url.lang }}
            className={css.page}
            current={url.page === 'sessions'}
          >
            {t('app.sessions')}
          </Link>
          <Link
            to={{ page: 'runs', filters: {}, lang: url.lang }}
            className={css.page}
            current={url.page === 'runs'}
            testId="to-runs"
          >
            {t('app.runs')}
          </Link>
        </nav>
      )}
      <div className={css.right}>
        {!needsLogin && REPORT === null && <PaletteButton />}
        {url.page === 'session' && REPORT === null && (
          <>
            <ShareMenu />
            <ExportMenu />
          </>
        )}
        {url.page === 'session' && <AlertBadge url={url} />}
        {REPORT === null && <ConnectionState />}
        <KeyHelpButton />
        {REPORT === null && <DocsLink />}
        <LanguageSwitch />
        <ZoneSwitch />
        <ThemeSwitch />
      </div>
    </header>
  );
}

/** The documentation of pages outside a session. */
const DOCS = {
  sessions: 'index.md',
  compare: 'how-to/compare.md',
  runs: 'how-to/runs.md',
  unknown: 'index.md',
};

/** A link to the bundled documentation of the current page. */
function DocsLink() {
  const { t, i18n } = useTranslation();
  const url = useUrl();
  const { links } = usePages();
  return (
    <ActionIcon
      component="a"
      href={docsUrl(url.page === 'session' ? links[url.view].docs : DOCS[url.page], i18n.language)}
      target="_blank"
      rel="noreferrer"
      size={30}
      aria-label={t('intro.docs')}
      title={t('intro.docs')}
    >
      <IconBook size={18} />
    </ActionIcon>
  );
}

const TONES = { bad: css.bad, waiting: css.waiting, quiet: css.quiet };

/** Number of firing alerts in this session; hidden if there are none. */
function AlertBadge({ url }: { url: SessionUrl }) {
  const { t } = useTranslation();
  const alerts = useTopic<AlertsTopic>('alerts', { session: url.session });
  const firing = alerts ? alerts.firing - alerts.info : 0;
  if (firing === 0) return null;
  const label = firing === 1 ? t('alerts.badgeOne') : t('alerts.badge', { n: count(firing) });
  return (
    <Link
      to={toView(url, 'alerts')}
      className={`${css.alertBadge} ${TONES[worstTone(alerts?.items ?? [])]} ${words.num}`}
      title={label}
      label={label}
      testId="alert-badge"
    >
      <IconBell size={15} aria-hidden />
      {count(firing)}
    </Link>
  );
}

function SessionSwitch({ session }: { session: string }) {
  const sessions = useSessions();
  const current = useSession(session);
  const { name, place } = useSessionTexts();
  const url = useUrl();
  const { t } = useTranslation();
  const others = sessions.data?.items ?? [];
  if (REPORT !== null)
    return (
      <span className={words.ellipsis} title={session}>
        {current === undefined ? session : name(current)}
        {current !== undefined && <span className={words.dim}> · {place(current)}</span>}
      </span>
    );
  return (
    <Menu position="bottom-start" shadow="md" width={420}>
      <Menu.Target>
        <button type="button" className={css.sessionSwitch} title={session} data-testid="session-switch">
          <span className={words.ellipsis}>
            {current === undefined ? session : name(current)}
            {current !== undefined && <span className={words.dim}> · {place(current)}</span>}
          </span>
          <IconChevronRight size={13} className={`${words.turned} ${words.dim} ${css.icon}`} aria-hidden />
        </button>
      </Menu.Target>
      <Menu.Dropdown mah={420} style={{ overflowY: 'auto' }}>
        <Menu.Label>
          <CopyId id={session} full />
        </Menu.Label>
        {others.slice(0, 50).map((item) => (
          <Menu.Item
            key={item.session}
            onClick={() =>
              url.page === 'session' && go(toView({ ...url, session: item.session, filters: {} }, url.view))
            }
            leftSection={
              <Dot
                color={`var(--rs-tone-${itemTone((item.state === 'ended' && item.outcome) || item.state, 'jobs')})`}
              />
            }
            rightSection={item.session === session ? <IconCheck size={14} /> : null}
          >
            <span className={words.breaks}>{name(item)}</span>
            <div className={`${words.dim} ${css.place}`}>{place(item)}</div>
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => go({ page: 'sessions', filters: {}, lang: url.lang })}>
          {t('app.toSessions')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function ConnectionState() {
  const { t } = useTranslation();
  const { state, age } = useServerState();
  const ageText = wholeAge(age);
  const tone = { connecting: 'quiet', connected: 'good', reconnecting: 'waiting', stale: 'bad' }[state];
  const isThere = state === 'connected' || state === 'connecting';
  const hint = isThere ? t('connection.hintConnected') : t('connection.hintAway', { age: ageText });
  return (
    <Tooltip label={hint}>
      <span
        className={css.connection}
        data-testid="connection-state"
        data-state={state}
        role="status"
        aria-live="polite"
      >
        <Dot color={`var(--rs-tone-${tone})`} pulse={state === 'reconnecting'} />
        <span className={css.connectionText}>{t(`connection.${state}`)}</span>
        {state === 'stale' && <span className={`${words.num} ${words.dim}`}>{ageText}</span>}
      </span>
    </Tooltip>
  );
}

/** A button with a menu that marks the current choice. */
function ChoiceMenu<T extends string>(props: {
  name: 'lang' | 'theme' | 'zone';
  icon: Icon;
  current: string;
  choices: readonly { value: T; text: string; icon?: Icon }[];
  onChoose: (value: T) => void;
}) {
  const { t } = useTranslation();
  const label = t(`${props.name}.label`);
  return (
    <Menu position="bottom-end" shadow="md">
      <Menu.Target>
        <ActionIcon size={30} aria-label={label} title={label} data-testid={`${props.name}-switch`}>
          <props.icon size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {props.choices.map(({ value, text, icon: Icon }) => (
          <Menu.Item
            key={value}
            data-testid={`${props.name}-${value}`}
            leftSection={Icon && <Icon size={15} />}
            rightSection={props.current === value ? <IconCheck size={14} /> : null}
            onClick={() => props.onChoose(value)}
          >
            {text}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function LanguageSwitch() {
  const { i18n } = useTranslation();
  const url = useUrl();
  return (
    <ChoiceMenu
      name="lang"
      icon={IconLanguage}
      current={i18n.language}
      choices={(Object.keys(LANGUAGES) as Language[]).map((value) => ({ value, text: LANGUAGES[value] }))}
      onChoose={(lang) => {
        void setLanguage(lang);
        if (url.lang) go({ ...url, lang }, { replace: true });
      }}
    />
  );
}

function ZoneSwitch() {
  const { t } = useTranslation();
  const [zone, setZone] = useStored<Zone>('zone', 'browser');
  return (
    <ChoiceMenu
      name="zone"
      icon={IconClock}
      current={zone}
      choices={ZONES.map((value) => ({ value, text: t(`zone.${value}`) }))}
      onChoose={setZone}
    />
  );
}

const THEMES = { light: IconSun, dark: IconMoon, auto: IconDeviceDesktop } as const;

function ThemeSwitch() {
  const { t } = useTranslation();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const themes = Object.keys(THEMES) as (keyof typeof THEMES)[];
  return (
    <ChoiceMenu
      name="theme"
      icon={THEMES[colorScheme]}
      current={colorScheme}
      choices={themes.map((value) => ({ value, text: t(`theme.${value}`), icon: THEMES[value] }))}
      onChoose={setColorScheme}
    />
  );
}
