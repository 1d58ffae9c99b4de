"""SELECTs over public tables only: answered exactly, and free."""
