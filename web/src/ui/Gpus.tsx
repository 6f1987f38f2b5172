import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import type { GpuShare } from '../api/schema';
import { count } from '../base/format';
import { Dash } from './Dash';
import words from './theme/words.module.css';

/** The GPUs that a holder has reserved, with the share of each GPU that it has reserved only in part. */
export function Gpus({ gpus }: { gpus: readonly GpuShare[] }) {
  const { t } = useTranslation();
  if (gpus.length === 0) return <Dash />;
  const text = gpus.map((gpu) => gpuText(t, gpu)).join(', ');
  return (
    <span className={words.ellipsis} title={text}>
      {text}
    </span>
  );
}

function gpuText(t: TFunction, { index, share }: GpuShare): string {
  if (index === null) return t('gpu.unknown', { n: count(share) });
  return share === 1 ? t('gpu.whole', { index }) : t('gpu.part', { index, share: count(share) });
}
