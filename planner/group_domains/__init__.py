"""Which groups an answer has, from public facts only: an empty group is a row like any other.

In: the group keys and conditions of a `BoundQuery`, and the policy.
Out: `GroupDomain`s: the values themselves, or a statement over public tables that names them.
"""
