import { ActionIcon, Button, Switch, Tooltip } from '@mantine/core';
import { IconCode, IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/client';
import type { FramesAnswer, FramesProblem, FramesWorker, MergedFrame } from '../../api/schema';
import { count, shortId } from '../../base/format';
import { toItem } from '../../base/url';
import { CopyButton } from '../../ui/CopyButton';
import { Field, Fields, Section } from '../../ui/Drawer';
import { useCodeName } from '../../ui/frames';
import { Link } from '../../ui/Link';
import { useNodeTitle } from '../../ui/NodeLabel';
import { Prose } from '../../ui/Prose';
import { Time } from '../../ui/Time';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';
import css from './FramesPanel.module.css';
import { stackText } from './frames';
import shared from './stack.module.css';

/** A button that samples the frames of everything that runs. If it is disabled, it shows why. */
export function TakeFrames(props: { why: string | null; taking: boolean; onTake: () => void }) {
  const { t } = useTranslation();
  return (
    <Tooltip label={props.why ?? t('frames.takeHint')} multiline maw={300}>
      <span>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconCode size={15} />}
          disabled={props.why !== null}
          loading={props.taking}
          onClick={props.onTake}
          data-testid="frames-take"
        >
          {t('frames.take')}
        </Button>
      </span>
    </Tooltip>
  );
}

function Worker({ worker }: { worker: FramesWorker }) {
  const [url] = useSessionUrl();
  const nodeTitle = useNodeTitle();
  const { t } = useTranslation();
  return (
    <li className={shared.example}>
      <Link
        to={toItem(url, 'workers', worker.worker_id)}
        title={worker.worker_id}
        className={`${words.link} ${words.mono}`}
      >
        {shortId(worker.worker_id)}
      </Link>
      <span className={`${words.dim} ${words.ellipsis}`} title={worker.node_id ?? undefined}>
        {worker.pid !== null && t('stack.pid', { pid: worker.pid })}
        {worker.node_id !== null && ` · ${nodeTitle(worker.node_id)}`}
      </span>
    </li>
  );
}

function Problem({ problem }: { problem: FramesProblem }) {
  const { t } = useTranslation();
  const text = useServerMessage()(problem);
  return (
    <div className={css.problem} data-testid="frames-problem" data-code={problem.code}>
      <p>
        <b>{text.message}</b>{' '}
        <span className={`${words.dim} ${words.num}`}>
          {t('frames.ofWorkers', { n: count(problem.count) })}
        </span>
      </p>
      <p className={words.breaks}>
        <Prose text={text.remedy} />
      </p>
      <details>
        <summary>{t('frames.which')}</summary>
        <ul>
          {problem.workers.map((worker) => (
            <Worker key={worker.worker_id} worker={worker} />
          ))}
          {problem.count > problem.workers.length && (
            <li className={words.dim}>
              {t('stack.between', { n: count(problem.count - problem.workers.length) })}
            </li>
          )}
        </ul>
      </details>
    </div>
  );
}

