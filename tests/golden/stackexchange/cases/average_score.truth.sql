-- Scores are clamped to their declared range.
SELECT PostTypeId, avg(greatest(-50, least(500, Score))) AS score, count(*) AS posts
FROM posts
WHERE PostTypeId IN (1, 2) AND OwnerUserId IS NOT NULL
GROUP BY PostTypeId
ORDER BY 2 DESC
