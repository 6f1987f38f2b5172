import { expect, it } from 'vitest';
import type { ChannelInfo, RuleInfo } from '../../api/schema';
import { channelBody, channelDraft } from './ChannelForm';
import { ruleBody, ruleDraft } from './RuleForm';

it('keeps fields that the form of a rule does not show', () => {
  const rule = {
    name: 'Long',
    expr: 'q > 1',
    for_s: 90,
    keep_firing_for_s: 0,
    severity: 'info',
    labels: { severity: 'info', team: 'a' },
    annotations: { summary: 'Too long', runbook: 'x' },
  } as unknown as RuleInfo;
  expect(ruleBody({ ...ruleDraft(rule), severity: 'critical', summary: ' ' }, rule)).toEqual({
    expr: 'q > 1',
    for_s: 90,
    keep_firing_for_s: 0,
    labels: { severity: 'critical', team: 'a' },
    annotations: { runbook: 'x' },
  });
});

it('sends an address only if one was entered', () => {
  const channel = {
    name: 'am',
    type: 'alertmanager',
    match: { severity: 'info', job: 'j' },
    rules: [],
  } as unknown as ChannelInfo;
  const chosen = { ...channelDraft(channel), severity: 'chosen' };
  expect(channelBody(chosen, channel)).toMatchObject({
    match: { job: 'j' }, // without the severity, which chosen rules may not have
    rules: expect.arrayContaining(['JobFailed']),
  });
  const mine = { ...channel, rules: ['Mine'], send_info: false };
  expect(channelBody(channelDraft(mine), mine)).toMatchObject({
    match: { severity: 'info', job: 'j' },
    rules: ['Mine'],
    send_info: false,
  });
  const draft = { ...channelDraft(channel), severity: '' };
  expect(channelBody(draft, channel)).toMatchObject({ config: null, match: { job: 'j' } });
  expect(channelBody({ ...draft, address: ' http://a:9 ' }, channel)).toMatchObject({
    config: { url: 'http://a:9' },
  });
  expect(channelBody({ ...channelDraft(), address: 'json://a\nmailto://b' })).toMatchObject({
    config: { urls: ['json://a', 'mailto://b'] },
    rules: expect.arrayContaining(['JobFailed', 'NodeDead']),
    send_info: true,
  });
});
