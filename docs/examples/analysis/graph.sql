-- The graph of hosts.
SELECT source_host, target_host, count(*) AS links
FROM edges
WHERE source_host <> target_host
GROUP BY source_host, target_host
ORDER BY links DESC, source_host, target_host;
