import { Button, SegmentedControl, Stack } from '@mantine/core';
import { IconFlame } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isOf, useAnswer, useSessions } from '../api/queries';
import type { ProfiledWorker, ProfileItem } from '../api/schema';
import { bytes, count } from '../base/format';
import { REPORT } from '../base/report';
import { Section } from './Drawer';
import { HotLines, SamplesText, useLines } from './HotLines';
import css from './HotLines.module.css';
import { LinesExport } from './LinesExport';
import { MemoryLines } from './MemoryLines';
import { useOperatorAction } from './operator';
import { Prose } from './Prose';
import { StackGroups } from './StackGroups';
import { Time } from './Time';
import words from './theme/words.module.css';
import { useNow } from './useNow';
import { useServerMessage } from './useServerMessage';
import { useSessionUrl } from './useUrl';

/** The length of a profile, in seconds. */
const SECONDS = 10;

/** Kinds of profiles: CPU time, memory at its peak, and memory that is not freed. */
const KINDS = ['cpu', 'peak', 'leaks'] as const;
type Kind = (typeof KINDS)[number];

/** Filters that select attempts whose workers are profiled. */
type Target = Partial<Record<'func_name' | 'job_id' | 'actor_id' | 'worker_id' | 'node_id' | 'q', string>>;

/**
 * The newest profile of the workers that ran attempts matching `of`. While the session is live, and these
 * attempts can run (`canRun`), a button takes another one.
 */
export function Profile({ of, canRun }: { of: Target; canRun: boolean }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const isLive = useSessions(
    (page) => page.items.find((item) => item.session === url.session)?.state === 'live',
  ).data;
  const items =
    useAnswer('/profiles', { session: url.session }, { enabled: REPORT === null }).data?.items ?? [];
  const running = items.find((item) => item.is_running);
  const taken = items.find((item) => isSame(item.filters, of));
  const canStart = isLive === true && canRun && REPORT === null;
  if (!canStart && taken === undefined) return null;
  const button = canStart && <StartButton of={of} disabled={running !== undefined} />;
  const body = (
    <>
      {canStart && running !== undefined && running !== taken && (
        <p className={`${words.dim} ${css.note}`}>{t('profile.other')}</p>
      )}
      {taken !== undefined && <ProfileBody profile={taken} />}
    </>
  );
  return (
    <Section
      title={t('profile.title')}
      testId="profile"
      right={
        <>
          {taken?.is_running === false && taken.memory === null && (
            <LinesExport of={{ profile: taken.profile_id }} />
          )}
          {button}
        </>
      }
    >
      {body}
    </Section>
  );
}

const isSame = (filters: ProfileItem['filters'], of: Target) =>
  JSON.stringify(Object.entries(filters).sort()) === JSON.stringify(Object.entries(of).sort());

function StartButton({ of, disabled }: { of: Target; disabled: boolean }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const act = useOperatorAction();
  const client = useQueryClient();
  const query = new URLSearchParams({ session: url.session, ...of });
  const draft: { kind: Kind } = { kind: 'cpu' };
  return (
    <Button
      size="compact-xs"
      variant="default"
      leftSection={<IconFlame size={14} />}
      disabled={disabled}
      data-testid="profile-start"
      onClick={() =>
        void act({
          method: 'POST',
          path: `/profiles?${query}`,
          body: async () => ({ seconds: SECONDS, memory: draft.kind === 'cpu' ? null : draft.kind }),
          title: t('profile.confirmTitle'),
          text: <Kinds draft={draft} />,
          confirm: t('profile.confirm'),
        }).then(() => client.invalidateQueries({ predicate: isOf('/profiles') }))
      }
    >
      {t('profile.start', { seconds: SECONDS })}
    </Button>
  );
}

/** Chooses the kind of the profile, and explains what it does to the workers. */
function Kinds({ draft }: { draft: { kind: Kind } }) {
  const { t } = useTranslation();
  const [kind, setKind] = useState(draft.kind);
  return (
    <Stack gap="sm">
      <SegmentedControl
        size="xs"
        aria-label={t('profile.kind')}
        value={kind}
        onChange={(chosen) => {
          draft.kind = chosen;
          setKind(chosen);
        }}
        data={KINDS.map((value) => ({ value, label: t(`profile.kinds.${value}`) }))}
        data-testid="profile-kind"
      />
      <Prose text={t(`profile.texts.${kind}`, { seconds: SECONDS })} />
    </Stack>
  );
}

