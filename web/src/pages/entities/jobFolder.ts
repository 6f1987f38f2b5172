import { type ZipEntry, zip } from '../../base/zip';

/** Maximum size of an uploaded folder, bytes. The server rejects larger ones. */
export const MAX_FOLDER_BYTES = 100 * 2 ** 20;
/** Folders that are never uploaded. */
export const LEFT_OUT = ['.git', '.venv', 'node_modules', '__pycache__'];

/** The files to upload from a chosen folder, ordered by name. */
export function filesOf(chosen: FileList | null): File[] {
  return [...(chosen ?? [])]
    .filter((file) => !file.webkitRelativePath.split('/').some((part) => LEFT_OUT.includes(part)))
    .sort((one, other) => (one.webkitRelativePath < other.webkitRelativePath ? -1 : 1));
}

export const sizeOf = (files: File[]) => files.reduce((sum, file) => sum + file.size, 0);

/** A ZIP of the files with paths relative to the chosen folder. A chosen ZIP file is returned unchanged. */
export async function zipOf(files: File[]): Promise<Blob> {
  if (files[0]?.webkitRelativePath === '') return files[0];
  const entries: ZipEntry[] = [];
  for (const file of files) {
    const path = file.webkitRelativePath.split('/').slice(1).join('/');
    entries.push({ path, data: new Uint8Array(await file.arrayBuffer()) });
  }
  return zip(entries);
}
