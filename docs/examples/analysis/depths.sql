-- Pages by their distance from the seeds, and how many of them were visited.
SELECT depth, count(*) AS pages, count(captured_at) AS visited
FROM pages
GROUP BY depth
ORDER BY depth;
