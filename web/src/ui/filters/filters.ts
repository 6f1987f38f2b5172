import type { FilterName } from '../../base/url';
import type { Choice } from '../filterChoices';

/** A filter that a list offers. */
export interface FilterField {
  name: FilterName;
  label: string;
  /** What can be chosen; without any it comes from links alone. */
  choices?: Choice[];
  /** Several values, joined by commas. */
  multiple?: boolean;
  /** Any text will do: the choices are proposals. */
  free?: boolean;
  /** How a value without a choice is shown. */
  show?: (value: string) => string;
}

/** A filter's values. */
export const valuesOf = (field: FilterField, value: string | undefined): string[] =>
  field.multiple ? (value ?? '').split(',').filter((part) => part !== '') : value ? [value] : [];
