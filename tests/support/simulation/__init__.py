"""A deterministic simulation: proxies, a ledger's database, workers and clients under one seeded scheduler.

What runs is the product's own: the pipeline, the kept answers, the ledger and its rules, the store for PostgreSQL
with its retries and its marker. What is simulated is the world behind their Protocols: time, the database's
sessions and transactions (SQLite in memory stands for PostgreSQL), worker processes, the schema of the data, clients,
deaths.
Every history follows from its seed alone (FoundationDB, SIGMOD 2021, section 4; TigerBeetle's simulator).
"""
