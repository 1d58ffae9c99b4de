"""What analysts ask of a question-and-answer site: travel.stackexchange.com, users private."""
