"""Records of all clusters in shared tables of ClickHouse, for queries over all sessions."""
