import { SegmentedControl } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { keepPreviousData } from '@tanstack/react-query';
import { Fragment, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAnswer } from '../../api/queries';
import type { ServeRequest } from '../../api/schema';
import { count, duration, percent } from '../../base/format';
import { CopyId } from '../../ui/CopyId';
import { Section } from '../../ui/Drawer';
import { Duration } from '../../ui/Duration';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { Time } from '../../ui/Time';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { RequestSteps } from './RequestSteps';
import { mostlySpent, PARTS, partsOf } from './serve';
import css from './serve.module.css';

const ORDERS = ['slowest', 'newest', 'failed'] as const;
const MAX_REQUESTS = 50;

/** The slowest, newest, or failed requests of an application, and where each of them spent its time. */
export function SlowRequests({ application }: { application: string }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const [order, setOrder] = useState<(typeof ORDERS)[number]>('slowest');
  const { data, error } = useAnswer(
    '/serve-requests/{application}',
    { application, session: url.session, order, limit: MAX_REQUESTS },
    { placeholderData: keepPreviousData },
  );
  if (data === undefined) return error === null ? null : <ErrorPanel error={error} />;
  const { items, total, left_out: leftOut } = data;
  return (
    <Section
      title={t('serve.requests.title')}
      testId="slow-requests"
      right={
        (items.length > 0 || order === 'failed') && (
          <div className={css.order}>
            {total > items.length && t('serve.requests.some', { n: count(items.length), all: count(total) })}
            <SegmentedControl
              size="xs"
              aria-label={t('serve.requests.order')}
              data={ORDERS.map((value) => ({ value, label: t(`serve.requests.${value}`) }))}
              value={order}
              onChange={setOrder}
            />
          </div>
        )
      }
    >
      {items.length === 0 ? (
        <p className={words.dim}>
          {t(order === 'failed' ? 'serve.requests.noneFailed' : 'serve.requests.none')}
        </p>
      ) : (
        <>
          <MostlySpent requests={items} />
          <RequestTable requests={items} />
          <p className={css.legend}>
            {[...PARTS, 'unknown' as const].map((part) => (
              <span key={part} title={t(`serve.requests.hint.${part}`)}>
                <i className={css.part} data-part={part} aria-hidden />
                {t(`serve.requests.part.${part}`)}
              </span>
            ))}
          </p>
          <p className={css.kept}>
            {t('serve.requests.kept')}{' '}
            {leftOut > 0 && t('serve.requests.leftOut', { n: leftOut, count: count(leftOut) })}
          </p>
        </>
      )}
    </Section>
  );
}

/** A sentence about the deployments that took most of the time. */
function MostlySpent({ requests }: { requests: ServeRequest[] }) {
  const { t } = useTranslation();
  const spent = mostlySpent(requests);
  if (spent.length === 0) return null;
  const parts = spent.map(({ deployment, part, share }) =>
    t(`serve.requests.mostly.${part}`, { name: deployment, share: percent(share) }),
  );
  return (
    <p className={css.finding} data-testid="mostly-spent">
      {t('serve.requests.mostly.all', { parts: parts.join(t('serve.requests.mostly.comma')) })}
    </p>
  );
}

function RequestTable({ requests }: { requests: ServeRequest[] }) {
  const { t } = useTranslation();
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string) =>
    setOpened((before) => {
      const after = new Set(before);
      if (!after.delete(id)) after.add(id);
      return after;
    });
  return (
    <div className={css.tall}>
      <table className={library.table}>
        <thead>
          <tr>
            <th>{t('serve.time')}</th>
            <th>{t('serve.requests.request')}</th>
            <th>{t('serve.requests.status')}</th>
            <th>{t('serve.deployments')}</th>
            <th data-number>{t('serve.requests.total')}</th>
            <th>{t('serve.requests.spent')}</th>
            <th>{t('serve.requests.id')}</th>
          </tr>
        </thead>
        <tbody>
          {requests.map((one) => (
            <Fragment key={one.request}>
              <tr data-testid="slow-request">
                <td className={css.oneLine}>
                  <button
                    type="button"
                    className={css.unfold}
                    aria-expanded={opened.has(one.request)}
                    onClick={() => toggle(one.request)}
                  >
                    <IconChevronRight size={14} className={css.chevron} aria-hidden />
                    <Time ns={one.time_ns} />
                  </button>
                </td>
                <td className={`${words.mono} ${css.oneLine}`} title={`${one.method} ${one.route}`}>
                  {one.method} {one.route}
                </td>
                <td className={css.oneLine} data-bad={one.failed || undefined} title={one.error ?? undefined}>
                  {one.status}
                </td>
                <td className={css.oneLine} title={one.deployments.join(', ')}>
                  {one.deployments.join(', ')}
                </td>
                <td data-number>
                  <Duration ns={one.total_ns} />
                </td>
                <td className={css.spent}>
                  <Parts request={one} />
                </td>
                <td>
                  <CopyId id={one.request_id} />
                </td>
              </tr>
              {opened.has(one.request) && (
                <tr>
                  <td colSpan={7}>
                    <RequestSteps request={one} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Parts({ request }: { request: ServeRequest }) {
  const { t } = useTranslation();
  const parts = partsOf(request);
  const title = parts.map(([part, ns]) => `${t(`serve.requests.part.${part}`)}: ${duration(ns)}`).join('\n');
  return (
    <div className={css.parts} role="img" aria-label={title} title={title} data-testid="request-parts">
      {parts.map(([part, ns]) => (
        <span key={part} className={css.part} data-part={part} style={{ flexGrow: ns / request.total_ns }} />
      ))}
    </div>
  );
}
