-- Does the site grow?
SELECT extract(year FROM CreationDate) AS year, count(*) AS questions
FROM posts
WHERE PostTypeId = 1
GROUP BY year
ORDER BY year
