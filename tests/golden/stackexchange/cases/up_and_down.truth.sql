-- A vote belongs to its voter and to the post's owner; votes for posts that are gone do not count.
SELECT count(*) FILTER (WHERE VoteTypeId = 2) AS up, count(*) FILTER (WHERE VoteTypeId = 3) AS down
FROM votes v JOIN posts p ON v.PostId = p.Id
WHERE v.CreationDate >= date '2016-01-01' AND (v.UserId IS NOT NULL OR p.OwnerUserId IS NOT NULL)
