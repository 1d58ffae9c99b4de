"""Whether a question's answer follows from one that is kept, of which hashes alone are known."""
