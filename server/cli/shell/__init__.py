"""`noisegate shell`: questions one after another, as psql takes them, over HTTP."""
