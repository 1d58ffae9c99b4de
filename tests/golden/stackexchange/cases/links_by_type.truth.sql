-- A link belongs to the authors of both posts; links to posts that are gone do not count.
SELECT l.name, count(*) AS links
FROM postlinks JOIN linktypes AS l ON LinkTypeId = l.Id
JOIN posts a ON PostId = a.Id JOIN posts b ON RelatedPostId = b.Id
WHERE a.OwnerUserId IS NOT NULL OR b.OwnerUserId IS NOT NULL
GROUP BY l.name
