import { readFileSync } from 'node:fs';
import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { InsightsAnswer } from '../../api/schema';
import { enInsights } from '../../base/i18n/en.insights';
import type { Language } from '../../base/i18n/language';
import { render } from '../../testing/render';
import { useVerdict } from './useVerdict';

type Verdict = NonNullable<InsightsAnswer['verdict']>;

const VERDICT: Verdict = {
  code: 'actor',
  name: 'Board.offer',
  total_ns: 5e9,
  share: 0.5,
  remedy: 'finding',
  remedy_name: 'actor_bottleneck',
  remedy_place: 'Board',
  saving_ns: 3e9,
  saving_low_ns: 2e9,
  saving_high_ns: 4e9,
  text: '',
  actor: null,
};

const FINDING = {
  kind: 'actor_bottleneck',
  title: 'An actor is the bottleneck',
  function: null,
  actor_class: 'Board',
} as InsightsAnswer['findings'][number];

function Sentence({ insights }: { insights: InsightsAnswer }) {
  const verdict = useVerdict(insights);
  return <p data-testid="said">{verdict === null ? 'nothing' : `${verdict.bound} ${verdict.remedy}`}</p>;
}

async function sentence(
  verdict: Partial<Verdict> | null,
  findings: InsightsAnswer['findings'] = [FINDING],
  language: Language = 'en',
): Promise<string | null> {
  const insights = {
    verdict: verdict && { ...VERDICT, ...verdict },
    calibration: { recorded_ns: 1e10, replayed_ns: 1e10, error: 0 },
    findings,
    functions: [{ function: 'driver', is_driver: true }],
  } as InsightsAnswer;
  const { unmount } = await render(<Sentence insights={insights} />, { language });
  const text = screen.getByTestId('said').textContent;
  unmount();
  return text;
}

it('names the bottleneck of the job and a remedy', async () => {
  expect(await sentence({})).toBe(
    'Bound by one actor: Board.offer ran for 5.00 s of 10.0 s while other calls waited for it. ' +
      'Fixing “An actor is the bottleneck” (Board) would save about 3.00 s, 30% (9 of 10: 2.00 to 4.00 s).',
  );
});

it('starts with what costs most if its saving cannot be predicted', async () => {
  const none = { saving_ns: null, saving_low_ns: null, saving_high_ns: null };
  const stuck = { ...FINDING, cost_ns: 9e9 };
  expect(await sentence(none, [stuck])).toContain(
    'Start with “An actor is the bottleneck” (Board): it costs up to 9.00 s, 90%.',
  );
  expect(await sentence({ ...none, remedy_place: '' }, [{ ...stuck, actor_class: null }], 'zh')).toContain(
    '请先解决“单个 Actor 是瓶颈”：它最多占用 9.00 s，即 90%。',
  );
});

it('names the actor', async () => {
  const actor = { actor_id: 'ab'.repeat(16), pid: 12, node_id: null, host: 'vm', actors: 3, total_ns: 5e9 };
  expect(await sentence({ actor })).toContain('one actor: Board.offer (pid 12 @ vm) ran for 5.00 s');
  expect(await sentence({ code: 'actors', actor: { ...actor, total_ns: 2e9 } })).toContain(
    'several actors: Board.offer (most on pid 12 @ vm) ran for 5.00 s',
  );
});

it('is translated into Chinese, including the kind', async () => {
  expect(await sentence({}, [FINDING], 'zh')).toBe(
    '瓶颈是一个 Actor：10.0 s 中 Board.offer 运行了 5.00 s，其他调用在等它。 ' +
      '解决“单个 Actor 是瓶颈”（Board）可节省约 3.00 s，即 30%（90% 把握：2.00 至 4.00 s）。',
  );
});

it('shows the title of a custom detector in any language', async () => {
  const own = { ...FINDING, kind: 'mine', title: 'Mine', actor_class: null };
  const verdict = { remedy_name: 'mine', remedy_place: '' };
  expect(await sentence(verdict, [own], 'zh')).toContain('解决“Mine”可节省');
});

it('names functions and options that would help', async () => {
  expect(await sentence({ remedy: 'function', remedy_name: 'load' })).toContain(
    'load at half its time would save about 3.00 s, 30% (9 of 10: 2.00 to 4.00 s).',
  );
  expect(await sentence({ remedy: 'function', remedy_name: 'driver' })).toContain(
    'The driver at half its time',
  );
  expect(await sentence({ remedy: 'option', remedy_name: 'twice_the_cpus' })).toContain(
    'Twice the CPUs would save about 3.00 s, 30% (9 of 10: 2.00 to 4.00 s).',
  );
});

it('names only the bottleneck if there is no remedy', async () => {
  const none = { remedy: null, remedy_name: null, remedy_place: null, saving_ns: null };
  expect(await sentence({ ...none, code: 'queued' })).toMatch(/^Bound by queues: .* null$/);
  expect(await sentence(null)).toBe('nothing');
});

it("uses the server's texts", () => {
  // Join texts that span two lines.
  const source = readFileSync('../src/rayscope/insights/verdict.py', 'utf8').replace(/"\n\s+"/g, '');
  const { verdict, option } = enInsights.insights;
  for (const [code, text] of Object.entries(verdict))
    expect(source).toContain(`"${code}": "${text.replace(/\{\{(\w+)\}\}/g, '{$1}')}"`);
  for (const [code, text] of Object.entries(option)) expect(source).toContain(`"${code}": "${text}"`);
  const codes = /_BOUND_BY: [^=]* = \{(.*?)\n\}/s.exec(source)?.[1] ?? '';
  expect([...codes.matchAll(/^ {4}"(\w+)":/gm)].map(([, code]) => code).sort()).toEqual(
    Object.keys(verdict).sort(),
  );
});
