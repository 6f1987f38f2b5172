"""Ended sessions on object storage: sealed as Parquet files, listed, and restored."""
