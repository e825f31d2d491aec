-- Comparisons of rows as conditions of an index: pages by key.
\getenv source PG_ABS_SRCDIR
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :plan_of
\set ECHO all
SET timezone = 'UTC';
SET jit = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE entry (id int, created timestamptz, shop int2, title text);
INSERT INTO entry SELECT g, timestamptz '2025-01-01 00:00+00' + (g / 3) * interval '1 min', g % 4, 'title ' || g FROM generate_series(1, 20000) AS g;
CREATE INDEX entry_created ON entry USING gpu_kary (created, id);
CREATE INDEX entry_shop ON entry USING gpu_kary (shop, created, id);
-- Few shops have many rows each, so that the first column alone would bound nothing.
CREATE INDEX entry_shop_id ON entry USING gpu_kary (shop, id);
VACUUM ANALYZE entry;

-- A page in the middle reads its own rows: the filter removes none.
SELECT plan FROM pg_temp.plan_of($$SELECT id FROM entry WHERE (created, id) < ('2025-01-03 10:00+00', 10380) ORDER BY created DESC, id DESC LIMIT 3$$,
                                 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF') WHERE plan !~ 'Index Searches|Heap Fetches|Path:|Requests:|Batch Size:|Bytes:';
SELECT id FROM entry WHERE (created, id) < ('2025-01-03 10:00+00', 10380) ORDER BY created DESC, id DESC LIMIT 3;
SELECT plan FROM pg_temp.plan_of($$SELECT title FROM entry WHERE (shop, id) > (2, 15001) ORDER BY shop, id LIMIT 3$$,
                                 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF') WHERE plan !~ 'Index Searches|Heap Fetches|Path:|Requests:|Batch Size:|Bytes:';
SELECT title FROM entry WHERE (shop, id) > (2, 15001) ORDER BY shop, id LIMIT 3;
-- Behind a column that is bound to one value, with the constants on the left; and as a bitmap.
BEGIN;
DROP INDEX entry_created;
SELECT plan FROM pg_temp.plan_of($$SELECT title FROM entry WHERE shop = 3 AND ('2025-01-03 10:00+00', 10380) >= (created, id) ORDER BY created DESC, id DESC LIMIT 3$$,
                                 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF') WHERE plan !~ 'Index Searches|Heap Fetches|Path:|Requests:|Batch Size:|Bytes:';
SELECT title FROM entry WHERE shop = 3 AND ('2025-01-03 10:00+00', 10380) >= (created, id) ORDER BY created DESC, id DESC LIMIT 3;
ROLLBACK;
SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_seqscan = off;
SELECT plan FROM pg_temp.plan_of($$SELECT count(title) FROM entry WHERE (created, id) < ('2025-01-01 00:20+00', 60)$$);
SELECT count(title) FROM entry WHERE (created, id) < ('2025-01-01 00:20+00', 60);
RESET enable_indexscan; RESET enable_indexonlyscan; RESET enable_seqscan;
-- Prepared, with a page that is known when the statement is executed only; and one page for each row of another table.
PREPARE page(timestamptz, int) AS SELECT id FROM entry WHERE (created, id) > ($1, $2) ORDER BY created, id LIMIT 2;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE page('2025-01-03 10:00+00', 10380);
EXECUTE page('2025-01-03 10:00+00', 10380);
EXECUTE page('2025-01-03 10:00+00', NULL);
EXECUTE page(NULL, 10380);
RESET plan_cache_mode;
SELECT s, next.id FROM generate_series(0, 4) AS s CROSS JOIN LATERAL (SELECT id FROM entry WHERE (shop, id) > (s, 19990) ORDER BY shop, id LIMIT 1) AS next;

-- A page that is expected to leave all rows.
EXPLAIN (COSTS OFF) SELECT id FROM entry WHERE (created, id) < ('infinity', 0) ORDER BY created DESC, id DESC LIMIT 2;

-- The operators are the planner's alone.
SELECT count(*) FROM entry WHERE created OPERATOR(gpu.#<) ROW(timestamptz '2025-01-01', 1);
SELECT count(*) FROM entry WHERE created OPERATOR(gpu.#<) ANY (ARRAY[ROW(timestamptz '2025-01-01', 1)]);
SELECT created OPERATOR(gpu.#<) ANY (ARRAY[ROW(timestamptz '2025-01-01', 1)]) FROM entry LIMIT 1;

-- Every comparison through indexes of all directions and through the table, with NULLs on both sides, constants of other types and beyond the
-- column's, columns in other orders, and more columns than the index has.
CREATE TABLE row_test (a int4, b int8, c int2, d float8, at date);
INSERT INTO row_test SELECT nullif(g % 7, 3), nullif(g % 5, 2), g % 3, (g % 4) / 2.0, date '2025-01-01' + g % 6 FROM generate_series(1, 2100) AS g;
INSERT INTO row_test VALUES (2147483647, 9223372036854775807, 32767, 'NaN', 'infinity'), (-2147483648, -9223372036854775808, -32768, '-Infinity', '-infinity');
CREATE INDEX row_ab ON row_test USING gpu_kary (a, b);
CREATE INDEX row_ab_down ON row_test USING gpu_kary (a DESC, b DESC);
CREATE INDEX row_ab_mixed ON row_test USING gpu_kary (a, b DESC NULLS LAST);
CREATE INDEX row_cad ON row_test USING gpu_kary (c, a, d);
CREATE INDEX row_dac ON row_test USING gpu_kary (d NULLS FIRST, a, c);
CREATE INDEX row_at ON row_test USING gpu_kary (at, a);
CREATE INDEX row_part ON row_test USING gpu_kary (c, b) WHERE a > 2;
INSERT INTO row_test SELECT a, b, c, d, at FROM row_test LIMIT 900;
DELETE FROM row_test WHERE a = 1 AND b = 1;
ANALYZE row_test;
CREATE FUNCTION row_same(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  query constant text := format('SELECT count(*) || '' '' || coalesce(sum(hashtext(t::text)::bigint), 0) FROM (SELECT * FROM row_test OFFSET 0) AS t WHERE %s', condition);
  indexed constant text := format('SELECT count(*) || '' '' || coalesce(sum(hashtext(t::text)::bigint), 0) FROM row_test AS t WHERE %s', condition);
  wanted text;
  found text;
  plan text;
  uses int := 0;
  problems text := '';
  name text;
  other text;
BEGIN
  EXECUTE query INTO wanted;
  SET LOCAL enable_seqscan = off;
  FOREACH name IN ARRAY ARRAY['row_ab', 'row_ab_down', 'row_ab_mixed', 'row_cad', 'row_dac', 'row_at', 'row_part'] LOOP
    -- The planner sees one index at a time.
    UPDATE pg_index SET indisvalid = indexrelid = name::regclass WHERE indrelid = 'row_test'::regclass;
    FOREACH other IN ARRAY ARRAY['on', 'off'] LOOP
      PERFORM set_config('enable_indexscan', other, true), set_config('enable_indexonlyscan', other, true);
      EXECUTE 'EXPLAIN (FORMAT JSON) ' || indexed INTO plan;
      EXECUTE indexed INTO found;
      uses := uses + (plan ~ 'OPERATOR\(gpu.#')::int;
      IF found <> wanted THEN
        problems := problems || format(' %s (%s): %s instead of %s', name, other, found, wanted);
      END IF;
    END LOOP;
  END LOOP;
  UPDATE pg_index SET indisvalid = true WHERE indrelid = 'row_test'::regclass;
  RETURN format('%s rows, %s plans%s', split_part(wanted, ' ', 1), uses, problems);
END
$$;
SELECT operator, row_same('(a, b) ' || operator || ' (4, 3)') FROM unnest(ARRAY['<', '<=', '>=', '>']) AS operator;
SELECT operator, row_same('(a, b, c) ' || operator || ' (4, 3, 1)') FROM unnest(ARRAY['<', '<=', '>=', '>']) AS operator;
SELECT operator, row_same('(b, a) ' || operator || ' (4, 3)') FROM unnest(ARRAY['<', '<=', '>=', '>']) AS operator;
SELECT operator, row_same('(a, b) ' || operator || ' (4, NULL)') FROM unnest(ARRAY['<', '<=', '>=', '>']) AS operator;
SELECT operator, row_same('(a, b) ' || operator || ' (NULL::int, 4)') FROM unnest(ARRAY['<', '<=', '>=', '>']) AS operator;
SELECT operator, row_same('(a, b) ' || operator || ' (5000000000, 1)') FROM unnest(ARRAY['<', '<=', '>=', '>']) AS operator;
SELECT operator, row_same('(a, b) ' || operator || ' (-5000000000, 1)') FROM unnest(ARRAY['<', '<=', '>=', '>']) AS operator;
SELECT operator, row_same('(a, b) ' || operator || ' (2147483647, 9223372036854775807)') FROM unnest(ARRAY['<', '<=', '>=', '>']) AS operator;
SELECT operator, row_same('(a, b) ' || operator || ' (-2147483648, -9223372036854775808)') FROM unnest(ARRAY['<', '<=', '>=', '>']) AS operator;
SELECT operator, row_same('(c, a, d) ' || operator || ' (1, 70000, 0.5)') FROM unnest(ARRAY['<', '<=', '>=', '>']) AS operator;
SELECT operator, row_same('(c, a, d) ' || operator || ' (1::int8, 4, 0.5::float4)') FROM unnest(ARRAY['<', '<=', '>=', '>']) AS operator;
SELECT operator, row_same('(d, a, c) ' || operator || ' (float8 ''NaN'', 4, 1)') FROM unnest(ARRAY['<', '<=', '>=', '>']) AS operator;
SELECT operator, row_same('(d, a, c) ' || operator || ' (float8 ''-0'', 4, 1)') FROM unnest(ARRAY['<', '<=', '>=', '>']) AS operator;
SELECT operator, row_same('(at, a) ' || operator || ' (timestamp ''2025-01-03 12:00'', 4)') FROM unnest(ARRAY['<', '<=', '>=', '>']) AS operator;
SELECT operator, row_same('(at, a) ' || operator || ' (timestamptz ''2025-01-03 12:00'', 4)') FROM unnest(ARRAY['<', '<=', '>=', '>']) AS operator;
SELECT row_same('(a, b) >= (2, 1) AND (a, b) < (5, 3)');
SELECT row_same('(a, b) >= (5, 3) AND (a, b) < (5, 3)');
SELECT row_same('(a, b) > (2, 1) AND a < 5 AND b = 3');
SELECT row_same('(a, b) > (2, 1) AND b IS NULL');
SELECT row_same('a = 4 AND (b, c) > (1, 1)');
SELECT row_same('c = ANY (''{0,2}'') AND (a, d) > (4, 0.5)');
SELECT row_same('(c, a) > (1, 4) AND a = ANY (''{2,4,6}'')');
SELECT row_same('c IS NULL AND (a, d) > (4, 0.5)');
SELECT row_same('(c, b) < (1, 3) AND a > 2');
SELECT row_same('(a, b) > (c, 1)');
SELECT row_same('NOT (a, b) > (4, 3)');
SELECT row_same('(a, b) > (4, 3) OR (a, b) < (1, 4)');

-- A policy's condition comes first.
CREATE ROLE regress_row_reader;
GRANT SELECT ON entry TO regress_row_reader;
ALTER TABLE entry ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON entry USING (title NOT LIKE '%7');
SET ROLE regress_row_reader;
SELECT id FROM entry WHERE (created, id) < ('2025-01-03 10:00+00', 10380) ORDER BY created DESC, id DESC LIMIT 3;
-- Without a right to the operator's function it stays a filter.
RESET ROLE;
BEGIN;
REVOKE EXECUTE ON FUNCTION gpu.row_bound(anyelement, record) FROM PUBLIC;
SET LOCAL ROLE regress_row_reader;
SELECT plan FROM pg_temp.plan_of($$SELECT id FROM entry WHERE (created, id) < ('2025-01-03 10:00+00', 10380) ORDER BY created DESC, id DESC LIMIT 3$$);
SELECT id FROM entry WHERE (created, id) < ('2025-01-03 10:00+00', 10380) ORDER BY created DESC, id DESC LIMIT 3;
ROLLBACK;

-- Partitions, each in the order of its own index.
CREATE TABLE parted (id int, created timestamptz) PARTITION BY RANGE (created);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM ('2025-01-01 00:00+00') TO ('2025-01-02 00:00+00');
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM ('2025-01-02 00:00+00') TO ('2025-01-03 00:00+00');
INSERT INTO parted SELECT g, timestamptz '2025-01-01 00:00+00' + g * interval '1 min' FROM generate_series(0, 2879) AS g;
CREATE INDEX ON parted USING gpu_kary (created, id);
VACUUM ANALYZE parted;
SELECT plan FROM pg_temp.plan_of($$SELECT id FROM parted WHERE (created, id) > ('2025-01-01 23:58+00', 1438) ORDER BY created, id LIMIT 3$$);
SELECT id FROM parted WHERE (created, id) > ('2025-01-01 23:58+00', 1438) ORDER BY created, id LIMIT 3;

DROP TABLE entry, row_test, parted;
DROP FUNCTION row_same;
DROP ROLE regress_row_reader;
