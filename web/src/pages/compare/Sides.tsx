import { ActionIcon, Badge, NativeSelect, Tooltip } from '@mantine/core';
import { IconArrowLeft, IconArrowRight, IconArrowsExchange } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { CompareAnswer, ComparedRun, Side } from '../../api/schema';
import { REPORT } from '../../base/report';
import { addressOf, type CompareUrl, MAX_COMPARED, type Url } from '../../base/url';
import { Duration } from '../../ui/Duration';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { go } from '../../ui/useUrl';
import css from './ComparePage.module.css';
import type { SideName } from './sides';

/** The runs of both sides, with links to them. A run can be moved to the other side. */
export function Sides({ answer, url }: { answer: CompareAnswer; url: CompareUrl }) {
  const { t } = useTranslation();
  const a = url.a || allOf(answer.a).map(addressOf).join(',');
  return (
    <div className={css.sides}>
      <SideOf name="a" answer={answer} url={url} />
      {REPORT === null && (
        <Tooltip label={t('compare.swap')}>
          <ActionIcon
            variant="default"
            aria-label={t('compare.swap')}
            onClick={() => go({ ...url, a: url.b, b: a })}
            data-testid="compare-swap"
          >
            <IconArrowsExchange size={16} />
          </ActionIcon>
        </Tooltip>
      )}
      <SideOf name="b" answer={answer} url={url} />
    </div>
  );
}

function SideOf({ name, answer, url }: { name: SideName; answer: CompareAnswer; url: CompareUrl }) {
  const { t } = useTranslation();
  const { runs, left_out: leftOut, shown } = answer[name];
  return (
    <section className={css.panel} data-testid={`compare-side-${name}`}>
      <h2>
        {t(`compare.total.${name}`)} <span className={words.dim}>· {t(`compare.side.${name}`)}</span>
      </h2>
      <div className={library.scroll}>
        <table className={`${library.table} ${css.runs}`}>
          <thead>
            <tr>
              <th>{t('compare.run')}</th>
              <th>{t('compare.started')}</th>
              <th data-number>{t('compare.took')}</th>
              <th>
                <span className={words.hidden}>{t('compare.session')}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <tr key={addressOf(run)} data-testid="compared-run">
                <td>
                  {REPORT === null ? (
                    <Link to={toJob(run, url.lang)} title={run.name}>
                      {run.name || run.job_id || run.session}
                    </Link>
                  ) : (
                    run.name || run.job_id || run.session
                  )}
                  {runs.length > 1 && addressOf(run) === addressOf(shown) && (
                    <Tooltip label={t('compare.isShownHint')}>
                      <Badge size="xs" variant="default" tt="none" ml={8}>
                        {t('compare.isShown')}
                      </Badge>
                    </Tooltip>
                  )}
                </td>
                <td>
                  <Time ns={run.begin_ns} />
                </td>
                <td data-number>
                  <Duration ns={run.duration_ns} />
                </td>
                <td className={css.acts}>
                  {REPORT === null && (
                    <Link to={toOverview(run, url.lang)} title={run.session}>
                      {t('compare.session')}
                    </Link>
                  )}
                  {REPORT === null && runs.length > 1 && (
                    <Move run={run} from={name} answer={answer} url={url} />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {allOf(answer[name]).length > 1 && <WarmUp leftOut={leftOut} name={name} answer={answer} url={url} />}
    </section>
  );
}

/** The runs of a side, first those that are left out. */
const allOf = ({ left_out, runs }: Side) => [...left_out, ...runs];

/** How many runs of a side are left out as warm-up. It applies to both sides. */
function WarmUp(props: { leftOut: ComparedRun[]; name: SideName; answer: CompareAnswer; url: CompareUrl }) {
  const { leftOut, name, answer, url } = props;
  const { t } = useTranslation();
  const most = Math.min(allOf(answer.a).length, allOf(answer.b).length) - 1;
  const note = t('compare.warmUp.leftOut', { n: leftOut.length });
  if (REPORT !== null || most < 1) return leftOut.length > 0 && <p className={words.dim}>{note}</p>;
  return (
    <div className={css.note}>
      <NativeSelect
        size="xs"
        w={220}
        aria-label={t('compare.warmUp.choose')}
        title={t('compare.warmUp.choose')}
        value={String(leftOut.length)}
        data={Array.from({ length: most + 1 }, (_, n) => ({
          value: String(n),
          label: t('compare.warmUp.leftOut', { n }),
        }))}
        onChange={({ currentTarget: { value } }) =>
          go({ ...url, skip_first: value === '0' ? undefined : value })
        }
        data-testid={`compare-skip-first-${name}`}
      />
    </div>
  );
}

/** A button that moves a run to the other side. */
function Move(props: { run: ComparedRun; from: SideName; answer: CompareAnswer; url: CompareUrl }) {
  const { run, from, answer, url } = props;
  const { t } = useTranslation();
  const to = from === 'a' ? 'b' : 'a';
  const label = t(`compare.move.${to}`, { name: run.name || run.session });
  const addresses = (side: SideName) => allOf(answer[side]).map(addressOf);
  const kept = addresses(from).filter((address) => address !== addressOf(run));
  return (
    <Tooltip label={label}>
      <ActionIcon
        size={22}
        aria-label={label}
        disabled={addresses(to).length >= MAX_COMPARED}
        onClick={() =>
          go({ ...url, [from]: kept.join(','), [to]: [...addresses(to), addressOf(run)].join(',') })
        }
        data-testid="compare-move"
      >
        {to === 'a' ? <IconArrowLeft size={14} /> : <IconArrowRight size={14} />}
      </ActionIcon>
    </Tooltip>
  );
}

const toJob = ({ session, job_id: item }: ComparedRun, lang?: string): Url => ({
  page: 'session',
  session,
  view: item ? 'jobs' : 'overview',
  filters: {},
  item: item || undefined,
  lang,
});

const toOverview = ({ session }: ComparedRun, lang?: string): Url => ({
  page: 'session',
  session,
  view: 'overview',
  filters: {},
  lang,
});
