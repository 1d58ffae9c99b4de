"""What can be said before a question is asked: public facts only, free of charge.

Enters: a planned query, or the schema and the policy.
Leaves: an explanation, and the catalog of tables and columns that may be queried.
It may not read rows, row counts or estimates of them.
"""
