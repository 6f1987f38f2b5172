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
  const finding = {
    is_risk: false,
    saving_ns: null,
    saving_low_ns: null,
    saving_high_ns: null,
    cost_ns: 3e9,
    share: 0.3,
  };
  expect(await gain(finding)).toBe('costs up to 3.00 s (30%)');
  const saving = { ...finding, saving_ns: 2e9, saving_low_ns: 1.5e9, saving_high_ns: 2.5e9, share: 0.2 };
  expect(await gain(saving)).toBe('would save about 2.00 s, 20% (9 of 10: 1.50 to 2.50 s)');
  expect(await gain(saving, 'zh')).toBe('可节省约 2.00 s，20%（90% 把握：1.50 至 2.50 s）');
  const risk = { ...finding, is_risk: true, cost_ns: 0, share: 0 };
  expect(await gain(risk)).toBe('a risk');
  expect(await gain(risk, 'zh')).toBe('存在风险');
});
