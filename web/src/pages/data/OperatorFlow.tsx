import { IconArrowRight } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { DatasetAnswer, OperatorDetail } from '../../api/schema';
import { count } from '../../base/format';
import { total } from '../../base/progress';
import { toView } from '../../base/url';
import { CardGraph } from '../../ui/CardGraph';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import { StackedBar } from '../../ui/StackedBar';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './data.module.css';
import { breakable, inputsOf, isChain, tasksOf } from './dataset';
import { Progress } from './Progress';

/** Width of a graph card, CSS px; must match data.module.css. */
const WIDTH = 200;
const HEIGHT = 136;

/** The graph of operators and the blocks that pass between them, with queue lengths. */
export function OperatorFlow({ dataset }: { dataset: DatasetAnswer }) {
  const { t } = useTranslation();
  const { operators } = dataset;
  const inputs = inputsOf(operators);
  if (inputs !== null && !isChain(operators, inputs))
    return (
      <CardGraph
        cards={
          new Map(
            operators.map((one) => [
              one.operator_id,
              <Card key={one.operator_id} dataset={dataset} operator={one} isPlaced />,
            ]),
          )
        }
        links={inputs}
        width={WIDTH}
        height={HEIGHT}
        label={t('data.inputs')}
        testId="operator-graph"
      />
    );
  return (
    <>
      <div className={css.flow} data-testid="operator-flow">
        {operators.map((operator, at) => (
          <span key={operator.operator_id} className={css.step}>
            <Card dataset={dataset} operator={operator} />
            <Arrow to={operators[at + 1]} isKnown={inputs !== null} />
          </span>
        ))}
      </div>
      {inputs === null && operators.length > 1 && <p className={words.dim}>{t('data.orderOnly')}</p>}
    </>
  );
}

/** The arrow to the next operator. It is at the end of a row, not at the start of the next one. */
function Arrow({ to, isKnown }: { to: OperatorDetail | undefined; isKnown: boolean }) {
  if (to === undefined) return null;
  return (
    <span className={css.arrow} data-busy={(to.queued_blocks ?? 0) > 0 || undefined}>
      {isKnown && <IconArrowRight size={16} aria-hidden />}
      <Queued operator={to} />
    </span>
  );
}

/** Number of blocks queued for an operator. */
function Queued({ operator }: { operator: OperatorDetail }) {
  const { t } = useTranslation();
  if ((operator.queued_blocks ?? 0) === 0) return null;
  return (
    <span className={words.num} title={t('data.queuedHint')}>
      {t('data.queued', { n: count(operator.queued_blocks) })}
    </span>
  );
}

/** The card of an operator. `isPlaced` is set in the graph, where all cards have the same size. */
function Card({
  dataset,
  operator,
  isPlaced,
}: {
  dataset: DatasetAnswer;
  operator: OperatorDetail;
  isPlaced?: boolean;
}) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const isSlowest = operator.name === dataset.bottleneck;
  const states = operator.tasks?.states;
  const tasks = total(states ?? {});
  return (
    <article
      className={css.card}
      data-slowest={isSlowest || undefined}
      data-placed={isPlaced}
      data-testid="operator"
    >
      <Link
        to={toView(url, 'tasks', { ...tasksOf(operator), ...(dataset.job_id && { job_id: dataset.job_id }) })}
        className={`${words.link} ${css.operator}`}
        title={operator.name}
      >
        {breakable(operator.name)}
      </Link>
      <span className={css.state}>
        <ItemState state={operator.state} />
        {isPlaced && <Queued operator={operator} />}
      </span>
      <Progress of={operator} />
      {states !== undefined && (
        <span className={css.progress}>
          <StackedBar states={states} />
          <span className={`${words.num} ${words.dim}`}>
            {t('data.tasksOf', { n: tasks, count: count(tasks) })}
          </span>
        </span>
      )}
    </article>
  );
}
