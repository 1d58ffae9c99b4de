"""What may be said before anything is asked: public facts only, free of charge.

In: a planned query, or the schema and the policy.
Out: an explanation, the shape of an answer, the catalog of what may be asked.
"""
