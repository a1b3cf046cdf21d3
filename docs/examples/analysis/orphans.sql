-- Pages that nothing links to.
SELECT url FROM pages WHERE url NOT IN (SELECT target FROM edges) ORDER BY url;
