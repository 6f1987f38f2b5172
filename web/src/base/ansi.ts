// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are control characters.
const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** Removes terminal escape sequences. Ray colours the tracebacks that it reports. */
export function stripAnsi(text: string): string {
  return text.replace(SEQUENCES, '');
}
