import { Button } from '@mantine/core';
import { IconGitCompare } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { MAX_COMPARED } from '../../base/url';
import words from '../theme/words.module.css';
import { go, useUrl } from '../useUrl';

/** Compares the first of the ticked sessions or runs, which is the oldest, with the others. */
export function CompareButton({ ticked }: { ticked: readonly string[] }) {
  const { t } = useTranslation();
  const { lang } = useUrl();
  const [a = '', ...b] = ticked;
  const isTooMany = b.length > MAX_COMPARED;
  return (
    <>
      {b.length === 0 && <span className={words.dim}>{t('ticked.more')}</span>}
      {isTooMany && <span className={words.dim}>{t('ticked.less', { n: MAX_COMPARED + 1 })}</span>}
      <Button
        size="xs"
        leftSection={<IconGitCompare size={15} />}
        disabled={b.length === 0 || isTooMany}
        onClick={() => go({ page: 'compare', a, b: b.join(','), lang })}
        data-testid="compare-ticked"
      >
        {t('ticked.compare')}
      </Button>
    </>
  );
}
