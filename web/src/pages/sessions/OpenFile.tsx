import { Button, FileButton } from '@mantine/core';
import { IconFolderOpen } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type DragEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OpenedSession } from '../../api/schema';
import { bytes } from '../../base/format';
import { useOperatorAction } from '../../ui/operator';
import { go, useUrl } from '../../ui/useUrl';

/** Returns a function that adds the session of a file to the server, and shows it. */
export function useOpenFile() {
  const { t } = useTranslation();
  const { lang } = useUrl();
  const act = useOperatorAction();
  const client = useQueryClient();
  return (file: File | null) => {
    if (file === null) return;
    void act<OpenedSession>({
      method: 'POST',
      path: '/sessions/file',
      title: t('sessions.file.title', { name: file.name }),
      text: t('sessions.file.text', { size: bytes(file.size) }),
      body: () => Promise.resolve(file),
      confirm: t('sessions.file.confirm'),
    }).then((opened) => {
      if (opened === undefined) return;
      void client.invalidateQueries();
      go({ page: 'session', session: opened.session, view: 'overview', filters: {}, lang });
    });
  };
}

export function OpenFileButton({ onFile }: { onFile: (file: File | null) => void }) {
  const { t } = useTranslation();
  const reset = useRef<() => void>(null);
  // Without the reset, choosing the same file again, for example after a refusal, is no change.
  const take = (file: File | null) => {
    reset.current?.();
    onFile(file);
  };
  return (
    <FileButton onChange={take} resetRef={reset} accept=".rayscope">
      {(props) => (
        <Button
          {...props}
          size="xs"
          variant="default"
          leftSection={<IconFolderOpen size={15} />}
          data-testid="sessions-open-file"
        >
          {t('sessions.file.open')}
        </Button>
      )}
    </FileButton>
  );
}

/** Returns whether a file is dragged over an element, and the element's handlers for files dropped on it. */
export function useFileDrop(onFile: (file: File | null) => void) {
  const [isOver, setIsOver] = useState(false);
  const hasFiles = (event: DragEvent) => event.dataTransfer.types.includes('Files');
  return {
    isOver,
    handlers: {
      onDragOver: (event: DragEvent) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setIsOver(true);
      },
      onDragLeave: (event: DragEvent) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setIsOver(false);
      },
      onDrop: (event: DragEvent) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setIsOver(false);
        onFile(event.dataTransfer.files[0] ?? null);
      },
    },
  };
}
