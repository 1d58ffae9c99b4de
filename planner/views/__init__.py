"""Views: their definitions read from the database's spelling, and written out in the statements that name them."""
