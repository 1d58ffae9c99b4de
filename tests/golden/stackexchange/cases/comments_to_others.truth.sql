-- Scores are clamped to their declared range.
SELECT count(*) AS comments, sum(least(c.Score, 200)) AS upvotes
FROM comments c, posts p
WHERE c.PostId = p.Id AND c.UserId <> p.OwnerUserId
