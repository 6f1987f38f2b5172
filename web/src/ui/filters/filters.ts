import type { AnyFilter } from '../../base/url';
import type { Choice } from '../filterChoices';

/** A filter that a list offers. */
export interface FilterField {
  name: AnyFilter;
  label: string;
  /** The options. A filter without any can be set only by links. */
  choices?: Choice[];
  /** The filter takes several values, joined by commas. */
  multiple?: boolean;
  /** Any text is allowed; the choices are suggestions. */
  free?: boolean;
  /** Label of a value that is not among the choices. */
  show?: (value: string) => string;
}

/** A filter's values. */
export const valuesOf = (field: FilterField, value: string | undefined): string[] =>
  field.multiple ? (value ?? '').split(',').filter((part) => part !== '') : value ? [value] : [];
