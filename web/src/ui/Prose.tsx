import { Code } from '@mantine/core';
import { Fragment, type ReactNode } from 'react';

/** Text in which the parts between backticks are rendered as code: commands, files, settings. */
export function Prose({ text }: { text: ReactNode }) {
  if (typeof text !== 'string') return text;
  const parts = text.split('`');
  // If the number of backticks is odd, show them as they are.
  if (parts.length % 2 === 0) return text;
  return parts.map((part, at) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other identity.
    at % 2 === 1 ? <Code key={at}>{part}</Code> : <Fragment key={at}>{part}</Fragment>,
  );
}
