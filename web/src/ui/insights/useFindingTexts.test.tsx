import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { Finding } from '../../api/insights';
import type { Language } from '../../base/i18n/language';
import { render } from '../../testing/render';
import { useFindingTexts } from './useFindingTexts';

function Gain({ finding }: { finding: Finding }) {
  return <p data-testid="gain">{useFindingTexts().gain(finding)}</p>;
}

async function gain(finding: Partial<Finding>, language: Language = 'en'): Promise<string | null> {
  const { unmount } = await render(<Gain finding={finding as Finding} />, { language });
  const text = screen.getByTestId('gain').textContent;
  unmount();
  return text;
}

it('says what a finding would save, costs at most, or that it is a risk', async () => {
  const finding = { is_risk: false, saving_ns: null, cost_ns: 3e9, share: 0.3 };
  expect(await gain(finding)).toBe('costs up to 3.00 s (30%)');
  expect(await gain({ ...finding, saving_ns: 2e9, share: 0.2 })).toBe('would save 2.00 s (20%)');
  const risk = { ...finding, is_risk: true, cost_ns: 0, share: 0 };
  expect(await gain(risk)).toBe('a risk');
  expect(await gain(risk, 'zh')).toBe('存在风险');
});
