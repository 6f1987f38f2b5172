import type { ReactNode } from 'react';
import { linkTo } from '../base/address';
import { formatUrl, type Url } from '../base/url';
import words from './theme/words.module.css';
import { go } from './useUrl';

/** A real link, which can be opened in a new tab or copied. A plain click navigates inside the page. */
export function Link(props: {
  to: Url;
  children: ReactNode;
  className?: string;
  title?: string;
  testId?: string;
  current?: boolean;
  label?: string;
}) {
  return (
    <a
      href={linkTo(formatUrl(props.to))}
      className={props.className ?? words.link}
      title={props.title}
      data-testid={props.testId}
      aria-current={props.current ? 'page' : undefined}
      aria-label={props.label}
      onClick={(event) => {
        event.stopPropagation();
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        go(props.to);
      }}
    >
      {props.children}
    </a>
  );
}
