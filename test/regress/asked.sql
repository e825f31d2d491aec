-- A statement's answer on the server's path: whether it is the answer from pages, and what the server process was asked.
CREATE FUNCTION asked(statement text, OUT same bool, OUT requests text) LANGUAGE plpgsql AS $$
DECLARE
    from_pages text;
    from_server text;
BEGIN
    SET LOCAL enable_seqscan = off;
    SET LOCAL pg_gpu.path = paged;
    EXECUTE format('SELECT array_agg(s) FROM (%s) AS s', statement) INTO from_pages;
    SET LOCAL pg_gpu.path = host;
    PERFORM gpu.stat_reset();
    EXECUTE format('SELECT array_agg(s) FROM (%s) AS s', statement) INTO from_server;
    same := from_pages = from_server;
    requests := (SELECT string_agg(format('%s %s of %s', t.requests, t.request, t.items), ', ' ORDER BY t.request)
                 FROM gpu.stat AS t WHERE t.requests > 0 AND t.path = 'host');
END $$;
