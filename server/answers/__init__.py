"""Answers that are kept: what names one, who pays, measured once however many ask at once.

In: a question, and the answers that the ledger keeps.
Out: a kept answer, free or sold again; or one measurement, however many ask at once.
"""
