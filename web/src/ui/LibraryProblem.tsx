import { Alert } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { ServerMessage } from '../base/serverMessage';
import { useServerMessage } from './useServerMessage';

/** Why the state of one of Ray's libraries cannot be read now. The page shows the last reading. */
export function LibraryProblem({ problem }: { problem: ServerMessage | null }) {
  const { t } = useTranslation();
  const translate = useServerMessage();
  if (problem === null) return null;
  return (
    <Alert
      color="yellow"
      variant="light"
      mx={16}
      my={8}
      icon={<IconAlertTriangle size={18} />}
      title={t('library.problem')}
      data-testid="library-problem"
    >
      {translate(problem).line}
    </Alert>
  );
}
