-- Are answers liked more than questions?
SELECT PostTypeId, avg(Score) AS score, count(*) AS posts
FROM posts
WHERE PostTypeId IN (1, 2)
GROUP BY PostTypeId
ORDER BY 2 DESC
