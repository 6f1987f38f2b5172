export const enOperator = {
  operator: {
    cancel: 'Cancel',
    token: "Operator's token",
    tokenText:
      'This changes something, so it needs the operator’s token. It stands in the file `operator` in the server’s data directory; `rayscope operator` prints it.',
    wrong: 'That is not the operator’s token.',
    remember: 'This tab keeps it until it is closed.',
  },
};