/** A profile, or how long it still takes. */
export function ProfileBody({ profile }: { profile: ProfileItem }) {
  return profile.is_running ? <Progress profile={profile} /> : <Taken profile={profile} />;
}

function Progress({ profile }: { profile: ProfileItem }) {
  const { t } = useTranslation();
  const left = Math.ceil(Number(profile.end_ns) / 1e9 - useNow() / 1e3);
  const running = profile.memory === null ? 'profile.running' : 'profile.recording';
  const reading = profile.memory === null ? 'profile.reading' : 'profile.reporting';
  return (
    <p className={`${words.dim} ${css.note}`} data-testid="profile-running">
      {left > 0 ? t(running, { seconds: left }) : t(reading)}
    </p>
  );
}

/** A profile: when and how it was taken, what is missing, and its hottest lines. */
function Taken({ profile }: { profile: ProfileItem }) {
  const { t } = useTranslation();
  const lines = useLines({ profile: profile.profile_id }, profile.memory === null);
  const byPySpy = profile.workers.filter((worker) => worker.tool === 'py-spy');
  const byTracer = profile.workers.filter((worker) => worker.tool === 'tracer');
  const byMemray = profile.workers.filter((worker) => worker.tool === 'memray');
  const missed = byPySpy.reduce((sum, worker) => sum + missedBy(worker), 0);
  const notes = [
    byPySpy.length > 0 &&
      t(byPySpy.some(({ native }) => native) ? 'profile.byPySpyNative' : 'profile.byPySpy', {
        n: count(byPySpy.length),
        missed: count(missed),
      }),
    profile.memory !== null && t(`profile.kinds.${profile.memory}`),
    byMemray.length > 0 &&
      t('profile.byMemray', {
        n: count(byMemray.length),
        size: bytes(byMemray.reduce((sum, worker) => sum + (worker.held_bytes ?? 0), 0)),
      }),
    byTracer.length > 0 && t('profile.byTracer', { n: count(byTracer.length) }),
    profile.taken_by !== null && t('profile.takenBy', { rule: profile.taken_by }),
    profile.workers_left_out > 0 && t('profile.leftOut', { n: count(profile.workers_left_out) }),
  ];
  return (
    <>
      <p className={`${words.dim} ${css.note}`} data-testid="profile-taken">
        <Time ns={profile.begin_ns} exact />
        {notes.filter(Boolean).map((note) => ` · ${note}`)}
        {lines !== undefined && ' · '}
        {lines !== undefined && <SamplesText answer={lines} />}
      </p>
      <Problems
        title={profile.memory === null ? 'profile.without' : 'profile.withoutMemray'}
        workers={profile.workers.filter((worker) => worker.tool !== 'memray')}
      />
      <Problems title="profile.notDetached" workers={byMemray} />
      {profile.memory === null && <StackGroups profile={profile} />}
      {lines !== undefined && <HotLines answer={lines} />}
      {byMemray.length > 0 && <MemoryLines profile={profile.profile_id} />}
    </>
  );
}

/** The problems of workers, each with the number of workers that have it. */
function Problems(props: {
  title: 'profile.without' | 'profile.withoutMemray' | 'profile.notDetached';
  workers: ProfiledWorker[];
}) {
  const { t } = useTranslation();
  const translate = useServerMessage();
  const problems = props.workers.flatMap(({ problem }) =>
    problem === null ? [] : [translate(problem).line],
  );
  return [...new Set(problems)].map((text) => (
    <p key={text} className={css.note} data-testid="profile-problem">
      {t(props.title, { n: count(problems.filter((other) => other === text).length) })}
      <Prose text={text} />
    </p>
  ));
}

const missedBy = ({ taken, expected }: ProfiledWorker) => Math.max(0, (expected ?? 0) - (taken ?? 0));
