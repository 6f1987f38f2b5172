/** Small pieces that every page uses. */
import { ActionIcon, Alert, Button, Code, Group, Stack, Text, Tooltip } from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconCopy, IconPlugConnectedX } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../api/client';
import { copyText } from '../base/copy';
import { clockTime, count, duration, fullTime, type Nanos, shortId, time } from '../base/format';
import { stateColor, type Tone } from '../base/tokens';
import css from './small.module.css';
import { useServerMessage } from './useServerMessage';

/**
 * A time of day in the browser's zone; the whole with the zone on hover. `exact` shows milliseconds (where
 * times of one task stand together), `full` the date and the zone too.
 */
export function Time({ ns, exact, full }: { ns: Nanos; exact?: boolean; full?: boolean }) {
  return (
    <span className="rs-num" title={fullTime(ns) || undefined}>
      {full ? fullTime(ns) || '–' : exact ? clockTime(ns) : time(ns)}
    </span>
  );
}

export function Duration({ ns }: { ns: Nanos }) {
  const exact = typeof ns === 'number' ? `${count(ns)} ns` : undefined;
  return (
    <span className="rs-num" title={exact}>
      {duration(ns)}
    </span>
  );
}

export function Dash() {
  return <span className="rs-dim">–</span>;
}

function useCopied(): readonly [boolean, (text: string) => void] {
  const [copied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return [
    copied,
    (text) => {
      void copyText(text).then((done) => {
        setCopied(done);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => setCopied(false), 1500);
      });
    },
  ] as const;
}

/** The short form of an id: the whole on hover, copied on click. */
export function CopyId({ id, full }: { id: string | null | undefined; full?: boolean }) {
  const { t } = useTranslation();
  const [copied, copy] = useCopied();
  if (!id) return <Dash />;
  return (
    <button
      type="button"
      className="rs-id"
      title={`${id}\n${t(copied ? 'common.copied' : 'common.copy')}`}
      onClick={(event) => {
        event.stopPropagation();
        copy(id);
      }}
    >
      <span className={full ? 'rs-break' : undefined}>{full ? id : shortId(id)}</span>
      <span className={css.idIcon} data-copied={copied || undefined}>
        {copied ? <IconCheck size={12} /> : <IconCopy size={12} />}
      </span>
    </button>
  );
}

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const { t } = useTranslation();
  const [copied, copy] = useCopied();
  const name = label ?? t('common.copy');
  return (
    <Tooltip label={copied ? t('common.copied') : name}>
      <ActionIcon size={24} aria-label={name} onClick={() => copy(text)}>
        {copied ? <IconCheck size={15} /> : <IconCopy size={15} />}
      </ActionIcon>
    </Tooltip>
  );
}

/** A command line to copy. */
export function Command({ children }: { children: string }) {
  return (
    <div className={css.command}>
      <Code className={css.commandText}>{children}</Code>
      <CopyButton text={children} />
    </div>
  );
}

/** Ray's own name on hover, ours in the reader's language. */
export function useStateName(): (state: string | null) => string {
  const { t, i18n } = useTranslation();
  return (state) => {
    if (state === null || state === '') return t('state.UNKNOWN');
    return i18n.exists(`state.${state}`) ? t(`state.${state}` as 'state.RUNNING') : state;
  };
}

export function TaskState({ state }: { state: string | null }) {
  const name = useStateName();
  return (
    <span className="rs-state" title={state ?? undefined}>
      <span className="rs-dot" style={{ background: stateColor(state) }} />
      <span className="rs-ellipsis">{name(state)}</span>
    </span>
  );
}

const TONES: Record<string, Tone> = {
  ALIVE: 'good',
  FINISHED: 'good',
  SUCCEEDED: 'good',
  CREATED: 'good',
  live: 'good',
  RUNNING: 'busy',
  DEAD: 'quiet',
  REMOVED: 'quiet',
  STOPPED: 'quiet',
  CUT_OFF: 'quiet',
  ended: 'quiet',
  FAILED: 'bad',
  INFEASIBLE: 'bad',
  unreadable: 'bad',
};

/** The state of anything but a task. What we do not know is waiting for something. */
export function ItemState({ state, label }: { state: string | null; label?: string }) {
  if (!state) return <Dash />;
  return (
    <span className="rs-state" title={state}>
      <span className="rs-dot" style={{ background: `var(--rs-tone-${TONES[state] ?? 'waiting'})` }} />
      <span className="rs-ellipsis">{label ?? state}</span>
    </span>
  );
}

export function Empty(props: { icon: ReactNode; title: string; children?: ReactNode }) {
  return (
    <Stack align="center" gap={6} className={css.empty}>
      <span className={css.emptyIcon}>{props.icon}</span>
      <Text fw={600} size="sm">
        {props.title}
      </Text>
      {props.children && (
        <Text size="sm" c="dimmed" ta="center" maw={460} component="div">
          {props.children}
        </Text>
      )}
    </Stack>
  );
}

/** What went wrong and what to do about it, as the server says. */
export function ErrorPanel(props: {
  error: Error;
  title?: string;
  /** What went wrong, where it is not a request. */
  message?: string;
  /** What to do, where the page knows better than the server. */
  remedy?: ReactNode;
  onRetry?: () => void;
}) {
  const { t } = useTranslation();
  const translate = useServerMessage();
  const apiError = props.error instanceof ApiError ? props.error : null;
  const text =
    apiError === null
      ? { message: t('error.network'), remedy: t('error.networkRemedy') }
      : translate(apiError);
  const remedy = props.remedy ?? text.remedy;
  return (
    <Alert
      className={css.error}
      data-testid="error-panel"
      color="red"
      variant="light"
      m="md"
      icon={apiError ? <IconAlertTriangle size={18} /> : <IconPlugConnectedX size={18} />}
      title={props.title ?? t('error.title')}
    >
      <Text size="sm" className="rs-break" title={apiError?.message}>
        {props.message ?? text.message}
      </Text>
      {remedy && (
        <Text size="sm" mt={6} className="rs-break">
          <b>{t('common.remedy')}:</b> {remedy}
        </Text>
      )}
      {props.onRetry && (
        <Group mt="sm">
          <Button size="compact-sm" variant="default" onClick={props.onRetry}>
            {t('common.retry')}
          </Button>
        </Group>
      )}
    </Alert>
  );
}

/** The same in a line, where an answer has it among other things. */
export function ServerMessageLine({
  of,
}: {
  of: {
    error: string | null;
    remedy: string | null;
    error_code: string | null;
    error_params: Record<string, string | number> | null;
  };
}) {
  const translate = useServerMessage();
  const { error_code: code, error_params: params, remedy } = of;
  const text = translate({ code, params, message: of.error ?? '', remedy });
  return (
    <span title={of.error ?? undefined}>
      {text.message} {text.remedy}
    </span>
  );
}
