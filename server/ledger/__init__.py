"""The budget ledger: a durable, append-only record of what each account may spend and has spent.

Enters: charges from the pipeline and changes by administrators, each as one write.
Leaves: reservations, balances, cached answers and entries.
It never reads SQL of analysts or private rows. It never gives a charge back after a row could have been read.
"""
