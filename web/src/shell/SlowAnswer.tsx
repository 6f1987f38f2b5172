import { Button, Loader } from '@mantine/core';
import { type Query, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { count } from '../base/format';
import words from '../ui/theme/words.module.css';
import css from './SlowAnswer.module.css';

/** Waiting time for a first answer after which the notice appears, s. */
const PATIENCE_S = 3;

/** Minimum number of attempts for which the notice gives the size of the record as the reason. */
const MANY_ATTEMPTS = 10_000;

/**
 * Shows how long the page has been waiting for its first answers. The user can cancel the queries, which also
 * stops them on the server.
 */
export function SlowAnswer({ attempts }: { attempts: number | undefined }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [cancelled, setCancelled] = useState<Query[]>([]);
  const seconds = useSecondsWaited();
  if (seconds >= PATIENCE_S) {
    const cancel = () => {
      const slow = client.getQueryCache().findAll({ predicate: isAwaited });
      for (const query of slow) void client.cancelQueries({ queryKey: query.queryKey, exact: true });
      setCancelled(slow);
    };
    return (
      <div className={css.notice} role="status" data-testid="slow-answer">
        <Loader size={14} />
        <span className={words.num}>
          {attempts === undefined || attempts < MANY_ATTEMPTS
            ? t('slow.waiting', { seconds })
            : t('slow.readingOf', { n: attempts, attempts: count(attempts), seconds })}
        </span>
        <Button size="compact-xs" variant="default" onClick={cancel}>
          {t('slow.cancel')}
        </Button>
      </div>
    );
  }
  const left = cancelled.filter((query) => isUnanswered(query) && query.getObserversCount() > 0);
  if (left.length === 0) return null;
  const retry = () => {
    setCancelled([]);
    // A failed query keeps its error. If it is cancelled again, there is nothing to report.
    for (const query of left) query.fetch().catch(() => undefined);
  };
  return (
    <div className={css.notice} role="status" data-testid="slow-answer">
      <span>{t('slow.cancelled')}</span>
      <Button size="compact-xs" variant="default" onClick={retry}>
        {t('common.retry')}
      </Button>
    </div>
  );
}

function isUnanswered(query: Query): boolean {
  return query.state.data === undefined && query.state.error === null;
}

function isAwaited(query: Query): boolean {
  const isWanted = query.getObserversCount() > 0 && query.meta?.isAside !== true;
  return isUnanswered(query) && query.state.fetchStatus === 'fetching' && isWanted;
}

/** Seconds since the oldest open request was sent. */
function useSecondsWaited(): number {
  const cache = useQueryClient().getQueryCache();
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const since = new Map<string, number>();
    const timer = setInterval(() => {
      const now = performance.now();
      const hashes = new Set(cache.findAll({ predicate: isAwaited }).map((query) => query.queryHash));
      for (const hash of since.keys()) if (!hashes.has(hash)) since.delete(hash);
      for (const hash of hashes) if (!since.has(hash)) since.set(hash, now);
      const oldest = Math.min(now, ...since.values());
      setSeconds(Math.round((now - oldest) / 1000));
    }, 1000);
    return () => clearInterval(timer);
  }, [cache]);
  return seconds;
}
