"""What may be said before anything is asked: explanations, reasons, the catalog."""
