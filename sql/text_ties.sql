-- gpu_text: ranked, then by other keys. The index gives rows by score, equal ones are sorted, and no page lacks or repeats a row.
SET max_parallel_workers_per_gather = 0;
CREATE TABLE ties (id int PRIMARY KEY, created int, tenant int, body text);
INSERT INTO ties SELECT g, g * 7919 % 5000, g % 10, concat_ws(' ', 'message', CASE WHEN g % 3 = 0 THEN 'please' END, CASE WHEN g % 250 = 0 THEN 'urgent' END, repeat('filler ', g % 4)) FROM generate_series(1, 5000) AS g;
CREATE INDEX ties_body ON ties USING gpu_text (body) WITH (configuration = 'english');
CREATE INDEX ties_tenant ON ties (tenant);
VACUUM ANALYZE ties;
EXPLAIN (COSTS OFF) SELECT id FROM ties WHERE body @@@ 'please' ORDER BY body <@> 'please', id LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM ties ORDER BY body <@> 'please', created DESC, id LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM ties WHERE tenant = 3 AND body @@@ 'please' ORDER BY body <@> 'please', id LIMIT 10;
-- Each order and page against a plain sort.
CREATE FUNCTION tie_differences() RETURNS TABLE (compared int, incremental int, different text) LANGUAGE plpgsql AS $$
DECLARE
    conditions text;
    keys text;
    page text;
    statement text;
    line text;
    wanted int[];
    found int[];
BEGIN
    compared := 0; incremental := 0;
    FOREACH conditions IN ARRAY ARRAY['true', 'body @@@ ''please''', 'tenant = 3', 'body @@@ ''please urgent'' AND id > 100'] LOOP
        FOREACH keys IN ARRAY ARRAY['id', 'id DESC', 'created, id', 'body <@> ''urgent'', id', 'body <@> ''urgent'' DESC, tenant, id'] LOOP
            FOREACH page IN ARRAY ARRAY['LIMIT 10', 'LIMIT 10 OFFSET 1660', 'LIMIT 3000'] LOOP
                statement := format('SELECT id FROM ties WHERE %s ORDER BY body <@> ''please or message'', %s %s', conditions, keys, page);
                SET LOCAL enable_indexscan = off; SET LOCAL enable_incremental_sort = off; SET LOCAL enable_sort = on;
                EXECUTE format('SELECT array_agg(id) FROM (%s) AS s', statement) INTO wanted;
                SET LOCAL enable_indexscan = on; SET LOCAL enable_incremental_sort = on; SET LOCAL enable_sort = off;
                EXECUTE format('SELECT array_agg(id) FROM (%s) AS s', statement) INTO found;
                FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP incremental := incremental + (line LIKE '%Incremental Sort%')::int; END LOOP;
                compared := compared + 1;
                IF found IS DISTINCT FROM wanted THEN different := concat_ws('; ', different, statement); END IF;
            END LOOP;
        END LOOP;
    END LOOP;
    RETURN NEXT;
END
$$;
SELECT * FROM tie_differences();
-- Few rows are read for a page.
CREATE FUNCTION rows_read(statement text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || statement INTO plan;
    RETURN (jsonb_path_query_first(plan, '$.**?(@."Node Type" == "Index Scan")."Actual Rows"'))::float8;
END
$$;
SELECT rows_read('SELECT id FROM ties WHERE body @@@ ''urgent'' ORDER BY body <@> ''urgent or please'', id LIMIT 2');
-- Partitions are merged by score.
CREATE TABLE tie_parts (id int, body text) PARTITION BY RANGE (id);
CREATE TABLE tie_parts_1 PARTITION OF tie_parts FOR VALUES FROM (0) TO (2500);
CREATE TABLE tie_parts_2 PARTITION OF tie_parts FOR VALUES FROM (2500) TO (10000);
INSERT INTO tie_parts SELECT id, body FROM ties;
CREATE INDEX tie_parts_body ON tie_parts USING gpu_text (body) WITH (configuration = 'english');
VACUUM ANALYZE tie_parts;
EXPLAIN (COSTS OFF) SELECT id FROM tie_parts ORDER BY body <@> 'urgent', id LIMIT 3;
SELECT id FROM tie_parts ORDER BY body <@> 'urgent', id LIMIT 3;
SELECT id FROM tie_parts ORDER BY body <@> 'urgent', id DESC LIMIT 3;
DROP TABLE ties, tie_parts;
DROP FUNCTION tie_differences, rows_read;
