SELECT round(100.0 * count(*) FILTER (WHERE a.CreationDate < q.CreationDate + interval '1 day') / count(*), 1) AS percent
FROM posts q JOIN posts a ON a.ParentId = q.Id
WHERE q.OwnerUserId IS NOT NULL OR a.OwnerUserId IS NOT NULL
