import { IconChevronRight } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type AlertsTopic, useTopic } from '../../api/realtime';
import type { FindingItem } from '../../api/schema';
import { toProfile, toView, withSettings } from '../../base/url';
import { Severity } from '../../ui/alerts/Severity';
import { severityTone } from '../../ui/alerts/severity';
import { CopyButton } from '../../ui/CopyButton';
import { FunctionLines } from '../../ui/HotLines';
import { filtersOf, numberText } from '../../ui/insights/findings';
import { OriginTag } from '../../ui/insights/OriginTag';
import { useFindingTexts } from '../../ui/insights/useFindingTexts';
import { Link } from '../../ui/Link';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './FindingCard.module.css';

interface Props {
  finding: FindingItem;
  job: string;
  /** Whether the URL names this finding. If so, it is opened and scrolled into view. */
  isWanted: boolean;
  isFirst: boolean;
}

/** A finding with its place and cost. When unfolded, it also shows the reason and the advice. */
export function FindingCard({ finding, job, isWanted, isFirst }: Props) {
  const texts = useFindingTexts();
  // Findings about an actor name the method that their filters select.
  const name = finding.function ?? filtersOf(finding).func_name;
  const [opened, setOpened] = useState(isFirst || isWanted);
  const card = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (!isWanted) return;
    setOpened(true);
    card.current?.scrollIntoView({ block: 'nearest' });
  }, [isWanted]);
  return (
    <li
      ref={card}
      className={css.card}
      data-tone={severityTone(finding.severity)}
      data-wanted={isWanted || undefined}
      data-testid="finding"
      data-kind={finding.kind}
    >
      <button
        type="button"
        className={css.head}
        aria-expanded={opened}
        onClick={() => setOpened((before) => !before)}
      >
        <IconChevronRight size={16} className={css.chevron} aria-hidden />
        <Severity severity={finding.severity} />
        <span className={css.title}>{texts.title(finding.kind, finding.title)}</span>
        <span className={css.place}>
          <span className={`${words.mono} ${words.ellipsis}`}>{texts.place(finding)}</span>
          <OriginTag origin={finding.origin} />
        </span>
        <span className={`${css.gain} ${words.num}`}>{texts.gain(finding)}</span>
      </button>
      {opened && (
        <div className={css.body}>
          <p className={css.advice}>{texts.advice(finding)}</p>
          <Evidence finding={finding} />
          {finding.sketch !== '' && <Sketch code={finding.sketch} />}
          {name !== undefined && (
            <div className={css.lines}>
              <FunctionLines filters={{ func_name: name, job_id: job }} />
            </div>
          )}
          <FindingLinks finding={finding} job={job} />
        </div>
      )}
    </li>
  );
}

function Evidence({ finding }: { finding: FindingItem }) {
  const { t } = useTranslation();
  const texts = useFindingTexts();
  return (
    <dl className={css.evidence} aria-label={t('insights.findings.evidence')}>
      {Object.entries(finding.numbers).map(([name, value]) => (
        <div key={name}>
          <dt>{texts.number(name)}</dt>
          <dd className={words.num}>{numberText(name, value)}</dd>
        </div>
      ))}
      {finding.caller && (
        <div>
          <dt>{t('insights.findings.caller', { name: finding.caller })}</dt>
        </div>
      )}
      <div>
        <dt>{t(`insights.findings.confidence.${finding.confidence}`)}</dt>
      </div>
    </dl>
  );
}

function Sketch({ code }: { code: string }) {
  const { t } = useTranslation();
  return (
    <div className={css.sketch}>
      <pre className={words.pre} data-testid="sketch">
        {code}
      </pre>
      <span className={css.copy}>
        <CopyButton text={code} label={t('insights.findings.copySketch')} />
      </span>
    </div>
  );
}

/** Links to views that show the finding. */
function FindingLinks({ finding, job }: { finding: FindingItem; job: string }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const profile = useTopic<AlertsTopic>('alerts', { session: url.session })?.items.find(
    ({ labels, profile }) =>
      labels.kind === finding.kind && labels.job_id === job && profile?.profile_id != null,
  )?.profile?.profile_id;
  const filters = filtersOf(finding);
  const name = finding.function ?? filters.func_name;
  const chart =
    name === undefined
      ? withSettings(toView(url, 'gantt', { job_id: job }), { path: '1' })
      : toView(url, 'gantt', { func_name: name, job_id: job });
  return (
    <p className={css.ways}>
      {Object.keys(filters).length > 0 && (
        <Link to={toView(url, 'tasks', { ...filters, job_id: job })} testId="finding-tasks">
          {t('insights.findings.tasks')}
        </Link>
      )}
      <Link to={chart} testId="finding-gantt">
        {t('insights.findings.gantt')}
      </Link>
      {profile != null && (
        <Link to={toProfile(url, profile)} testId="finding-profile">
          {t('profile.title')}
        </Link>
      )}
      {finding.doc !== '' && (
        <span className={words.dim}>{t('insights.findings.doc', { page: finding.doc })}</span>
      )}
    </p>
  );
}
