"""Text to one statement within the grammar, or a refusal with its place and a hint."""
