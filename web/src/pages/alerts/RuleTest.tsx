import { Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { ApiError, get } from '../../api/client';
import { count, short, time, wholeAge } from '../../base/format';
import { nanos } from '../../ui/charts/timeRange';
import { useTimeRange } from '../../ui/charts/useTimeRange';
import pairs from '../../ui/theme/pairs.module.css';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';
import shared from './alerts.module.css';
import { EditButton } from './EditButton';

const SHOWN = 5;

/**
 * Evaluates an expression when the user asks for it, at the current time or at the end of an ended session.
 */
function useRuleTest(expr: string) {
  const [{ session }] = useSessionUrl();
  const { bounds, ready } = useTimeRange(session);
  const query = useQuery({
    queryKey: ['alert-test', session, expr],
    queryFn: ({ signal }) => {
      const at = nanos(bounds.live ? Date.now() : (bounds.last ?? Date.now()));
      return get('/metrics/query', { session, expr, since_ns: at, until_ns: at, limit: SHOWN }, signal);
    },
    enabled: false,
    gcTime: 0,
  });
  return { ...query, ready };
}

/**
 * Tests the expression of a rule and shows the number of matching series, the first of them, and whether the
 * rule would fire.
 */
export function RuleTest({ expr, forS }: { expr: string; forS: number }) {
  const { t } = useTranslation();
  const translate = useServerMessage();
  const test = useRuleTest(expr.trim());
  const { data, error, isFetching, ready } = test;
  const problem = error instanceof ApiError ? translate(error) : error;
  return (
    <Stack gap={6} mt={6} align="flex-start">
      <EditButton
        kind="rule"
        action="test"
        disabled={!ready || expr.trim() === ''}
        loading={isFetching}
        onClick={() => void test.refetch()}
      />
      {isFetching ? null : problem !== null ? (
        <p role="alert" data-testid="rule-test-error">
          <span className={shared.error}>{problem.message}</span>{' '}
          {'remedy' in problem && <span className={words.dim}>{problem.remedy}</span>}
        </p>
      ) : (
        data !== undefined && (
          <div role="status" data-testid="rule-test-result">
            <p>{outcome()}</p>
            {data.series.map(({ labels, values }) => (
              <Group key={JSON.stringify(labels)} gap={8} mt={4}>
                <b className={words.num}>{short(values[0] ?? null)}</b>
                <span className={pairs.pairs}>
                  {Object.entries(labels)
                    .filter(([name]) => name !== '__name__')
                    .map(([name, value]) => (
                      <span key={name} className={pairs.pair}>
                        <span className={words.dim}>{name}</span> {value}
                      </span>
                    ))}
                </span>
              </Group>
            ))}
            {data.left_out > 0 && (
              <p className={words.dim}>{t('alerts.tested.more', { n: count(data.left_out) })}</p>
            )}
            {data.warnings.map((warning) => (
              <p key={warning.message} className={words.dim}>
                {translate(warning).message}
              </p>
            ))}
          </div>
        )
      )}
    </Stack>
  );

  function outcome(): string {
    const matches = (data?.series.length ?? 0) + (data?.left_out ?? 0);
    return t(`alerts.tested.${matches === 0 ? 'none' : forS > 0 ? 'waits' : 'fires'}`, {
      at: time(data?.until_ns ?? 0),
      n: count(matches),
      time: wholeAge(forS * 1000),
    });
  }
}
