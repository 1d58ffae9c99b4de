-- A post whose author has left belongs to nobody, and is not counted.
SELECT t.name, count(*) AS posts
FROM posts p JOIN posttypes t ON p.PostTypeId = t.Id
WHERE p.OwnerUserId IS NOT NULL
GROUP BY t.name
ORDER BY posts DESC
