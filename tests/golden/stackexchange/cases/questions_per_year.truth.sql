SELECT extract(year FROM CreationDate) AS year, count(*) AS questions
FROM posts
WHERE PostTypeId = 1 AND OwnerUserId IS NOT NULL
GROUP BY year
ORDER BY year
