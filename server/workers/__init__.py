"""Processes that read, truncate and release private rows. Only noisy answers leave them.

In: the statements of a plan and its measurements. Out: releases, or an error that states whether a private row could
have been read.
"""
