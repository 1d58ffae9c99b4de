"""Databases that the proxy stands before: connect, read the catalog, execute a BackendQuery."""
