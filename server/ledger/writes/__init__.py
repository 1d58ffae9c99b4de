"""The writes of the ledger: reserve and settle charges, administer accounts, and append to the journal.

Enters: a write of a store, with its operation number.
Leaves: entries and the rows that follow from them.
It never opens or commits a transaction itself.
"""
