import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { RulesAnswer } from '../../api/schema';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import shared from './alerts.module.css';
import css from './RuleProblems.module.css';

const FEW = 3;

type Problem = { heading: string; message: string; remedy: string | null };

/** Rules and rule files that have problems, because they are not in use or because their evaluation fails. */
export function RuleProblems({ rules }: { rules: RulesAnswer }) {
  const { t } = useTranslation();
  const translate = useServerMessage();
  const [all, setAll] = useState(false);
  const problems: Problem[] = [
    ...rules.problems.map(({ file, rule, ...said }) => ({
      heading: rule
        ? t('alerts.problems.rule', { rule, file })
        : file
          ? t('alerts.problems.file', { file })
          : '',
      ...translate(said),
    })),
    ...rules.items.flatMap(({ name: rule, problems: own }) =>
      own.map((said) => ({
        heading: t(`alerts.problems.${said.code === 'template_error' ? 'template' : 'failing'}`, { rule }),
        ...translate(said),
      })),
    ),
  ];
  if (problems.length === 0) return null;
  const left = problems.length - FEW;
  return (
    <section className={css.card} data-testid="rule-problems">
      <h3 className={css.title}>
        <IconAlertTriangle size={16} aria-hidden /> {t('alerts.problems.title', { n: problems.length })}
      </h3>
      <ul className={css.problems}>
        {(all ? problems : problems.slice(0, FEW)).map(({ heading, message, remedy }) => (
          <li key={`${heading} ${message}`}>
            {heading && <b>{heading}</b>}
            <div>
              {message} <span className={words.dim}>{remedy}</span>
            </div>
          </li>
        ))}
      </ul>
      {left > 0 && !all && (
        <button type="button" className={`${shared.linkButton} ${css.more}`} onClick={() => setAll(true)}>
          {t('alerts.problems.more', { n: left })}
        </button>
      )}
    </section>
  );
}
