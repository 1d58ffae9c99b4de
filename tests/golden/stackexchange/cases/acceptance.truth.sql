SELECT 1.0 * count(AcceptedAnswerId) / count(*) AS accepted
FROM posts
WHERE PostTypeId = 1 AND OwnerUserId IS NOT NULL
