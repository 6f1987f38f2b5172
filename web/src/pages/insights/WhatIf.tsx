import { useDebouncedValue } from '@mantine/hooks';
import { IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { type Change, useWhatIf } from '../../api/insights';
import type { InsightsAnswer } from '../../api/schema';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { Prose } from '../../ui/Prose';
import { Panel, PanelText } from '../../ui/panels/Panel';
import chips from '../../ui/theme/chips.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { withoutChange } from './changes';
import { useChanges, useChangeText } from './useChanges';
import { useWithheld } from './useWithheld';
import css from './WhatIf.module.css';
import { WhatIfControls } from './WhatIfControls';
import { WhatIfResult } from './WhatIfResult';

/** Delay between the last change and the request, ms. */
const PAUSE = 250;

/** Predicts how long the job would take with the chosen changes. */
export function WhatIf({ insights }: { insights: InsightsAnswer }) {
  const { t } = useTranslation();
  const [changes, setChanges] = useChanges();
  const withheld = useWithheld(insights);
  return (
    <Panel title={t('insights.whatif.title')} note={t('insights.whatif.hint')} testId="whatif" wide>
      {withheld !== null ? (
        <PanelText>
          {t(`insights.withheld.${insights.withheld?.code === 'takes_long' ? 'notYet' : 'title'}`)}{' '}
          <Prose text={withheld} />
        </PanelText>
      ) : (
        <div className={css.body}>
          <WhatIfControls insights={insights} changes={changes} setChanges={setChanges} />
          <div className={css.answer}>
            <ChosenChanges changes={changes} setChanges={setChanges} />
            {changes.length === 0 ? (
              <div className={css.none}>
                <b>{t('insights.whatif.choose')}</b>
                <p className={words.dim}>{t('insights.whatif.chooseText')}</p>
              </div>
            ) : (
              <Answer insights={insights} changes={changes} />
            )}
          </div>
        </div>
      )}
    </Panel>
  );
}

function Answer({ insights, changes }: { insights: InsightsAnswer; changes: Change[] }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const [question] = useDebouncedValue(changes, PAUSE);
  const { data, error, isPlaceholderData } = useWhatIf(url.session, insights.job_id, question);
  if (error !== null && data === undefined) return <ErrorPanel error={error} />;
  if (data === undefined) return <PanelText busy>{t('overview.loading')}</PanelText>;
  if (data.predicted_ns === null)
    return (
      <p className={css.stuck} data-testid="whatif-stuck">
        {t('insights.whatif.stuck')}
      </p>
    );
  return <WhatIfResult answer={data} outdated={isPlaceholderData || question !== changes} />;
}

/** The chosen changes, each with a button that removes it. */
function ChosenChanges(props: {
  changes: Change[];
  setChanges: (next: (before: Change[]) => Change[]) => void;
}) {
  const { t } = useTranslation();
  const changeText = useChangeText();
  if (props.changes.length === 0) return null;
  return (
    <div className={css.chosen}>
      {props.changes.map((change) => (
        <button
          key={changeText(change)}
          type="button"
          className={chips.chip}
          aria-label={t('insights.whatif.remove', { change: changeText(change) })}
          onClick={() => props.setChanges((before) => withoutChange(before, change))}
          data-testid="whatif-change"
        >
          {changeText(change)} <IconX size={12} aria-hidden />
        </button>
      ))}
      <button type="button" className={words.link} onClick={() => props.setChanges(() => [])}>
        {t('insights.whatif.reset')}
      </button>
    </div>
  );
}
