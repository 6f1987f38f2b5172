import { Kbd } from '@mantine/core';
import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import { activeKeys, keyName } from '../../base/keys';
import { Dialog } from '../../ui/Dialog';
import css from './KeyHelp.module.css';

/** The active key bindings. */
export default function KeyHelp({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog onClose={onClose} title={t('keys.title')} size="auto" data-testid="key-help">
      <div className={css.groups}>
        {activeKeys().map(({ title, bindings }) => (
          <section key={title} className={css.group}>
            <h3>{title}</h3>
            <dl className={css.list}>
              {bindings.map(({ keys, label }) => (
                <Fragment key={keys.join(' ')}>
                  <dt>
                    {keys.map((key) => (
                      <Kbd key={key} size="xs">
                        {key === ' ' ? t('keys.space') : keyName(key)}
                      </Kbd>
                    ))}
                  </dt>
                  <dd>{label}</dd>
                </Fragment>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
