/** The names of the logical graph's nodes. */

import type { TFunction } from 'i18next';
import { count, shortId } from '../../base/format';
import type { LogicalNode } from './logicalModel';

/**
 * The label of a node. A method is shown without its class, which is the title of its box, unless `whole` is
 * set.
 */
export function nodeName(t: TFunction, node: LogicalNode, whole = false): string {
  switch (node.kind) {
    case 'driver':
      if (node.name !== null) return whole ? t('stack.driverOf', { script: node.name }) : node.name;
      return whole && node.job_id ? t('logical.driverOf', { job: node.job_id }) : t('logical.driver');
    case 'drivers':
    case 'other':
    case 'unknown':
      return t(`logical.${node.kind}`);
    case 'instance':
      return node.actor_id === null
        ? t('logical.otherInstances', { n: count(node.actors) })
        : (node.name ?? `${whole ? `${node.class_name} ` : ''}${shortId(node.actor_id)}`);
    case 'call':
      return node.task_id === null
        ? t('logical.otherCalls')
        : `${whole ? `${node.name} ` : ''}${shortId(node.task_id)}`;
    case 'method':
      return whole ? (node.name ?? '') : (node.name ?? '').slice((node.class_name?.length ?? -1) + 1);
    default:
      return node.name ?? t('logical.unknownFunction');
  }
}
