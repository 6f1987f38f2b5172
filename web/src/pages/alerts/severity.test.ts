import { expect, it } from 'vitest';
import { alertTone, severityTone, worstTone } from '../../ui/alerts/severity';
import { withPlaceholders } from './template';

it('has one colour for a severity', () => {
  expect(['critical', 'warning', 'info', 'page'].map(severityTone)).toEqual([
    'bad',
    'waiting',
    'quiet',
    'quiet',
  ]);
  expect(alertTone({ state: 'firing', severity: 'warning' })).toBe('waiting');
  expect(alertTone({ state: 'pending', severity: 'critical' })).toBe('quiet');
});

it('shows the number of firing alerts in the colour of the worst', () => {
  expect(worstTone([])).toBe('quiet');
  expect(worstTone([{ state: 'firing', severity: 'warning' }])).toBe('waiting');
  expect(
    worstTone([
      { state: 'firing', severity: 'warning' },
      { state: 'firing', severity: 'critical' },
    ]),
  ).toBe('bad');
  expect(worstTone([{ state: 'pending', severity: 'critical' }])).toBe('quiet');
});

it('shows placeholders of a template instead of its code', () => {
  expect(withPlaceholders('Node {{ $labels.node_ip }} at {{ $value | printf "%.0f" }} %')).toBe(
    'Node ‹node_ip› at ‹value› %',
  );
  expect(withPlaceholders('{{- humanize .Value -}} of {{ .Labels.queue }}')).toBe('‹value› of ‹queue›');
  expect(withPlaceholders('no places {{')).toBe('no places {{');
  const loop = '{{ range query "up" }}{{ .Labels.node_ip }} {{ end }}';
  expect(withPlaceholders(loop)).toBe(loop);
});
