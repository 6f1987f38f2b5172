import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { RuleInfo, RulesAnswer } from '../../api/schema';
import { click, render } from '../../testing/render';
import { RuleProblems } from './RuleProblems';

const PLAIN = { code: 'bad_query', params: {} };

function rules(problems: RulesAnswer['problems'], items: Partial<RuleInfo>[] = []): RulesAnswer {
  return { session: 's', folder: '/alerts', problems, items: items as RuleInfo[] };
}

it('names rules and files that are not in use, and rules that fail', async () => {
  await render(
    <RuleProblems
      rules={rules(
        [
          { file: 'mine.yml', rule: 'Queue', message: 'Unexpected )', remedy: 'Fix it.', ...PLAIN },
          {
            file: 'old.yml',
            rule: '',
            message: 'It is not valid YAML: bad.',
            remedy: 'Fix or remove it.',
            code: 'bad_query',
            params: { what: 'yaml', reason: 'bad' },
          },
        ],
        [
          { name: 'Fine', problems: [] },
          { name: 'Joined', problems: [{ message: 'Several matches.', remedy: '', code: 'bad_query' }] },
          {
            name: 'Texts',
            problems: [{ message: 'Could not render.', remedy: '', code: 'template_error' }],
          },
        ],
      )}
    />,
  );
  const notice = screen.getByTestId('rule-problems');
  expect(notice.textContent).toContain('4 problems with rules');
  expect(notice.textContent).toContain('Rule Queue in mine.yml is not in useUnexpected ) Fix it.');
  expect(notice.textContent).toContain('old.yml is not in useIt is not valid YAML: bad.');
  expect(notice.textContent).toContain('Rule Joined cannot be evaluatedSeveral matches.');
  expect(notice.textContent).not.toContain('Texts');
  await click(screen.getByText('Show 1 more'));
  expect(notice.textContent).toContain('Rule Texts has a label or annotation that cannot be rendered');
});

it('translates problems into Chinese', async () => {
  const said = { message: 'Could not render.', remedy: '', code: 'template_error' };
  const params = { name: 'summary', reason: 'no value' };
  const items = [{ name: 'Texts', problems: [{ ...said, params }] }];
  await render(<RuleProblems rules={rules([], items)} />, { language: 'zh' });
  expect(screen.getByTestId('rule-problems').textContent).toContain('无法生成“summary”：no value。');
});

it('shows nothing if all rules are in order', async () => {
  await render(<RuleProblems rules={rules([], [{ name: 'Fine', problems: [] }])} />);
  expect(screen.queryByTestId('rule-problems')).toBeNull();
});
