-- What was captured of each registered domain: answers, pages that were found, bytes. As written for Common Crawl.
SELECT url_host_registered_domain AS domain, count(*) AS captures,
       sum(CASE WHEN fetch_status = 200 THEN 1 ELSE 0 END) AS found,
       CAST(sum(warc_record_length) AS BIGINT) AS bytes
FROM captures
GROUP BY url_host_registered_domain
ORDER BY captures DESC, domain;
