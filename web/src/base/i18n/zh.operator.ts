export const zhOperator = {
  operator: {
    cancel: '取消',
    token: '操作员令牌',
    tokenText:
      '此操作会更改内容，需要操作员令牌。它保存在服务器数据目录的 `operator` 文件中；运行 `rayscope operator` 可将其打印出来。',
    wrong: '操作员令牌不正确。',
    remember: '此标签页会将其保留到关闭为止。',
  },
};
