"""Answer statements that compute with one or several noisy answers.

In: a statement that is not one question. Out: a `Composition`, whose parts are reserved together and measured in
turn; then the response.
"""
