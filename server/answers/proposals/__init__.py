"""Find the epsilon for an accuracy target: free, from public facts and the analyst's own answers.

In: a question with an interval width, a relative or an absolute error instead of an epsilon. Out: the smallest
epsilon that reaches it, or the reason why none is known. A question that must be answered at once makes a small first
release where nothing is known.
"""
