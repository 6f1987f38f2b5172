import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { elapsedNs } from '../base/format';
import { Duration } from './Duration';
import { ItemState } from './ItemState';
import { JobLink } from './JobName';
import { Link } from './Link';
import { Time } from './Time';
import library from './theme/library.module.css';
import words from './theme/words.module.css';
import { useSessionUrl } from './useUrl';

interface Item {
  state: string | null;
  job_id: string | null;
  start_ns: number | null;
  end_ns: number | null;
}

interface LibraryColumn<T> {
  title: string;
  isNumber?: boolean;
  isBad?: (item: T) => boolean;
  cell: (item: T) => ReactNode;
}

/** The datasets, runs, or experiments of a session, newest first. The chosen one is shown below. */
export function LibraryTable<T extends Item>(props: {
  items: readonly T[];
  chosen: string;
  title: string;
  idOf: (item: T) => string;
  nameOf: (item: T) => string | null;
  /** Text next to the state. */
  note?: (item: T) => ReactNode;
  /** Columns between the state and the job. */
  columns: readonly LibraryColumn<T>[];
  className?: string | undefined;
  testId: string;
  rowTestId: string;
}) {
  const { columns, idOf } = props;
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  return (
    <div className={library.list}>
      <table className={`${library.table} ${props.className ?? ''}`} data-testid={props.testId}>
        <thead>
          <tr>
            <th>{props.title}</th>
            <th>{t('libraryItem.state')}</th>
            {columns.map(({ title, isNumber }) => (
              <th key={title} data-number={isNumber}>
                {title}
              </th>
            ))}
            <th>{t('libraryItem.job')}</th>
            <th>{t('libraryItem.started')}</th>
            <th data-number>{t('libraryItem.took')}</th>
          </tr>
        </thead>
        <tbody>
          {props.items.map((item) => (
            <tr
              key={idOf(item)}
              aria-current={idOf(item) === props.chosen || undefined}
              data-testid={props.rowTestId}
            >
              <td>
                <Link to={{ ...url, item: idOf(item) }} className={words.link}>
                  {props.nameOf(item) ?? idOf(item)}
                </Link>
              </td>
              <td>
                <ItemState state={item.state} /> {props.note?.(item)}
              </td>
              {columns.map(({ title, isNumber, isBad, cell }) => (
                <td key={title} data-number={isNumber} data-bad={isBad?.(item) || undefined}>
                  {cell(item)}
                </td>
              ))}
              <td className={library.job}>{item.job_id !== null && <JobLink id={item.job_id} />}</td>
              <td>
                <Time ns={item.start_ns} />
              </td>
              <td data-number>
                <Duration ns={elapsedNs(item)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
