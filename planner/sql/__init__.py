"""SQL trees, types, literals and columns, before anything is known of policies."""
