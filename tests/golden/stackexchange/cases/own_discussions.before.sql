-- How often do authors comment on their own posts?
SELECT count(*) FROM comments c JOIN posts p ON c.PostId = p.Id WHERE c.UserId = p.OwnerUserId
