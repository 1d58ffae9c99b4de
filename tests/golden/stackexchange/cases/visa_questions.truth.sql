SELECT count(*) AS questions, avg(ViewCount) AS views
FROM posts
WHERE Title LIKE '%visa%' AND ClosedDate IS NULL AND OwnerUserId IS NOT NULL
