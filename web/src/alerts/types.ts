import type { Ns } from '../api/types';

/** The answers of `/api/alerts` and below, as far as the page reads them (docs/alerts.md). */

export type AlertState = 'inactive' | 'pending' | 'firing' | 'resolved';

export interface Alert {
  fingerprint: string;
  rule: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  state: AlertState;
  severity: string;
  value: number | null;
  active_ns: Ns;
  fired_ns: Ns;
  resolved_ns: Ns;
  ack: { by: string; comment: string; time_ns: Ns } | null;
  silenced_by: string[];
}

export interface Alerts {
  live: boolean;
  evaluated_ns: Ns | null;
  firing: number;
  pending: number;
  items: Alert[];
  left_out: number;
  resolved: Alert[];
  resolved_left_out: number;
}

export interface Rule {
  name: string;
  group: string;
  source: string;
  severity: string;
  expr: string;
  value_expr: string | null;
  op: string | null;
  threshold: number | null;
  interval_s: number;
  for_s: number;
  keep_firing_for_s: number;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  enabled: boolean;
  state: AlertState;
  alerts: number;
  error: string | null;
}

export interface Rules {
  items: Rule[];
  problems: { file: string; message: string; remedy: string }[];
  folder: string;
}

export interface AlertEvent {
  time_ns: Ns;
  rule: string;
  fingerprint: string;
  before: AlertState;
  after: AlertState;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  value: number | null;
  threshold: number | null;
  times_ms: number[];
  values: (number | null)[];
}

export interface Silence {
  id: string;
  matchers: { label: string; op: string; value: string }[];
  starts_ns: Ns;
  ends_ns: Ns;
  created_by: string;
  comment: string;
  state: 'active' | 'pending' | 'expired';
}

export interface Channel {
  name: string;
  type: string;
  targets: string[];
  match: Record<string, string>;
  problem: string | null;
  remedy: string | null;
  sent: number;
  failed: number;
  dropped: number;
  waiting: number;
  tries: number;
  last_ns: Ns | null;
  last_ok: boolean | null;
  last_error: string | null;
  last_title: string | null;
  next_try_ns: Ns | null;
}

export interface Channels {
  items: Channel[];
  kinds: string[];
  file: string;
  problem: string | null;
  remedy: string | null;
}
