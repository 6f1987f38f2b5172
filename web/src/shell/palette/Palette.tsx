import { Combobox, Loader, TextInput, useCombobox } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useEffect, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from '../../ui/Dialog';
import { ItemState } from '../../ui/ItemState';
import words from '../../ui/theme/words.module.css';
import { useItemStateName, useStateName } from '../../ui/useStateName';
import { go, useUrl } from '../../ui/useUrl';
import css from './Palette.module.css';
import { keepRecent } from './recent';
import { usePaletteEntries } from './usePaletteEntries';

const MAX_TEXT = 200;

interface PaletteProps {
  text: string;
  onText: (text: string) => void;
  onClose: () => void;
}

/** A search dialog that finds anything in the session and opens it. */
export default function Palette(props: PaletteProps) {
  const { onClose } = props;
  const { t } = useTranslation();
  return (
    <Dialog
      onClose={onClose}
      withCloseButton={false}
      padding={0}
      size={640}
      yOffset="10vh"
      transitionProps={{ duration: 0 }}
      attributes={{ content: { 'aria-label': t('keys.find') } }}
      data-testid="palette"
    >
      <PaletteList {...props} />
    </Dialog>
  );
}

/**
 * A component of its own inside the dialog, so that the first entry is selected whenever the dialog opens.
 */
function PaletteList({ text, onText, onClose }: PaletteProps) {
  const { t } = useTranslation();
  const stateName = useStateName();
  const itemStateName = useItemStateName();
  const url = useUrl();
  const { groups, isPending } = usePaletteEntries(url, text);
  const entries = useMemo(() => groups.flatMap((group) => group.entries), [groups]);
  const store = useCombobox({ opened: true });
  const shown = entries.map(({ key }) => key).join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: Enter opens the first listed entry.
  useEffect(() => {
    store.selectFirstOption();
  }, [shown]);
  const choose = (key: string) => {
    const entry = entries.find((one) => one.key === key);
    if (entry === undefined) return;
    if (!key.startsWith('action ')) keepRecent(url.page === 'session' ? url.session : undefined, entry);
    onClose();
    go(entry.to);
  };
  return (
    <>
      <Combobox store={store} onOptionSubmit={choose}>
        <Combobox.EventsTarget withExpandedAttribute>
          <TextInput
            className={css.field}
            variant="unstyled"
            size="md"
            placeholder={t(url.page === 'session' ? 'palette.placeholder' : 'palette.placeholderSessions')}
            aria-label={t('keys.find')}
            value={text}
            maxLength={MAX_TEXT}
            onChange={(event) => onText(event.currentTarget.value)}
            onKeyDown={(event) => event.key === 'Escape' && onClose()}
            leftSection={<IconSearch size={17} />}
            rightSection={isPending && text !== '' ? <Loader size={15} /> : null}
            data-autofocus
            data-testid="palette-field"
          />
        </Combobox.EventsTarget>
        <Combobox.Options className={css.options} aria-label={t('keys.find')} tabIndex={0}>
          {groups.map((group) => (
            <Combobox.Group key={group.title} label={group.title}>
              {group.entries.map((entry) => (
                <Combobox.Option key={entry.key} value={entry.key} className={css.option} title={entry.name}>
                  <span className={`${words.ellipsis} ${css.name}`}>{entry.name}</span>
                  <span className={`${words.ellipsis} ${words.dim} ${css.detail}`}>{entry.detail}</span>
                  {entry.state && (
                    <span className={css.state}>
                      <ItemState state={entry.state} label={label(entry.state)} />
                    </span>
                  )}
                </Combobox.Option>
              ))}
            </Combobox.Group>
          ))}
          {entries.length === 0 && !isPending && <Combobox.Empty>{t('filter.none')}</Combobox.Empty>}
        </Combobox.Options>
      </Combobox>
      <div className={words.hidden} role="status">
        {isPending ? '' : t('palette.count', { n: entries.length })}
      </div>
    </>
  );

  function label(state: string): string {
    if (state === 'live' || state === 'ended' || state === 'unreadable') return t(`sessions.${state}`);
    const name = stateName(state);
    return name === state ? itemStateName(state) : name;
  }
}
