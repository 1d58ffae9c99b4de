"""Numbers for keys of any kind."""
