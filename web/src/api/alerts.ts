/** Response types of `/api/v1/alerts` and the paths below it (docs/reference/alerts.md). */
import type { RuleInfo } from './schema';

export type {
  AlertEvent,
  AlertInfo as Alert,
  ChannelInfo as Channel,
  ChannelsAnswer as Channels,
  RuleInfo as Rule,
  RulesAnswer as Rules,
  SilenceInfo as Silence,
} from './schema';

export type AlertState = RuleInfo['state'];
