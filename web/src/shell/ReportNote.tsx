import { IconFileText } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { count, time } from '../base/format';
import type { Report } from '../base/report';
import { Banner } from './Banner';
import css from './Banners.module.css';

/** Says on each page of a report when it was written, and how much of the session it contains. */
export function ReportNote({ report }: { report: Report }) {
  const { t, i18n } = useTranslation();
  const nameOf = (what: string) =>
    i18n.exists(`report.parts.${what}`) ? t(`report.parts.${what}` as 'report.parts.tasks') : what;
  return (
    <div className={css.banners}>
      <Banner
        testId="report-note"
        tone="quiet"
        mild
        icon={<IconFileText size={16} />}
        details={
          <ul>
            {report.parts.map(({ what, shown, total }) => (
              <li key={what}>
                {t('report.part', { what: nameOf(what), shown: count(shown), total: count(total) })}
              </li>
            ))}
            <li>{t('report.without')}</li>
          </ul>
        }
      >
        {t('report.note', { time: time(report.made_ns, new Date(0)), version: report.version })}
      </Banner>
    </div>
  );
}
