"""Spark over a folder of Parquet files, by Spark Connect: of one's own, or of another's."""
