"""Spark, reached by Spark Connect: a folder of Parquet files with a Spark of one's own."""
