-- Where the captures of HTML are: a range of bytes of a WARC file for each, to be read from a disk or a bucket.
SELECT url, warc_filename, warc_record_offset, warc_record_length
FROM captures
WHERE fetch_status = 200 AND content_mime_type = 'text/html'
ORDER BY url, warc_filename, warc_record_offset;
