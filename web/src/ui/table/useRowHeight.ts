import { sizes } from '../../base/tokens';
import { useStored } from '../useStored';

type Density = keyof typeof sizes.rowHeights;
export const DENSITIES = Object.keys(sizes.rowHeights) as Density[];

/** The density of the rows of all tables, and a function that sets it. */
export const useDensity = () => useStored<Density>('density', 'comfortable');

/** The height of a row, px. */
export const useRowHeight = () => sizes.rowHeights[useDensity()[0]] ?? sizes.rowHeights.comfortable;
