import { Alert, Button, Group, PasswordInput, Stack, Text } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { type FormEvent, type KeyboardEvent, type ReactNode, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError, isMissing, keepOperatorToken, operatorToken, send } from '../api/client';
import { Dialog } from './Dialog';
import { Prose } from './Prose';
import { usePunctuation } from './usePunctuation';
import { useServerMessage } from './useServerMessage';

/** An action that changes the cluster or the server. It requires a confirmation and the operator role. */
export interface OperatorAction {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to /api/v1. Several are requested one after the other. */
  path: string | readonly string[];
  /** The request body, or a function that builds it after the confirmation. */
  body?: object | (() => Promise<object>);
  title: string;
  /** Explains the effect in the confirmation dialog. */
  text: ReactNode;
  /** Label of the confirm button. */
  confirm: string;
  danger?: boolean;
  /** Size of the dialog, if `text` is a form. */
  size?: 'lg';
}

/** Asks for a confirmation, and for the operator's token if it is not known. Then it performs the action. */
export default function OperatorDialog(props: {
  action: OperatorAction;
  onClose: (answer?: unknown) => void;
}) {
  const { action, onClose } = props;
  const { t } = useTranslation();
  const { gap } = usePunctuation();
  const translate = useServerMessage();
  const [busy, setBusy] = useState(false);
  const [needsToken, setNeedsToken] = useState(() => operatorToken() === null);
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<Error | null>(null);
  const field = useRef<HTMLInputElement>(null);
  /** Number of requests that succeeded. A repeated attempt continues after them. */
  const done = useRef(0);
  const isClosed = useRef(false);

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      if (needsToken) {
        await send('POST', '/operator', { token: token.trim() });
        keepOperatorToken(token.trim());
        setNeedsToken(false);
      }
      const body = typeof action.body === 'function' ? await action.body() : action.body;
      const paths = [action.path].flat();
      let answer: unknown;
      for (; done.current < paths.length && !isClosed.current; done.current += 1)
        answer = await send(action.method, paths[done.current] ?? '', body).catch((error: Error) => {
          if (paths.length === 1 || !isMissing(error)) throw error; // someone else has deleted it
        });
      if (!isClosed.current) onClose(answer ?? null);
      return;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'needs_operator') {
        setNeedsToken(true);
        setTimeout(() => field.current?.focus());
      } else setProblem(error as Error);
    }
    setBusy(false);
  }

  /** Ctrl+Enter confirms in a field of several lines, too. */
  function submitByKey(event: KeyboardEvent<HTMLFormElement>) {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (!busy) event.currentTarget.requestSubmit();
  }

  function cancel() {
    isClosed.current = true;
    onClose();
  }

  const text = problem instanceof ApiError ? translate(problem) : { message: problem?.message, remedy: null };
  const wrong = problem instanceof ApiError && problem.code === 'wrong_operator_token';
  return (
    <Dialog onClose={cancel} title={action.title} size={action.size} centered>
      <form onSubmit={submit} onKeyDown={submitByKey} data-testid="act">
        <Stack gap="md">
          {needsToken && (
            <PasswordInput
              ref={field}
              label={t('operator.token')}
              description={<Prose text={t('operator.tokenText') + gap + t('operator.remember')} />}
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
              error={wrong ? t('operator.wrong') : undefined}
              autoComplete="current-password"
              leftSection={<IconKey size={16} />}
              data-autofocus
              data-testid="act-token"
            />
          )}
          <Text size="sm" component="div">
            {action.text}
          </Text>
          {problem !== null && !wrong && (
            <Alert color="red" title={text?.message} data-testid="act-problem">
              <Prose text={text?.remedy} />
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={cancel} data-testid="act-cancel">
              {t('operator.cancel')}
            </Button>
            <Button
              type="submit"
              color={action.danger ? 'red' : undefined}
              loading={busy}
              disabled={needsToken && token.trim() === ''}
              data-autofocus
              data-testid="act-confirm"
            >
              {action.confirm}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
