-- Which share of the answers comes within a day?
SELECT round(100.0 * count(*) FILTER (WHERE a.CreationDate < q.CreationDate + interval '1 day') / count(*), 1) AS percent
FROM posts q JOIN posts a ON a.ParentId = q.Id
