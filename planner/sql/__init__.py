"""SQL trees, types, literals and columns, before anything is known of policies.

In: nothing of a query: what trees, types, literals and columns are.
Out: the words in which all other stages speak.
"""
