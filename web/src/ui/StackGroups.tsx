import { useTranslation } from 'react-i18next';
import type { ProfileItem, StackGroup } from '../api/schema';
import { codePlace, count, percent, shortId } from '../base/format';
import { toItem } from '../base/url';
import hot from './HotLines.module.css';
import { Link } from './Link';
import css from './StackGroups.module.css';
import words from './theme/words.module.css';
import { useSessionUrl } from './useUrl';

/** Number of frames that are shown before the others are unfolded. */
const SHOWN = 6;

/**
 * The workers of a profile by their most frequent stack. Those of small groups are marked, because they may
 * hold up the others.
 */
export function StackGroups({ profile }: { profile: ProfileItem }) {
  const { t } = useTranslation();
  const { stacks, workers } = profile;
  const without = workers
    .map(({ worker_id }) => worker_id)
    .filter((id) => !stacks.some(({ worker_ids }) => worker_ids.includes(id)));
  const largest = stacks[0]?.worker_ids.length ?? 0;
  if (workers.length < 2 || largest === 0) return null;
  const ranked = new Set(workers.filter(({ rank }) => rank !== null).map(({ worker_id }) => worker_id));
  // The ranks of a training run are to be at the same place. Other workers may be anywhere.
  const isOdd = (ids: readonly string[]) => ids.length < largest && ids.some((id) => ranked.has(id));
  return (
    <>
      <p className={`${words.dim} ${hot.note}`}>{t('profile.stacks')}</p>
      <ol className={css.groups} aria-label={t('profile.stacks')}>
        {stacks.map((group) => (
          <li
            key={group.worker_ids[0]}
            className={css.group}
            data-odd={isOdd(group.worker_ids) || undefined}
            data-testid="stack-group"
          >
            <div className={css.head}>
              <Workers ids={group.worker_ids} profile={profile} />
              <span className={`${words.dim} ${words.num}`}>
                {t('profile.stackShare', {
                  share: percent(group.share),
                  phase: t(`lines.phase.${group.phase.replace('.', '_')}` as 'lines.phase.executing'),
                })}
              </span>
            </div>
            <Frames group={group} />
          </li>
        ))}
        {without.length > 0 && (
          <li className={css.group} data-odd={isOdd(without) || undefined} data-testid="stack-group">
            <div className={css.head}>
              <Workers ids={without} profile={profile} />
              <span className={words.dim}>{t('profile.noStack')}</span>
            </div>
          </li>
        )}
      </ol>
    </>
  );
}

/** The ranks of workers of Ray Train, and the IDs of others. */
function Workers({ ids, profile }: { ids: readonly string[]; profile: ProfileItem }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const workers = profile.workers
    .filter(({ worker_id }) => ids.includes(worker_id))
    .sort((one, other) => (one.rank ?? 0) - (other.rank ?? 0));
  const hasRanks = workers.every(({ rank }) => rank !== null);
  return (
    <span>
      <b>{t(hasRanks ? 'profile.ranks' : 'profile.workers', { n: count(workers.length) })}</b>
      {workers.map(({ worker_id, rank }, at) => (
        <span key={worker_id}>
          {at === 0 ? ' ' : ', '}
          <Link to={toItem(url, 'workers', worker_id)}>{hasRanks ? rank : shortId(worker_id)}</Link>
        </span>
      ))}
    </span>
  );
}

function Frames({ group }: { group: StackGroup }) {
  const { t } = useTranslation();
  // biome-ignore lint/suspicious/noArrayIndexKey: a recursion has equal frames.
  const frames = group.frames.map((frame, depth) => <Frame key={`${depth} ${frame}`} text={frame} />);
  const more = frames.length - SHOWN + group.frames_left_out;
  return (
    <>
      <ol className={css.frames}>{frames.slice(0, SHOWN)}</ol>
      {frames.length > SHOWN && (
        <details>
          <summary className={`${words.dim} ${hot.note}`}>{t('frames.cut', { n: count(more) })}</summary>
          <ol className={css.frames}>{frames.slice(SHOWN)}</ol>
        </details>
      )}
    </>
  );
}

function Frame({ text }: { text: string }) {
  const [, file = '', line = '0', name = text] = /^(.*?):(\d+) (.*)$/.exec(text) ?? [];
  const place = codePlace({ file, line: Number(line) });
  return (
    <li className={hot.place} title={text}>
      <span className={`${words.mono} ${hot.file}`}>{place}</span>
      <span className={`${hot.function} ${words.ellipsis} ${words.dim}`}>{name}</span>
    </li>
  );
}
