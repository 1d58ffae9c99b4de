"""What custodians do: `/v1/admin/...`. Every change says who made it and why, in the ledger."""
