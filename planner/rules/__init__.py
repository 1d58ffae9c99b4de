"""One rewriting rule per file, named by the verb phrase that it performs."""
