"""Statements that compute something from several answers, or from one what it does not show.

In: a statement that is not one question.
Out: a `Composition`, whose parts `pipeline.py` reserves together and measures in turn; the response that follows.
"""
