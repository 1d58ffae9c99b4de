"""The budget ledger: durable, append-only accounts of what each analyst may spend and has spent."""
