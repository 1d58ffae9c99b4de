-- What are votes for?
SELECT t.name, count(*)
FROM votes v LEFT JOIN votetypes t ON v.VoteTypeId = t.Id
GROUP BY t.name
HAVING count(*) > 1000
ORDER BY count(*) DESC
LIMIT 5
