"""Parse a session's text into commands: questions, and the statements that drivers send around them."""
