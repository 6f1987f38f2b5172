import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import words from '../../ui/theme/words.module.css';
import css from './FlameCrumbs.module.css';
import { lineOf, type Node } from './flame';
import { useFrameName } from './flameText';

/** Maximum number of ancestors of the zoomed frame in the line above the graph. */
const CRUMBS = 5;

/** The path from the driver to a frame; the middle of a long path is left out. */
export function FlameCrumbs({ node, onGo }: { node: Node; onGo: (frame: string) => void }) {
  const { t } = useTranslation();
  const nameOf = useFrameName();
  const line = lineOf(node).map((one) => one.frame);
  const last = line.pop();
  const shown = line.length > CRUMBS ? [...line.slice(0, 1), null, ...line.slice(1 - CRUMBS)] : line;
  return (
    <nav className={css.crumbs} aria-label={t('flame.crumbs')} data-testid="flame-crumbs">
      {shown.map((frame) => (
        <Fragment key={frame?.id ?? 'between'}>
          {frame === null ? (
            <span className={words.dim}>…</span>
          ) : (
            <button type="button" className={`${css.crumb} ${words.ellipsis}`} onClick={() => onGo(frame.id)}>
              {nameOf(frame)}
            </button>
          )}
          <span className={words.dim} aria-hidden>
            ›
          </span>
        </Fragment>
      ))}
      {last && <b className={words.ellipsis}>{nameOf(last)}</b>}
    </nav>
  );
}
