"""Determine the groups of an answer from public facts only, so that an empty group is a row like any other.

It takes the group keys and conditions of a `BoundQuery` and the policy. It returns `GroupDomain`s: values, or a
statement over public tables that lists them. It reads no private row.
"""
