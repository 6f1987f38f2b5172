import type { Rule } from '../../api/alerts';
import { EditButton, EditButtons } from './EditButton';
import { useAlertActions } from './useAlertActions';

/** What an operator does with a rule; those in other files than the page's own are edited there. */
export function RuleButtons({ rule }: { rule: Rule }) {
  const actions = useAlertActions();
  const { name, enabled, source } = rule;
  return (
    <EditButtons>
      {(source === 'ui.yml' || source === 'shipped') && (
        <EditButton kind="rule" action="edit" name={name} onClick={() => void actions.editRule(rule)} />
      )}
      <EditButton
        kind="rule"
        action={enabled ? 'disable' : 'enable'}
        name={name}
        onClick={() => void actions.switchRule(rule)}
      />
      {source === 'ui.yml' && (
        <EditButton kind="rule" action="delete" name={name} onClick={() => void actions.deleteRule(rule)} />
      )}
    </EditButtons>
  );
}
