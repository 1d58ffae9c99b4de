-- What is there on the site?
SELECT t.name, count(*) AS posts
FROM posts p JOIN posttypes t ON p.PostTypeId = t.Id
GROUP BY t.name
ORDER BY posts DESC
