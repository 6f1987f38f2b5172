export const enOperator = {
  operator: {
    cancel: 'Cancel',
    token: 'Operator token',
    tokenText:
      "This action needs the operator token. Run `rayscope token` on the server to get it; it is stored in the file `operator` in the server's data directory.",
    wrong: 'Wrong operator token.',
    remember: 'Remembered until you close this tab.',
  },
};
