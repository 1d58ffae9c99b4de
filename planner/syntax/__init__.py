"""What PostgreSQL's grammar calls a SELECT: the parser library reads more, and guesses what it means."""
