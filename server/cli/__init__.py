"""The `noisegate` command line: what a person types. It asks the HTTP API or prepares a server."""
