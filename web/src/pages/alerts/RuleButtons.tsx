import type { RuleInfo } from '../../api/schema';
import { EditButton, EditButtons } from './EditButton';
import { useAlertActions } from './useAlertActions';

/**
 * The operator's actions on a rule. A rule from a file that this page does not manage must be edited in the
 * file.
 */
export function RuleButtons({ rule }: { rule: RuleInfo }) {
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
