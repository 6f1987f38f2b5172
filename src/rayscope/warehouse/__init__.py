"""Records of all clusters in shared tables of ClickHouse, for questions over all sessions."""
