import { useTranslation } from 'react-i18next';
import { bytes, count } from '../../base/format';
import type { Loaded } from '../../ui/logs/lines';
import words from '../../ui/theme/words.module.css';
import shared from './logs.module.css';
import type { useLogFile } from './useLogFile';

/** Status below the lines: how much of the file is loaded, and whether more follows. */
export function FileStatus(props: {
  view: ReturnType<typeof useLogFile>;
  loaded: Loaded;
  followed: boolean;
}) {
  const { view, loaded, followed } = props;
  const { t } = useTranslation();
  const { lines } = loaded;
  const { live } = loaded.last;
  return (
    <div className={`${shared.state} ${words.num}`}>
      <span>{t('logs.lines', { n: count(lines.length) })}</span>
      <span>
        {t('logs.bytesOf', {
          from: bytes(lines[0]?.offset ?? loaded.last.begin),
          to: bytes(loaded.next),
          size: bytes(loaded.last.size),
        })}
      </span>
      <span>{live ? t(followed ? 'logs.following' : 'logs.live') : t('logs.fromKept')}</span>
      {view.loading !== null && <span>{t('logs.loading')}</span>}
    </div>
  );
}
