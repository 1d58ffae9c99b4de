-- How many questions are about visas, and are they read?
SELECT count(*) AS questions, avg(ViewCount) AS views
FROM posts
WHERE Title LIKE '%visa%' AND ClosedDate IS NULL
