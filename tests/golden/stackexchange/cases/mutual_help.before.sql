-- How often do two people answer each other?
SELECT count(*)
FROM posts q1
JOIN posts a1 ON a1.ParentId = q1.Id
JOIN posts q2 ON q2.OwnerUserId = a1.OwnerUserId
JOIN posts a2 ON a2.ParentId = q2.Id AND a2.OwnerUserId = q1.OwnerUserId
WHERE q1.OwnerUserId < q2.OwnerUserId
