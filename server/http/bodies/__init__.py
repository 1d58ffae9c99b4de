"""Bodies of requests and responses, and their representations."""
