"""SQL text, schema and policy to a Plan, purely: no database and no solver in here."""
