"""What an accuracy would cost: free, from public quantities and the analyst's own answers.

In: a question with an interval width, a relative or an absolute error instead of an epsilon.
Out: the smallest epsilon that gives it, or why none is known; where the question is to be answered at once, and
nothing is known, a small release that tells, and then what is missing.
"""
