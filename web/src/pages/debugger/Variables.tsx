import { IconChevronRight } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Variable, Variables as VariablesAnswer } from '../../api/schema';
import { count } from '../../base/format';
import { ErrorPanel } from '../../ui/ErrorPanel';
import words from '../../ui/theme/words.module.css';
import css from './debugger.module.css';
import type { TracedTask } from './traced';
import { useSecret } from './useSecret';

/** The local variables of a frame or, with `reference`, the parts of a variable. */
export function Variables(props: { task: TracedTask; frameId: number; reference?: number }) {
  const { task, frameId, reference } = props;
  const { t } = useTranslation();
  const of = reference === undefined ? { frame_id: frameId } : { reference };
  const { data, error } = useSecret<VariablesAnswer>(task, 'variables', of);
  if (error !== null) return <ErrorPanel error={error} />;
  if (data == null) return null;
  if (data.items.length === 0) return <p className={words.dim}>{t('debugger.noVariables')}</p>;
  return (
    <ul className={css.variables}>
      {data.items.map((variable, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts may share a name.
        <VariableLine key={at} task={task} frameId={frameId} variable={variable} />
      ))}
      {data.left_out > 0 && <li className={words.dim}>{t('debugger.more', { n: count(data.left_out) })}</li>}
    </ul>
  );
}

function VariableLine(props: { task: TracedTask; frameId: number; variable: Variable }) {
  const { task, frameId, variable } = props;
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  return (
    <li data-testid="look-variable">
      <div className={css.variable}>
        {variable.reference > 0 ? (
          <button
            type="button"
            className={css.toggle}
            aria-expanded={isOpen}
            aria-label={t('debugger.parts', { name: variable.name })}
            onClick={() => setOpen(!isOpen)}
          >
            <IconChevronRight size={14} className={isOpen ? words.turned : undefined} aria-hidden />
          </button>
        ) : (
          <span className={css.toggle} />
        )}
        <span className={`${css.variableName} ${words.ellipsis}`} title={variable.name}>
          {variable.name}
        </span>
        <span className={words.ellipsis} title={variable.value}>
          {variable.value}
        </span>
        {variable.type !== null && (
          <span className={`${words.dim} ${words.ellipsis} ${css.type}`} title={variable.type}>
            {variable.type}
          </span>
        )}
      </div>
      {isOpen && <Variables task={task} frameId={frameId} reference={variable.reference} />}
    </li>
  );
}
