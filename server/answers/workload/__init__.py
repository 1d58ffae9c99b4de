"""Many questions at once under one budget: measured where it serves most of them, all or nothing."""
