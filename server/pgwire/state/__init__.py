"""A session's state: settings, transaction, portals."""
