-- How much do people say to one another, and how well is it received?
SELECT count(*) AS comments, sum(c.Score) AS upvotes
FROM comments c, posts p
WHERE c.PostId = p.Id AND c.UserId <> p.OwnerUserId
