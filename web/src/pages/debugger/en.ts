export const en = {
  nav: { debugger: 'Debugger' },
  intro: {
    debugger: 'Tasks that have paused at a breakpoint or an error, and how to attach a debugger to them.',
  },
  debugger: {
    count: '{{n}} paused task{{n, s}}',
    limit: 'A task continues if its debugger is not used for {{time}}.',
    disabled: 'Debuggers are off',
    disabledText:
      'You can see paused tasks, but not attach to them. To let operators attach, start the server with `--debugger` (`RAYSCOPE_DEBUGGER=1`).',
    empty: 'No paused tasks',
    emptyText: 'Tasks that wait for a debugger appear here at once. To make a task pause:',
    emptySteps: {
      install: 'Run `pip install debugpy` where Ray runs. Without it, Ray logs a line and continues.',
      breakpoint: 'Call `breakpoint()` in the code of a task or an actor.',
      error: 'Set `RAY_DEBUG_POST_MORTEM=1` for Ray’s processes to pause at errors.',
      tracer: 'Leave the tracer on. Without it, Rayscope sees only that a worker waits, and cannot attach.',
      legacy:
        'With `RAY_DEBUG=legacy`, tasks wait for Ray’s legacy debugger. They are listed, too, and `ray debug` attaches to them.',
    },
    task: 'Task',
    place: 'Place',
    reason: 'Paused at',
    breakpoint: 'breakpoint',
    states: { waiting: 'Waiting', stopped: 'Stopped', running: 'Running', gone: 'Ended' },
    stateHints: {
      waiting: 'The task waits for a debugger',
      stopped: 'A debugger is attached and has stopped the task',
      running: 'A debugger is attached and lets the task run',
      gone: 'Its process has ended, but Ray still lists it for its legacy debugger',
    },
    since: 'Paused for',
    holds: 'Holds',
    holdsHint: 'Resources that the task holds meanwhile',
    waiters: 'Waiters',
    waitersHint: 'Tasks and drivers that wait for its results',
    attached: 'Debugger',
    attachedHint: 'Address of the attached debugger',
    release: 'Continues in',
    releaseHint: 'When the task continues, unless its debugger is used',
    noLimit: 'no limit',
    actions: 'Actions',
    attach: 'Attach',
    attachTo: 'Attach to {{name}}',
    look: 'Look',
    lookAt: '{{name}} at {{place}}',
    releaseIt: 'Release',
    releaseTitle: 'Release {{name}}?',
    releaseText:
      'The task continues, as do other paused threads of its process. A debugger that is attached there is detached.',
    terminal: 'Terminal',
    terminalText: 'Run this on your machine to debug in the terminal:',
    token:
      'On another machine than the server’s, the command needs the operator token in `RAYSCOPE_OPERATOR`.',
    portText: 'Run this on your machine. It waits for the editor on 127.0.0.1:5678.',
    launchText:
      'Add this to `.vscode/launch.json`, adapt the folders, and start it under “Run and Debug”. The extension “Python Debugger” must be installed.',
    pycharmText:
      'In PyCharm 2025.3 or later, choose “Run | Edit Configurations | Add New Configuration | Attach to DAP”, and debug it with these values:',
    remoteAddress: 'Remote address',
    remotePath: 'Remote project path',
    lookText:
      'Rayscope attaches to the task as a debugger and shows its stack, source and variables. An editor cannot attach until the task is released. The values are not recorded.',
    lookNote:
      'This server is attached to the task. An editor cannot attach until you choose “Continue”. Closing this window leaves the task stopped.',
    reload: 'Reload',
    continue: 'Continue',
    gone: 'This task has continued',
    goneText: 'It no longer waits for a debugger.',
    frames: 'Frames',
    noFrames: 'The debugger has stopped no thread.',
    source: 'Source',
    noSource: 'The debugger has no source for this frame.',
    variables: 'Variables',
    noVariables: 'No local variables',
    more: '{{n}} more not shown',
    parts: 'Parts of {{name}}',
    callersText: 'From the driver to the paused task:',
    noCallers: 'Its caller is not recorded yet.',
    tooDeep: 'Callers above these are not shown.',
    noSampling: 'Its stack cannot be sampled.',
    takeFrames: 'Frames',
    here: 'paused here',
    untraced:
      'This process has no tracer, so Rayscope cannot attach to it, and does not know where it waits. Use Ray’s own debugger.',
    untracedShort: 'unknown (no tracer)',
    noPlace: 'unknown place',
    legacyHint: 'This task waits for Ray’s legacy debugger. Only ray debug attaches to it.',
    legacy:
      'This task waits for Ray’s legacy debugger. Only `ray debug` attaches to it. Run this on a node of the cluster:',
    legacyLocal:
      'This task waits for Ray’s legacy debugger. Only `ray debug` attaches to it. Run this on the node of the task:',
    legacyGone:
      'The process of this task has ended ({{time}}), so nothing can attach to it. Ray lists it until its job has ended and someone runs `ray debug`.',
    legacyLeftOut:
      '{{n}} more tasks that wait for Ray’s legacy debugger are not listed: there are too many, or they cannot be read.',
    legacyUnknown: 'It is unknown whether tasks wait for Ray’s legacy debugger.',
    paused: 'Paused',
    pausedHint: 'Paused, waiting for a debugger',
  },
};

declare module '../../base/i18n/texts' {
  interface PageTexts {
    debugger: typeof en;
  }
}
