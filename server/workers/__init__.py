"""Processes in which private rows are read, truncated and released. Only noisy answers leave them.

In: the statements of a plan and its measurements.
Out: releases; or an error that says whether a private row could have been read.
"""
