-- How much is written by those whose first answer was liked?
WITH teachers AS (SELECT UserId AS teacher FROM badges WHERE Name = 'Teacher')
SELECT PostTypeId, count(*) AS posts
FROM posts JOIN teachers ON OwnerUserId = teacher
WHERE PostTypeId < 3
GROUP BY PostTypeId
ORDER BY PostTypeId
