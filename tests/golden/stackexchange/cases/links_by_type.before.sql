-- How many questions are duplicates?
SELECT l.name, count(*) AS links
FROM postlinks JOIN linktypes AS l ON LinkTypeId = l.Id
GROUP BY l.name
