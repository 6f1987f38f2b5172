import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { FindingItem } from '../../api/schema';
import type { Language } from '../../base/i18n/language';
import { render } from '../../testing/render';
import { useFindingTexts } from './useFindingTexts';

function Gain({ finding }: { finding: FindingItem }) {
  return <p data-testid="gain">{useFindingTexts().gain(finding)}</p>;
}

async function gain(finding: Partial<FindingItem>, language: Language = 'en'): Promise<string | null> {
  const { unmount } = await render(<Gain finding={finding as FindingItem} />, { language });
  const text = screen.getByTestId('gain').textContent;
  unmount();
  return text;
}

it('shows what a finding would save, costs at most, or that it is a risk', async () => {
  const finding = { is_risk: false, saving_low_ns: null, saving_high_ns: null, cost_ns: 3e9, share: 0.3 };
  expect(await gain(finding)).toBe('costs up to 3.00 s (30%)');
  const saving = { ...finding, saving_low_ns: 1.5e9, saving_high_ns: 2.5e9, share: 0.2 };
  expect(await gain(saving)).toBe('would save 1.50 to 2.50 s (9 of 10), 20%');
  expect(await gain(saving, 'zh')).toBe('可节省 1.50 至 2.50 s（90% 把握），20%');
  const risk = { ...finding, is_risk: true, cost_ns: 0, share: 0 };
  expect(await gain(risk)).toBe('a risk');
  expect(await gain(risk, 'zh')).toBe('存在风险');
});
