"""A BoundQuery to a Plan: everything that is decided before a private row is read.

In: a `BoundQuery`, the schema, the policy, and what the analyst asks for (epsilon, delta, mechanism, sampling rate).
Out: a `Plan`, or a refusal of a setting that this question does not allow.
"""