/** When and from which processes the frames were sampled, and which processes are missing and why. */
export function FramesPanel(props: {
  frames: FramesAnswer | undefined;
  error: Error | null;
  whole: boolean;
  taking: boolean;
  onWhole: (whole: boolean) => void;
  onClear: () => void;
}) {
  const { frames, error } = props;
  const { t } = useTranslation();
  const translate = useServerMessage();
  const text = error instanceof ApiError ? translate(error) : null;
  const idle = frames?.nodes.reduce((sum, node) => sum + node.idle_threads, 0) ?? 0;
  return (
    <Section
      title={t('frames.title')}
      testId="frames-panel"
      right={
        <Tooltip label={t('frames.clear')}>
          <ActionIcon
            size={24}
            aria-label={t('frames.clear')}
            onClick={props.onClear}
            data-testid="frames-clear"
          >
            <IconX size={15} />
          </ActionIcon>
        </Tooltip>
      }
    >
      {error !== null && (
        <div className={css.problem} role="alert">
          <p>
            <b className={words.breaks}>{text?.message ?? t('error.network')}</b>
          </p>
          <p className={words.breaks}>
            <Prose text={text === null ? t('error.networkRemedy') : text.remedy} />
          </p>
        </div>
      )}
      {frames !== undefined && (
        <div aria-live="polite">
          <p>
            {t('frames.takenAt')} <Time ns={frames.at_ns} exact />
            {' · '}
            <span className={words.num}>{t('frames.ofWorkers', { n: count(frames.workers.length) })}</span>
          </p>
          {frames.asked === 0 && frames.problems.length === 0 && (
            <p className={words.dim}>{t('frames.nobody')}</p>
          )}
          {frames.left_out > 0 && (
            <p className={words.dim}>{t('frames.leftOut', { n: count(frames.left_out) })}</p>
          )}
          {idle > 0 && <p className={words.dim}>{t('frames.idleThreads', { n: count(idle) })}</p>}
          {frames.folded_frames > 0 && (
            <p className={words.dim}>{t('frames.folded', { n: count(frames.folded_frames) })}</p>
          )}
          {frames.problems.map((problem) => (
            <Problem key={`${problem.code} ${problem.message}`} problem={problem} />
          ))}
        </div>
      )}
      <Switch
        size="xs"
        mt={8}
        label={t('frames.whole')}
        description={t('frames.wholeHint')}
        checked={props.whole}
        disabled={props.taking}
        onChange={(event) => props.onWhole(event.currentTarget.checked)}
        data-testid="frames-whole"
      />
    </Section>
  );
}

/** The selected frame, with some of the workers that are in it. */
export function FrameDetail({ frame, frames }: { frame: MergedFrame; frames: FramesAnswer }) {
  const { t } = useTranslation();
  const nameOf = useCodeName();
  const workers = new Map(frames.workers.map((worker) => [worker.worker_id, worker]));
  const around = frames.nodes.find((node) => node.frames.some((each) => each.id === frame.id))?.frames ?? [];
  const examples = frame.examples.flatMap((id) => workers.get(id) ?? []);
  return (
    <Section
      title={<span className={`${words.breaks} ${shared.frameName}`}>{nameOf(frame)}</span>}
      testId="frame-detail"
      right={<CopyButton text={stackText(around, frame)} label={t('frames.copy')} />}
    >
      <Fields>
        {frame.kind === 'code' && (
          <>
            <Field name={t('frames.file')}>
              <span className={`${words.breaks} ${words.mono}`}>{frame.file}</span>
            </Field>
            <Field name={t('frames.line')}>
              <span className={words.num}>{frame.line ?? '–'}</span>
            </Field>
          </>
        )}
        <Field name={t('frames.stacks')} hint={t('frames.stacksHint')}>
          <span className={words.num}>{count(frame.count)}</span>
        </Field>
        <Field name={t('frames.endHere')}>
          <span className={words.num}>{count(frame.own)}</span>
        </Field>
        <Field name={t('frames.activeName')} hint={t('frames.activeHint')}>
          <span className={words.num}>{count(frame.active)}</span>
        </Field>
        <Field name={t('frames.workers')}>
          <span className={words.num}>{count(frame.workers)}</span>
        </Field>
      </Fields>
      {(frame.kind === 'await' || frame.kind === 'none') && (
        <p className={words.dim}>{t(`frames.${frame.kind}Hint`)}</p>
      )}
      <h4 className={shared.head}>
        {frame.workers > examples.length
          ? t('frames.someOf', { shown: examples.length, total: count(frame.workers) })
          : t('frames.workers')}
      </h4>
      <ul>
        {examples.map((worker) => (
          <Worker key={worker.worker_id} worker={worker} />
        ))}
      </ul>
    </Section>
  );
}
