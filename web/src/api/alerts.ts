import type { RuleInfo } from './schema';

export type AlertState = RuleInfo['state'];
