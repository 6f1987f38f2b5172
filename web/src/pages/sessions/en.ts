export const en = {
  sessions: {
    title: 'Sessions',
    live: 'Live',
    ended: 'Ended',
    unreadable: 'Unreadable',
    recording: {
      events: 'Events',
      snapshot: 'Snapshots',
      'events+snapshot': 'Events and snapshots',
    },
    recordingHint: {
      events: 'Ray sends every task event as it happens.',
      snapshot: 'Rayscope polls the cluster. Anything that starts and ends between two polls is missed.',
      'events+snapshot': 'Task events as they happen, plus regular polls of the whole cluster.',
    },
    tasks: 'Tasks',
    actors: 'Actors',
    nodes: 'Nodes',
    jobs: 'Jobs',
    disk: 'Disk usage',
    search: 'Name, script, host, tag, note, or ID',
    compare: 'Compare',
    compareTick: 'Tick {{name}} to compare it',
    compareMore: 'Tick another session to compare it with.',
    compareLess: 'Tick at most {{n}} session{{n, s}}.',
    noneFound: 'No session matches.',
    more: 'Show more ({{shown}} of {{total}} shown)',
    location: { both: 'Archived', archive: 'In the archive', warehouse: 'On another server' },
    locationHint: {
      both: 'The archive has a copy of this session.',
      archive: 'No longer on this server. Opening it fetches it from the archive, which takes a moment.',
      warehouse:
        'Recorded by another server. Opening it fetches the record from the warehouse, which takes a moment; metrics and logs stay there.',
    },
    ray: 'Ray {{version}}',
    dropped: '{{n}} dropped',
    droppedHint: 'Number of reports dropped before they were recorded. Open the session for details.',
    noJob: { live: 'No job yet', ended: 'No job', unreadable: 'Unknown script' },
    today: 'today {{time}}',
    actions: 'Actions for {{name}}',
    edit: 'Rename and annotate',
    save: 'Save',
    name: 'Name',
    nameHint: 'Leave empty to show the script.',
    note: 'Note',
    tags: 'Tags',
    tagsHint: 'Separated by commas.',
    delete: 'Delete',
    deleteTitle: 'Delete {{name}}?',
    deleteText: 'Its record, metrics and kept logs are deleted from the server for good.',
    deleteArchived: 'The copy in the archive or the warehouse is deleted too.',
    file: {
      open: 'Open a session file',
      drop: 'Drop a session file here to open it',
      title: 'Open {{name}}?',
      text: 'The file ({{size}}) is checked, and its session is added to this server. Everyone who can read this server can then read it.',
      confirm: 'Open',
    },
    empty: {
      title: 'Nothing recorded yet',
      text: 'Rayscope needs no change to your code. Choose how to start:',
      run: 'Run a script and record everything it does',
      attach: 'Inspect a cluster that is already running',
      start: 'Start a Ray node that sends its events here',
    },
  },
};

declare module '../../base/i18n/texts' {
  interface PageTexts {
    sessions: typeof en;
  }
}
