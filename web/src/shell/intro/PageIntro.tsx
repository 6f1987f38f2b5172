import { Anchor, CloseButton } from '@mantine/core';
import { IconInfoCircle } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { docsUrl } from '../../base/docsUrl';
import { REPORT } from '../../base/report';
import { load, save } from '../../base/storage';
import type { View } from '../../base/url';
import { usePages } from '../pages';
import css from './PageIntro.module.css';

const KEY = 'introsRead';

function read(): string[] {
  return load(KEY)?.split(' ') ?? [];
}

/** A one-line description of a page, shown until the user closes it. */
export function PageIntro({ view }: { view: View }) {
  const { t, i18n } = useTranslation();
  const { links } = usePages();
  const [closed, setClosed] = useState(() => read().includes(view));
  if (closed) return null;
  return (
    <div className={css.intro} role="note" data-testid="page-intro">
      <IconInfoCircle size={16} aria-hidden className={css.icon} />
      <span className={css.text} title={t(`intro.${view}`)}>
        {t(`intro.${view}`)}
      </span>
      {REPORT === null && (
        <span className={css.more}>
          <Anchor
            href={docsUrl(links[view].docs, i18n.language)}
            target="_blank"
            rel="noreferrer"
            size="sm"
            underline="always"
          >
            {t('intro.more')}
          </Anchor>
        </span>
      )}
      <CloseButton
        size="sm"
        aria-label={t('intro.close')}
        title={t('intro.close')}
        onClick={() => {
          save(KEY, [...read(), view].join(' '));
          setClosed(true);
        }}
      />
    </div>
  );
}
