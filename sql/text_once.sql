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
-- What has been made for one user, another may not have in the same statement.
CREATE ROLE once_reader;
CREATE FUNCTION score_of_owner() RETURNS real LANGUAGE sql SECURITY DEFINER AS $$ SELECT min(body <@> 'urgent') FROM once $$;
SET ROLE once_reader;
SELECT score_of_owner() < 0 AS ranked;
SELECT score_of_owner() < 0 AS ranked, gpu.ranking_query('once_body', 'urgent');
RESET ROLE;
DROP FUNCTION score_of_owner;
DROP ROLE once_reader;
-- Partitions in which no row is expected are ranked without a node of their own.
CREATE FUNCTION nodes_of(statement text, OUT scans int, OUT nodes int) LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    scans := 0;
    nodes := 0;
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
        scans := scans + (line LIKE '%Index Scan using%')::int;
        nodes := nodes + (line LIKE '%GpuSearch%')::int;
    END LOOP;
END
$$;
CREATE TABLE many_parts (id int, body text) PARTITION BY RANGE (id);
CREATE TABLE many_parts_1 PARTITION OF many_parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE many_parts_2 PARTITION OF many_parts FOR VALUES FROM (1000) TO (2000);
INSERT INTO many_parts SELECT g, 'event' || CASE WHEN g % 10 = 0 AND g < 1000 THEN ' urgent' ELSE '' END FROM generate_series(0, 1999) AS g;
CREATE INDEX ON many_parts USING gpu_text (body);
ANALYZE many_parts;
SET enable_seqscan = off;
SET enable_sort = off;
SELECT 'in one' AS word, * FROM nodes_of($$SELECT id FROM many_parts WHERE body @@@ 'urgent' ORDER BY body <@> 'urgent' LIMIT 5$$)
UNION ALL SELECT 'in none', * FROM nodes_of($$SELECT id FROM many_parts WHERE body @@@ 'missing' ORDER BY body <@> 'missing' LIMIT 5$$);
SELECT id FROM many_parts WHERE body @@@ 'urgent' ORDER BY body <@> 'urgent' LIMIT 2;
SELECT id FROM many_parts WHERE body @@@ 'missing' ORDER BY body <@> 'missing' LIMIT 2;
RESET enable_seqscan;
RESET enable_sort;
DROP TABLE many_parts;
DROP FUNCTION nodes_of;
-- What is kept for the statement is bounded, however long its queries are.
SELECT count(gpu.matching_query('once_body', repeat('word ', 4000) || n)) FROM generate_series(1, 60) AS n;
SELECT total_bytes < 2000000 AS is_bounded FROM pg_backend_memory_contexts WHERE name = 'gpu_text queries of a statement';
DROP TABLE once;
DROP FUNCTION pages_read;
