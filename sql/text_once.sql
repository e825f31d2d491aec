-- gpu_text: what a statement ranks by is made once, for all of its scans.
SET max_parallel_workers_per_gather = 0;
CREATE TABLE once (id int, body text);
INSERT INTO once SELECT g, concat_ws(' ', 'message', CASE WHEN g % 3 = 0 THEN 'please' END, CASE WHEN g % 250 = 0 THEN 'urgent' END) FROM generate_series(1, 1000) AS g;
CREATE INDEX once_body ON once USING gpu_text (body);
-- What is ranked by is made once a statement, for all partitions: pages read grow with their number, not with its square.
CREATE FUNCTION pages_read(partitions int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    CREATE TABLE many_parts (id int, body text) PARTITION BY RANGE (id);
    FOR i IN 0 .. partitions - 1 LOOP
        EXECUTE format('CREATE TABLE many_parts_%s PARTITION OF many_parts FOR VALUES FROM (%s) TO (%s)', i, i, i + 1);
    END LOOP;
    INSERT INTO many_parts SELECT g % partitions, 'event ' || g % 50 FROM generate_series(1, 2000) AS g;
    CREATE INDEX ON many_parts USING gpu_text (body);
    ANALYZE many_parts;
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF, FORMAT JSON) SELECT id FROM many_parts ORDER BY body <@> ''event 7'' LIMIT 5' INTO plan;
    DROP TABLE many_parts;
    RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
END
$$;
SELECT pages_read(40) < 3 * pages_read(20) AS grows_as_partitions;
-- What a statement changes counts at once, in the statement too.
DO $$
DECLARE
    before real;
    after real;
    alone real;
BEGIN
    SELECT min(body <@> 'urgent') FROM once WHERE id = 250 INTO before;
    INSERT INTO once SELECT g, 'urgent' FROM generate_series(6001, 6100) AS g;
    SELECT min(body <@> 'urgent') FROM once WHERE id = 250 INTO after;
    EXECUTE 'SELECT min(body <@> ''urgent'') FROM once WHERE id = 250' INTO alone;
    RAISE NOTICE 'weighs less: %, same: %', after > before, after = alone;
END
$$;
SELECT (body <@> 'urgent') <> (body <@> 'please or urgent') AS two_queries FROM once WHERE id = 750;
-- What changes is seen by the next statement.
SELECT body <@> 'urgent' AS before FROM once WHERE id = 250 \gset
INSERT INTO once SELECT g, 'urgent' FROM generate_series(7001, 7100) AS g;
SELECT body <@> 'urgent' > :before AS weighs_less FROM once WHERE id = 250;
SELECT body <@> 'urgent' AS before FROM once WHERE id = 250 \gset
ALTER INDEX once_body SET (k1 = 5);
SELECT body <@> 'urgent' <> :before AS otherwise FROM once WHERE id = 250;
-- What is kept for the statement is bounded, however long its queries are.
SELECT count(gpu.matching_query('once_body', repeat('word ', 4000) || n)) FROM generate_series(1, 60) AS n;
SELECT total_bytes < 2000000 AS is_bounded FROM pg_backend_memory_contexts WHERE name = 'gpu_text queries of a statement';
DROP TABLE once;
DROP FUNCTION pages_read;
