import { ActionIcon, Button, Group, Popover, Select, Stack, TextInput, Tooltip } from '@mantine/core';
import { IconCalendarTime, IconPlayerPlay, IconZoomOut } from '@tabler/icons-react';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { fromZoned, zoned } from '../../base/format';
import { Dot } from '../Dot';
import words from '../theme/words.module.css';
import css from './RangePicker.module.css';
import { type Choice, moves, type Range, rangeOf, SPANS, wider } from './timeRange';
import { useTimeRange } from './useTimeRange';

/** Choice of the time range of the page's charts. */
export function RangePicker() {
  const { t } = useTranslation();
  const spanText = useSpanText();
  const { choice, bounds, ready, set, reset } = useTimeRange();
  const now = Date.now();
  const range = rangeOf(choice, bounds, now);
  const moving = moves(choice, bounds, now);
  const spans: string[] = [...SPANS];
  if (choice.kind === 'span' && !spans.includes(choice.span)) spans.push(choice.span);
  const options = [
    ...spans.map((span) => ({ value: span, label: t('charts.last', { span: spanText(span) }) })),
    { value: 'all', label: t('charts.whole') },
  ];
  const value = choice.kind === 'span' ? choice.span : choice.kind;
  if (choice.kind === 'fixed') options.push({ value: 'fixed', label: t('charts.fixed') });
  return (
    <fieldset
      className={css.timepicker}
      data-testid="range-picker"
      data-live={moving || undefined}
      disabled={!ready}
    >
      <legend className={words.hidden}>{t('charts.range')}</legend>
      {choice.kind === 'fixed' && bounds.live && (
        <Button
          size="compact-sm"
          variant="light"
          leftSection={<IconPlayerPlay size={13} />}
          onClick={reset}
          data-testid="range-live"
        >
          {t('charts.backToLive')}
        </Button>
      )}
      {moving && (
        <Tooltip label={t('charts.liveHint')}>
          <span className={css.timepickerLive}>
            <Dot color="var(--rs-tone-good)" />
            {t('charts.live')}
          </span>
        </Tooltip>
      )}
      <Select
        size="xs"
        w={170}
        aria-label={t('charts.range')}
        data={options}
        value={value}
        allowDeselect={false}
        checkIconPosition="right"
        comboboxProps={{ withinPortal: true }}
        onChange={(next) => {
          if (next === 'all') set({ kind: 'all' });
          else if (next !== null && next !== 'fixed') set({ kind: 'span', span: next });
        }}
        data-testid="range-span"
      />
      <Tooltip label={t('charts.zoomOut')}>
        <ActionIcon
          size={30}
          aria-label={t('charts.zoomOut')}
          onClick={() => set({ kind: 'fixed', ...wider(range, Date.now()) })}
          data-testid="range-wider"
        >
          <IconZoomOut size={17} />
        </ActionIcon>
      </Tooltip>
      <RangeFields range={range} onSet={set} />
    </fieldset>
  );
}

const NAMES = { s: 'seconds', m: 'minutes', h: 'hours', d: 'days' } as const;

/** `15 minutes`. */
function useSpanText(): (span: string) => string {
  const { t } = useTranslation();
  return (span) => {
    if (span === '1h') return t('charts.hour');
    const unit = NAMES[span.slice(-1) as keyof typeof NAMES];
    return t(`charts.${unit}`, { n: span.slice(0, -1) });
  };
}

/** Formats a time for a `datetime-local` input, to the second. */
const fieldText = (millis: number) => zoned(millis).slice(0, 19);

function RangeFields({ range, onSet }: { range: Range; onSet: (choice: Choice) => void }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const [begin, end] = [fromZoned(from), fromZoned(to)];
  const wrong = from !== '' && to !== '' && !(begin < end);

  function submit(event: FormEvent): void {
    event.preventDefault();
    if (!(begin < end)) return;
    onSet({ kind: 'fixed', from: begin, to: end });
    setOpen(false);
  }

  return (
    <Popover opened={open} onChange={setOpen} position="bottom-end" shadow="md" trapFocus withinPortal>
      <Popover.Target>
        <Tooltip label={t('charts.choose')}>
          <ActionIcon
            size={30}
            aria-label={t('charts.choose')}
            aria-expanded={open}
            onClick={() => {
              setFrom(fieldText(range.from));
              setTo(fieldText(range.to));
              setOpen((now) => !now);
            }}
            data-testid="range-choose"
          >
            <IconCalendarTime size={17} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown>
        <form onSubmit={submit}>
          <Stack gap="xs">
            <TextInput
              type="datetime-local"
              step={1}
              size="xs"
              label={t('charts.from')}
              value={from}
              onChange={(event) => setFrom(event.currentTarget.value)}
              data-testid="range-from"
            />
            <TextInput
              type="datetime-local"
              step={1}
              size="xs"
              label={t('charts.to')}
              value={to}
              onChange={(event) => setTo(event.currentTarget.value)}
              error={wrong ? t('charts.order') : undefined}
              data-testid="range-to"
            />
            <Group justify="flex-end">
              <Button type="submit" size="compact-sm" disabled={!(begin < end)} data-testid="range-apply">
                {t('charts.apply')}
              </Button>
            </Group>
          </Stack>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
