"""What a terminal shows: answers, explanations, tables, excerpts."""
