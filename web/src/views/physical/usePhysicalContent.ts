import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { TransfersAnswer } from '../../api/schema';
import { NONE } from '../../base/grid';
import { useMoment } from '../shared/useMoment';
import type { Content } from './PhysicalCanvas';
import { type Found, fills, orderOf, type Physical, parseColor, slotsOf } from './physical';

/** Maximum number of arrows that are drawn. */
const ARROWS = 20;
/** The content of the canvas: the cluster at one moment, with the URL's display options. */
export function usePhysicalContent(
  data: Physical | undefined,
  transfers: TransfersAnswer | undefined,
  names: string[],
  found: Found | null,
): Content | null {
  const { url, settings } = useMoment();
  const { t } = useTranslation();
  const size = settings.size ?? 'CPU';
  const color = useMemo(() => parseColor(settings.color), [settings.color]);
  const showsArrows = settings.span !== 'off';
  const showsInternal = settings.internal === 'show';
  const filtered = Object.keys(url.filters).length > 0;
  return useMemo<Content | null>(() => {
    if (data === undefined) return null;
    const slots = slotsOf(data, showsInternal);
    const full = fills(data, size);
    const near = (transfers?.pairs ?? []).filter(
      (pair) => settings.node === undefined || pair.source === settings.node || pair.target === settings.node,
    );
    return {
      data,
      names,
      slots,
      most: slots.reduce((all, one) => Math.max(all, one.length), 1),
      order: orderOf(data, settings.order),
      fills: full,
      sized: full.some((part) => part < 1),
      color,
      resource: color.by === 'resource' ? color.name : 'CPU',
      found,
      filtered,
      pairs: showsArrows ? near.slice(0, ARROWS) : [],
      node: data.nodes.findIndex((one) => one.node_id === settings.node),
      worker: settings.worker === undefined ? NONE : data.workers.key.indexOf(settings.worker),
      texts: {
        driver: t('physical.driver'),
        internal: t('internal.process'),
        head: t('physical.head'),
        unnamed: t('physical.unnamed'),
        idle: t(filtered ? 'physical.noMatch' : 'physical.idle'),
        bundle: t('physical.emptyBundle'),
        blocked: t('physical.blocked'),
      },
    };
  }, [
    data,
    names,
    transfers,
    settings.node,
    settings.worker,
    settings.order,
    size,
    color,
    found,
    filtered,
    showsArrows,
    showsInternal,
    t,
  ]);
}
