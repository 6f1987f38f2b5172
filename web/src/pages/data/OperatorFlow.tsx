import { IconArrowRight } from '@tabler/icons-react';
import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import { toView } from '../../base/url';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import { StackedBar } from '../../ui/StackedBar';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './data.module.css';
import { breakable, tasksOf } from './dataset';
import { Progress } from './Progress';
import type { Dataset, Operator } from './types';

/** The operators in the order of the plan, with what waits between them. */
export function OperatorFlow({ dataset }: { dataset: Dataset }) {
  const { t } = useTranslation();
  return (
    <div className={css.flow} data-testid="operator-flow">
      {dataset.operators.map((operator, at) => (
        <Fragment key={operator.operator_id}>
          {at > 0 && (
            <span className={css.arrow} data-busy={(operator.queued_blocks ?? 0) > 0 || undefined}>
              <IconArrowRight size={16} aria-hidden />
              {(operator.queued_blocks ?? 0) > 0 && (
                <span className={words.num} title={t('data.queuedHint')}>
                  {t('data.queued', { n: count(operator.queued_blocks) })}
                </span>
              )}
            </span>
          )}
          <Card dataset={dataset} operator={operator} />
        </Fragment>
      ))}
    </div>
  );
}

function Card({ dataset, operator }: { dataset: Dataset; operator: Operator }) {
  const [url] = useSessionUrl();
  const isSlowest = operator.name === dataset.bottleneck;
  const states = operator.tasks?.states;
  return (
    <article className={css.card} data-slowest={isSlowest || undefined} data-testid="operator">
      <Link
        to={toView(url, 'tasks', { ...tasksOf(operator), ...(dataset.job_id && { job_id: dataset.job_id }) })}
        className={`${words.link} ${css.operator}`}
      >
        {breakable(operator.name)}
      </Link>
      <ItemState state={operator.state} />
      <Progress of={operator} />
      {states !== undefined && <StackedBar states={states} />}
    </article>
  );
}
