-- How many people take part in discussions?
SELECT count(DISTINCT UserId) FROM comments
