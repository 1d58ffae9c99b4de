"""Write a Plan as the SQL that a database runs."""
