/** A file with its path relative to the folder. */
export interface ZipEntry {
  path: string;
  data: Uint8Array;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function crc32(data: Uint8Array): number {
  let value = ~0;
  for (const byte of data) value = (TABLE[(value ^ byte) & 0xff] as number) ^ (value >>> 8);
  return ~value >>> 0;
}

/** Encodes little-endian numbers of 2 or 4 bytes, given as `[value, size]`. */
function packed(...fields: [number, 2 | 4][]): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [, size]) => sum + size, 0)));
  let at = 0;
  for (const [value, size] of fields) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return new Uint8Array(view.buffer);
}

const UTF8 = 1 << 11;
/** 1980-01-01. A constant date makes ZIPs of the same folder identical, so Ray stores them once. */
const DATE = 33;

/** An uncompressed ZIP file (APPNOTE.TXT 4.3). Limited to 4 GiB and 65,536 files. */
export function zip(entries: ZipEntry[]): Blob {
  const parts: BlobPart[] = [];
  const directory: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  for (const { path, data } of entries) {
    const name = new TextEncoder().encode(path);
    const about = packed(
      [20, 2],
      [UTF8, 2],
      [0, 2],
      [0, 2],
      [DATE, 2],
      [crc32(data), 4],
      [data.length, 4],
      [data.length, 4],
      [name.length, 2],
      [0, 2],
    );
    const local = packed([0x04034b50, 4]);
    parts.push(local, about, name, data as Uint8Array<ArrayBuffer>);
    directory.push(packed([0x02014b50, 4], [20, 2]), about);
    directory.push(packed([0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]), name);
    offset += local.length + about.length + name.length + data.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const count = entries.length;
  const end = packed([0x06054b50, 4], [0, 2], [0, 2], [count, 2], [count, 2], [size, 4], [offset, 4], [0, 2]);
  return new Blob([...parts, ...directory, end], { type: 'application/zip' });
}
