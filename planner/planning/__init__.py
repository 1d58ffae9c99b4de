"""A BoundQuery to a Plan: everything that is decided before a private row is read.

In: a `BoundQuery`, the schema, the policy, and the request's epsilon, delta, mechanism and sampling rate. Out: a
`Plan`, or a refusal of a setting that this question does not allow.
"""
