import { Code } from '@mantine/core';
import { Fragment, type ReactNode } from 'react';

/** A text whose parts between backticks are what one types: commands, files, settings. */
export function Prose({ text }: { text: ReactNode }) {
  if (typeof text !== 'string') return text;
  const parts = text.split('`');
  // An odd backtick is one of the text.
  if (parts.length % 2 === 0) return text;
  return parts.map((part, at) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other name.
    at % 2 === 1 ? <Code key={at}>{part}</Code> : <Fragment key={at}>{part}</Fragment>,
  );
}
