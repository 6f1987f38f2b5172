import { Combobox, TextInput, useCombobox } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Choice } from '../filterChoices';
import words from '../theme/words.module.css';
import css from './filters.module.css';

const MAX_SHOWN = 100;

/** A list to choose from by typing, arrow keys and Enter. */
export function OptionList(props: {
  label: string;
  choices: Choice[];
  chosen: string[];
  /** Whether the typed text can be chosen too. */
  free?: boolean;
  onPick: (value: string) => void;
}) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const field = useRef<HTMLInputElement>(null);
  // A popover focuses its first content when it opens, but not content that replaces it later.
  useEffect(() => field.current?.focus({ preventScroll: true }), []);
  const store = useCombobox({ opened: true });
  const wanted = text.trim().toLowerCase();
  const found = props.choices.filter(({ label }) => label.toLowerCase().includes(wanted));
  const isNew = props.free && wanted !== '' && !found.some(({ value }) => value.toLowerCase() === wanted);
  const options = [...(isNew ? [{ value: text.trim(), label: text.trim() }] : []), ...found];
  // biome-ignore lint/correctness/useExhaustiveDependencies: Enter takes the first listed option.
  useEffect(() => {
    store.selectFirstOption();
  }, [wanted, props.label, props.choices.length]);
  return (
    <Combobox store={store} onOptionSubmit={props.onPick}>
      <Combobox.EventsTarget withExpandedAttribute>
        <TextInput
          ref={field}
          size="xs"
          placeholder={props.label}
          aria-label={props.label}
          value={text}
          maxLength={200}
          onChange={(event) => setText(event.currentTarget.value)}
          data-autofocus
        />
      </Combobox.EventsTarget>
      <Combobox.Options className={css.options} aria-label={props.label} mt={6}>
        {options.slice(0, MAX_SHOWN).map(({ value, label }) => (
          <Combobox.Option
            key={value}
            value={value}
            className={css.option}
            aria-selected={props.chosen.includes(value)}
          >
            <span className={words.ellipsis} title={label}>
              {label}
            </span>
            {props.chosen.includes(value) && <IconCheck size={14} aria-hidden />}
          </Combobox.Option>
        ))}
        {options.length === 0 && <Combobox.Empty>{t('filter.none')}</Combobox.Empty>}
      </Combobox.Options>
    </Combobox>
  );
}
