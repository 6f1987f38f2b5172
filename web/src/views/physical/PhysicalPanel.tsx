import { ActionIcon, Tooltip } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { NodeAnswer } from '../../api/schema';
import { ErrorPanel } from '../../ui/ErrorPanel';
import words from '../../ui/theme/words.module.css';
import panels from '../shared/panels.module.css';
import { NodeDetail } from './NodeDetail';
import css from './PhysicalPanel.module.css';
import { workerName } from './physicalNames';
import { WorkerDetail } from './WorkerDetail';

/** The selected node or worker, with links. */
export function PhysicalPanel(props: {
  answer: NodeAnswer | undefined;
  error: Error | null;
  name: string;
  worker: string | undefined;
  at: number | null;
  onSelect: (worker: string | undefined) => void;
  onClose: () => void;
}) {
  const { answer, at } = props;
  const { t } = useTranslation();
  const worker = answer?.workers.find((one) => one.key === props.worker);
  const title =
    worker === undefined ? props.name : workerName(t, worker, answer?.scripts ?? {}, t('physical.worker'));
  return (
    <div data-testid="physical-panel">
      <div className={css.head}>
        <div>
          <h2 className={words.breaks}>{title}</h2>
          <div className={words.dim}>
            {worker === undefined ? (
              t('physical.node')
            ) : (
              <button
                type="button"
                className={panels.jump}
                onClick={() => props.onSelect(undefined)}
                data-testid="physical-to-node"
              >
                {t('physical.onNode', { name: props.name })}
              </button>
            )}
          </div>
        </div>
        <Tooltip label={`${t('common.close')} (Esc)`}>
          <ActionIcon
            size={28}
            aria-label={t('common.close')}
            onClick={props.onClose}
            data-testid="physical-close"
          >
            <IconX size={18} />
          </ActionIcon>
        </Tooltip>
      </div>
      {props.error !== null && answer === undefined && <ErrorPanel error={props.error} />}
      {answer !== undefined &&
        (worker !== undefined ? (
          <WorkerDetail worker={worker} answer={answer} at={at} />
        ) : (
          <NodeDetail answer={answer} at={at} gone={props.worker !== undefined} onSelect={props.onSelect} />
        ))}
    </div>
  );
}
