export const en = {
  nav: { memory: 'Memory' },
  intro: { memory: 'What holds objects in memory, and what may never be released.' },
  memory: {
    explain:
      "Worker heap is the memory that each worker process has for itself. The object store is memory that all workers of a node share for tasks' results and ray.put. When it is full, Ray spills objects to disk and restores them when they are needed.",
    lastReading:
      'This cluster has ended. What is shown is the record: the last reading of its objects, at {{time}}.',
    ended:
      'This cluster has ended, and no reading of its objects was kept. Rayscope reads them every 15 seconds and before the end, on clusters of up to {{n}} node{{n, s}}. The objects that tasks passed on, with their sizes, are on record: see the data of each task and the edges of the logical graph.',
    tooLarge:
      'This cluster has more than {{n}} node{{n, s}}: objects are read only while someone looks at this page, and no last reading is kept.',
    stores: 'Object stores',
    used: '{{used}} of {{all}} used',
    primary: '{{bytes}} primary copies',
    spilled: '{{bytes}} spilled so far',
    fallback: '{{bytes}} fallback on disk',
    noAnswer: 'no response ({{error}})',
    by: 'Group by',
    groupings: {
      function: 'Function',
      type: 'Reference type',
      call_site: 'Call site',
      process: 'Process',
      node: 'Node',
      job: 'Job',
    },
    grouped: {
      function: 'Objects by function',
      type: 'Objects by reference type',
      call_site: 'Objects by call site',
      process: 'Objects by process',
      node: 'Objects by node',
      job: 'Objects by job',
    },
    type: 'Reference type',
    types: {
      LOCAL_REFERENCE: 'Local reference',
      PINNED_IN_MEMORY: 'Pinned in memory',
      USED_BY_PENDING_TASK: 'Used by a pending task',
      CAPTURED_IN_OBJECT: 'Captured in another object',
      ACTOR_HANDLE: 'Actor handle',
      UNKNOWN_STATUS: 'Unknown',
    },
    objects: 'Objects',
    references: 'References',
    bytes: 'Size',
    share: 'Share',
    held: 'Held as',
    put: '{{name}} (ray.put)',
    driver: 'Driver',
    worker: 'Worker',
    actor: 'Actor',
    nobody: 'not on record',
    noCallSites: "To record call sites, start Ray's nodes and drivers with RAY_record_ref_creation_sites=1.",
    summary: '{{objects}} object{{objects, s}}, {{bytes}}, {{references}} reference{{references, s}}',
    unknown: '{{n}} of unknown size',
    reading:
      'Loading: {{read}} of {{total}} node{{total, s}} {{read, plural(one: has; other: have)}} responded so far. The figures below cover only {{read, plural(one: it; other: them)}}.',
    truncated:
      'Read {{read}} of {{total}} reference{{total, s}}. The totals below cover only these. Choose a node to read more of its references.',
    more: '{{n}} more group{{n, s}}',
    suspects: 'Suspected leaks',
    suspectsText: 'Large or numerous objects held only by a local variable for longer than the chosen time.',
    noSuspects: 'No objects held this long only by local variables.',
    olderThan: 'Older than',
    minutes: '{{n}} min',
    hours: '{{n}} h',
    oldest: 'Oldest',
    object: 'Object',
    objectOf: 'Object {{id}}',
    copies: 'Nodes with a copy',
    pending: 'The object is not made yet.',
    spilledTo: 'Spilled to disk.',
    inside: 'On no node: the object is small, so its owner keeps it in its own memory.',
    noCopies: {
      not_live: 'Unknown: only the owner of an object knows its copies, and this cluster has ended.',
      owner_unknown: 'Unknown: the task that made this object is not on record, so its owner is not known.',
      owner_gone: 'Unknown: the owner of this object is gone.',
      no_answer: 'Unknown: the owner of this object did not respond within 2 s.',
      released: 'None: nothing refers to this object anymore.',
    },
    largest: 'Largest objects',
    age: 'Age',
    holders: 'Held by',
    andMore: 'and {{n}} more',
    none: 'No objects held',
    asOf: 'as of {{time}}',
  },
};

declare module '../../base/i18n/texts' {
  interface PageTexts {
    memory: typeof en;
  }
}
