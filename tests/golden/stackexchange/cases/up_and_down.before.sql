-- Is the site friendly?
SELECT count(*) FILTER (WHERE VoteTypeId = 2) AS up, count(*) FILTER (WHERE VoteTypeId = 3) AS down
FROM votes
WHERE CreationDate >= date '2016-01-01'
