SELECT t.name, count(*)
FROM votes v LEFT JOIN votetypes t ON v.VoteTypeId = t.Id JOIN posts p ON v.PostId = p.Id
WHERE v.UserId IS NOT NULL OR p.OwnerUserId IS NOT NULL
GROUP BY t.name
HAVING count(*) > 1000
ORDER BY count(*) DESC
LIMIT 5
