import { Loader, Tabs } from '@mantine/core';
import { type ComponentType, lazy, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CompareAnswer } from '../../api/schema';
import { addressOf } from '../../base/url';
import { PageBoundary } from '../../ui/PageBoundary';
import words from '../../ui/theme/words.module.css';
import page from './ComparePage.module.css';
import css from './Pictures.module.css';
import type { PictureProps } from './sides';

/** Each is loaded when it is opened for the first time. */
const PICTURES: Record<'flame' | 'logical' | 'gantt', ComponentType<PictureProps>> = {
  flame: lazy(() => import('./FlamePicture')),
  logical: lazy(() => import('./LogicalPicture')),
  gantt: lazy(() => import('./GanttPicture')),
};
type Name = keyof typeof PICTURES;

/** Pictures of the two runs that are shown. */
export function Pictures({ answer }: { answer: CompareAnswer }) {
  const { t } = useTranslation();
  const [name, setName] = useState<Name | null>(null);
  const runs = { a: answer.a.shown, b: answer.b.shown };
  const Picture = name && PICTURES[name];
  return (
    <section className={page.panel} data-testid="compare-pictures">
      <h2>
        {t('compare.pictures.title')} <span className={words.dim}>· {t('compare.pictures.hint')}</span>
      </h2>
      <Tabs value={name} onChange={(value) => setName(value as Name)} allowTabDeactivation>
        <Tabs.List>
          {(Object.keys(PICTURES) as Name[]).map((one) => (
            <Tabs.Tab key={one} value={one} data-testid={`compare-picture-${one}`}>
              {t(`nav.${one}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      {Picture && (
        <div className={css.picture} data-testid={`compared-${name}`}>
          <PageBoundary key={name} loading={<Loader size="sm" m="md" />}>
            <Picture key={`${addressOf(runs.a)} ${addressOf(runs.b)}`} runs={runs} />
          </PageBoundary>
        </div>
      )}
    </section>
  );
}
