import { Switch } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { LinesAnswer } from '../../api/schema';
import { count } from '../../base/format';
import { withSettings } from '../../base/url';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';
import css from './FlameLines.module.css';
import type { Node } from './flame';
import { useFoundText } from './flameText';

/**
 * A switch that shows the lines of the zoomed function below it, or why there are none. `node`: the function, or
 * the zoomed line below it.
 */
export function FlameLines({ of, node, answer }: { of: Node; node: Node; answer: LinesAnswer }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const translate = useServerMessage();
  const foundText = useFoundText(node);
  const { missing } = answer;
  const isOn = missing === null && url.settings?.lines !== undefined;
  return (
    <span className={`${css.lines} ${words.dim} ${words.num}`} data-testid="flame-lines">
      {isOn && foundText !== null && <b>{foundText}</b>}
      {isOn && (
        <span title={t('flame.linesHint')}>
          {t('flame.linesOf', { n: count(answer.samples), name: of.frame.name })}
        </span>
      )}
      {missing !== null && <span title={translate(missing).line}>{translate(missing).message}</span>}
      <Switch
        size="xs"
        label={t('flame.lines')}
        title={t('flame.linesHint')}
        disabled={missing !== null}
        checked={isOn}
        onChange={(event) => {
          const lines = event.currentTarget.checked ? of.frame.id : undefined;
          change((before) => withSettings(before, { lines }));
        }}
      />
    </span>
  );
}
