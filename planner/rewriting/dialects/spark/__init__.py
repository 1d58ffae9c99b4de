"""The text of that SQL for Spark."""
