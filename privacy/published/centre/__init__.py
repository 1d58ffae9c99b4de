"""Mean and median as published, with and without a simple random sample."""
