SELECT date_trunc('month', c.CreationDate) AS month, count(*) AS comments
FROM comments c JOIN posts p ON c.PostId = p.Id
WHERE c.CreationDate >= '2016-01-01' AND c.CreationDate < '2017-01-01'
  AND (c.UserId IS NOT NULL OR p.OwnerUserId IS NOT NULL)
GROUP BY 1
ORDER BY 1
