-- The pages to which most other hosts link.
SELECT target, count(DISTINCT source_host) AS hosts
FROM edges
WHERE source_host <> target_host
GROUP BY target
ORDER BY hosts DESC, target
LIMIT 20;
