// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are control characters.
const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** The text without terminal escape sequences: Ray colours the tracebacks that it reports. */
export function stripAnsi(text: string): string {
  return text.replace(SEQUENCES, '');
}

/**
 * One line that tells what an error message is about. Ray puts `User exception:`, `ray::name() (pid=...)` and the frames of the
 * traceback in front of the exception itself, so the first line that is neither is the one to show.
 */
export function gist(message: string): string {
  const lines = stripAnsi(message).split('\n');
  const told = lines.find(
    (line) =>
      line.trim() !== '' &&
      !/^(\s|ray::|User exception:|Traceback \(most recent)/.test(line) &&
      !/^The above exception/.test(line),
  );
  return (told ?? lines.find((line) => line.trim() !== '') ?? '').trim();
}
