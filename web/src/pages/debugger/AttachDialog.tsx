import { Code, Tabs, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ROOT } from '../../base/root';
import { Command } from '../../ui/Command';
import { CopyButton } from '../../ui/CopyButton';
import { Dialog } from '../../ui/Dialog';
import { Field, Fields } from '../../ui/Drawer';
import { Prose } from '../../ui/Prose';
import { commandOf, launchConfiguration, PORT, remoteRoot } from './attach';
import css from './debugger.module.css';
import type { TracedTask } from './traced';
import { useTaskName } from './useTaskName';

/** How to attach a debugger to a paused task, for each kind of debugger. */
export function AttachDialog({ task, onClose }: { task: TracedTask; onClose: () => void }) {
  const { t } = useTranslation();
  const name = useTaskName()(task);
  const launch = launchConfiguration(task, name);
  const server = window.location.origin + ROOT;
  const port = (
    <>
      <Text size="sm">{t('debugger.portText')}</Text>
      <Command>{commandOf(task, server, PORT)}</Command>
    </>
  );
  return (
    <Dialog onClose={onClose} title={t('debugger.attachTo', { name })} size="lg" centered>
      <Tabs defaultValue="terminal" data-testid="attach" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="terminal">{t('debugger.terminal')}</Tabs.Tab>
          <Tabs.Tab value="code">VS Code / Cursor</Tabs.Tab>
          <Tabs.Tab value="pycharm">PyCharm</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="terminal" className={css.attach}>
          <Text size="sm">{t('debugger.terminalText')}</Text>
          <Command>{commandOf(task, server)}</Command>
        </Tabs.Panel>
        <Tabs.Panel value="code" className={css.attach}>
          {port}
          <Text size="sm">
            <Prose text={t('debugger.launchText')} />
          </Text>
          <div className={css.launch}>
            <Code block>{launch}</Code>
            <CopyButton text={launch} />
          </div>
        </Tabs.Panel>
        <Tabs.Panel value="pycharm" className={css.attach}>
          {port}
          <Text size="sm">{t('debugger.pycharmText')}</Text>
          <Fields>
            <Field name={t('debugger.remoteAddress')}>
              <Copied text={`127.0.0.1:${PORT}`} />
            </Field>
            <Field name={t('debugger.remotePath')}>
              <Copied text={remoteRoot(task.file)} />
            </Field>
          </Fields>
        </Tabs.Panel>
      </Tabs>
      <Text size="sm" c="dimmed" mt="md">
        <Prose text={t('debugger.token')} />
      </Text>
    </Dialog>
  );
}

function Copied({ text }: { text: string | null }) {
  const { t } = useTranslation();
  return text === null ? t('common.unknown') : <Command>{text}</Command>;
}
