-- Media types of answers, and what they take in the WARC files.
SELECT content_mime_type AS type, count(*) AS captures, CAST(sum(warc_record_length) AS BIGINT) AS bytes
FROM captures
WHERE fetch_status = 200
GROUP BY content_mime_type
ORDER BY bytes DESC, type;
