-- When do people talk about travel?
SELECT date_trunc('month', CreationDate) AS month, count(*) AS comments
FROM comments
WHERE CreationDate >= '2016-01-01' AND CreationDate < '2017-01-01'
GROUP BY 1
ORDER BY 1
