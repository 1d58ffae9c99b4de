-- How often do people answer themselves?
SELECT count(*)
FROM posts AS question INNER JOIN posts AS answer ON answer.ParentId = question.Id
WHERE question.OwnerUserId = answer.OwnerUserId
