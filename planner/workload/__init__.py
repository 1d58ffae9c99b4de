"""Many questions at once: which of them count the same by other keys."""
