"""Parse SQL text into one statement of the supported grammar, or refuse it with a position and a hint."""
