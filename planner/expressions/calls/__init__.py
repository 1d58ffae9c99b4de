"""Functions that are called by name, each written by what the database has for all values alike."""
