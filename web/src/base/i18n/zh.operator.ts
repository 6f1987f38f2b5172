export const zhOperator = {
  operator: {
    cancel: '取消',
    token: '操作员令牌',
    tokenText:
      '此操作需要操作员令牌。在服务器上运行 `rayscope token` 即可获得；它保存在服务器数据目录的 `operator` 文件中。',
    wrong: '操作员令牌不正确。',
    remember: '关闭此标签页之前一直有效。',
  },
};
