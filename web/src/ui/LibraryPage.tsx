import { Loader } from '@mantine/core';
import type { Icon } from '@tabler/icons-react';
import { keepPreviousData } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useAnswer } from '../api/queries';
import type { Paths } from '../api/schema';
import type { LibraryView } from '../base/url';
import { EmptyState } from './EmptyState';
import { ErrorPanel } from './ErrorPanel';
import { LibraryProblem } from './LibraryProblem';
import layout from './theme/layout.module.css';
import { useSessionUrl } from './useUrl';

type Answer<V extends LibraryView> = Paths[`/${V}`]['answer'];

/**
 * The page of one of Ray's libraries. `children` renders its items, if there are any, and `after` the content
 * below them.
 */
export function LibraryPage<V extends LibraryView>(props: {
  view: V;
  icon: Icon;
  children: (items: Answer<V>['items']) => ReactNode;
  after?: (answer: Answer<V>) => ReactNode;
}) {
  const view: LibraryView = props.view;
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const answer = useAnswer(
    `/${view}`,
    { session: url.session, limit: 1000 },
    { placeholderData: keepPreviousData },
  );
  const { error, refetch } = answer;
  const data = answer.data as Answer<V> | undefined;
  if (data === undefined)
    return error === null ? (
      <Loader size="sm" m="md" aria-label={t(`nav.${view}`)} />
    ) : (
      <ErrorPanel error={error} onRetry={() => void refetch()} />
    );
  return (
    <div className={layout.scrollPage} data-testid={`${view}-page`}>
      <LibraryProblem problem={data.problem} />
      {data.items.length === 0 ? (
        <EmptyState icon={<props.icon size={26} />} title={t(`${view}.none`)}>
          {t(`${view}.noneText`)}
        </EmptyState>
      ) : (
        props.children(data.items)
      )}
      {props.after?.(data)}
    </div>
  );
}
