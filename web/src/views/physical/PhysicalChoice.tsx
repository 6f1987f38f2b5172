import { Select } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import css from './PhysicalChoice.module.css';

/** A choice between display options. The default is left out of the URL. */
export function PhysicalChoice(props: {
  name: 'size' | 'color' | 'order' | 'span';
  value: string;
  fallback: string;
  options: { value: string; label: string }[];
  onChange: (value: string | undefined) => void;
}) {
  const { t } = useTranslation();
  const { options, value } = props;
  // An option in the URL stays listed, even if it does not occur at this time.
  const data = options.some((one) => one.value === value)
    ? options
    : [...options, { value, label: value.replace(/^[amr]:/, '') }];
  return (
    <Select
      size="xs"
      className={css.choice}
      aria-label={t(`physical.choice.${props.name}`)}
      data={data}
      value={value}
      allowDeselect={false}
      onChange={(chosen) => props.onChange(chosen === props.fallback || chosen === null ? undefined : chosen)}
      comboboxProps={{ width: 230, position: 'bottom-end' }}
      data-testid={`physical-${props.name}`}
    />
  );
}
