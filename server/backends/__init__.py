"""The supported databases: connect, read the catalog, run a BackendQuery."""
