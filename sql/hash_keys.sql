-- Keys by hash: equality of any type, each through the index and through the table.
\getenv source PG_ABS_SRCDIR
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :plan_of
\set ECHO all
SET client_min_messages = warning;
SET jit = off;
CREATE TYPE hash_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE hash_pair AS (a int4, b text);
CREATE DOMAIN hash_domain AS text CHECK (value <> 'no');
CREATE DOMAIN hash_range AS int4range;
CREATE TABLE hash_values (type text, value text);
INSERT INTO hash_values SELECT type, unnest(vals) FROM (VALUES
  ('text', ARRAY['', 'a', 'A', 'ab', 'a ', 'Ελλάδα', repeat('long', 1000), repeat('long', 1000) || '.']),
  ('varchar(20)', ARRAY['', 'a', 'a ', 'ab']),
  ('char(8)', ARRAY['', 'a', 'ab', 'abcdefgh']),
  ('name', ARRAY['', 'a', 'ab']),
  ('hash_domain', ARRAY['', 'a', 'ab']),
  ('bytea', ARRAY['', '\x00', '\x0000', '\xff']),
  ('numeric', ARRAY['0', '1', '1.00', '-1', 'NaN', 'Infinity', '123456789012345678901234567890.5', '1e-20']),
  ('float8', ARRAY['0', '-0', 'NaN', '-NaN', '1.5', 'Infinity']),
  ('jsonb', ARRAY['1', '1.0', '"1"', '{"a": 1, "b": [1, 2]}', '{"b": [1, 2], "a": 1.0}', '[]', '{}', 'null']),
  ('inet', ARRAY['10.0.0.1', '10.0.0.1/24', '::1', '2001:db8::/32']),
  ('cidr', ARRAY['10.0.0.0/8', '10.0.0.0/16', '::/0']),
  ('int4[]', ARRAY['{}', '{1}', '{1,2}', '{{1,2}}', '{NULL}', '{1,NULL}']),
  ('text[]', ARRAY['{}', '{a}', '{A}', '{a,b}']),
  ('hash_mood', ARRAY['sad', 'ok', 'happy']),
  ('hash_pair', ARRAY['(1,a)', '(1,)', '(,)', '(2,a)']),
  ('int4range', ARRAY['empty', '[1,2)', '[1,1]', '[1,5)', '(,)']),
  ('hash_range', ARRAY['empty', '[1,2)', '[1,1]']),
  ('int4multirange', ARRAY['{}', '{[1,2)}', '{[1,2),[4,5)}']),
  ('interval', ARRAY['1 month', '30 days', '720 hours', '1 second']),
  ('timetz', ARRAY['12:00+00', '13:00+01', '12:00+01']),
  ('uuid', ARRAY['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff']),
  ('pg_lsn', ARRAY['0/0', '1/0']), ('xid8', ARRAY['0', '18446744073709551615']), ('tid', ARRAY['(0,1)', '(1,1)']),
  ('int2', ARRAY['1', '-1']), ('date', ARRAY['2021-01-01', 'infinity'])) AS v (type, vals);

-- Every value alone, all of them in a short and in a long array with a NULL, NULL, and a join, by index and bitmap scans;
-- the long array counted; and gpu.lookup.
CREATE FUNCTION hash_check(type text, OUT entries bigint, OUT questions int, OUT problems text) LANGUAGE plpgsql AS $$
DECLARE
  query text;
  mode text;
  plan text;
  want text;
  got text;
  conditions text[];
BEGIN
  problems := '';
  questions := 0;
  EXECUTE format('CREATE TEMP TABLE keyed (id int GENERATED ALWAYS AS IDENTITY, k %1$s);'
                 'CREATE TEMP TABLE asked (k %1$s);'
                 'INSERT INTO asked SELECT value::%1$s FROM hash_values AS v WHERE v.type = %1$L', type);
  INSERT INTO keyed (k) SELECT k FROM asked, generate_series(1, 10);
  CREATE INDEX keyed_k ON keyed USING gpu_kary (k gpu.hash_ops);
  INSERT INTO keyed (k) SELECT k FROM asked, generate_series(1, 3);
  INSERT INTO keyed (k) VALUES (NULL), (NULL);
  DELETE FROM keyed WHERE id % 7 = 0;
  SELECT array_agg(format('SELECT id FROM keyed WHERE k = %L::%s', v.value, v.type))
    INTO conditions FROM hash_values AS v WHERE v.type = hash_check.type;
  IF type NOT LIKE '%[]' THEN
    conditions := conditions || format('SELECT id FROM keyed WHERE k = ANY (ARRAY(SELECT k FROM asked LIMIT 7) || NULL::%s)', type)
      || format('SELECT id FROM keyed WHERE k = ANY (ARRAY(SELECT k FROM asked, generate_series(1, 9)) || NULL::%s)', type);
  END IF;
  -- Of rows it is a question about their fields.
  IF type <> 'hash_pair' THEN
    conditions := conditions || 'SELECT id FROM keyed WHERE k IS NULL'::text;
  END IF;
  conditions := conditions || 'SELECT keyed.id FROM asked JOIN keyed USING (k)'::text;
  FOREACH query IN ARRAY conditions LOOP
    query := format('SELECT count(*) || '' '' || coalesce(sum(hashint4(id)), 0) FROM (%s) AS q', query);
    PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
    EXECUTE query INTO want;
    FOREACH mode IN ARRAY ARRAY['Index Scan', 'Bitmap Index Scan'] LOOP
      PERFORM set_config('enable_seqscan', 'off', true),
              set_config('enable_indexscan', CASE mode WHEN 'Index Scan' THEN 'on' ELSE 'off' END, true),
              set_config('enable_bitmapscan', CASE mode WHEN 'Bitmap Index Scan' THEN 'on' ELSE 'off' END, true),
              set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('enable_material', 'off', true);
      EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
      EXECUTE query INTO got;
      IF plan NOT LIKE '%"Node Type": "' || mode || '"%' THEN
        problems := problems || format('no %s: %s; ', mode, query);
      ELSIF got <> want THEN
        problems := problems || format('%s for %s: %s; ', got, want, query);
      END IF;
      questions := questions + 1;
    END LOOP;
  END LOOP;
  SELECT count(*) INTO entries FROM keyed;
  IF EXISTS (SELECT FROM gpu.verify('keyed_k')) THEN
    problems := problems || 'not sound; ';
  END IF;
  IF type NOT LIKE '%[]' THEN
    SELECT count(*) INTO got FROM gpu.lookup('keyed_k', ARRAY(SELECT k FROM asked)) AS l JOIN keyed AS t ON t.ctid = l.tid;
    SELECT count(*) INTO want FROM asked JOIN keyed USING (k);
    IF got <> want THEN
      problems := problems || format('gpu.lookup: %s for %s; ', got, want);
    END IF;
    PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'off', true);
    query := 'SELECT count(*) FROM keyed WHERE k = ANY (ARRAY(SELECT k FROM asked, generate_series(1, 9)))';
    EXECUTE 'EXPLAIN ' || query INTO plan;
    EXECUTE query INTO got;
    SELECT count(*) INTO want FROM keyed WHERE k IN (SELECT k FROM asked);
    IF got <> want OR plan NOT LIKE 'Custom Scan (GpuCount)%' THEN
      problems := problems || format('counted %s for %s with %s', got, want, plan);
    END IF;
  END IF;
  DROP TABLE keyed, asked;
END
$$;
SELECT v.type, c.* FROM (SELECT type FROM hash_values GROUP BY type) AS v, hash_check(v.type) AS c ORDER BY v.type COLLATE "C";
RESET client_min_messages;

-- No order, no values to return; counts look at the rows.
CREATE TABLE hash_test (k text, n int4, m name, c char(10), id int GENERATED ALWAYS AS IDENTITY);
INSERT INTO hash_test (k, n, m, c) SELECT 'key ' || i % 500, i % 50, 'name ' || i % 20, 'c' || i % 100 FROM generate_series(1, 5000) AS i;
CREATE INDEX hash_k ON hash_test USING gpu_kary (k gpu.hash_ops);
VACUUM ANALYZE hash_test;
SELECT property, pg_index_column_has_property('hash_k', 1, property) AS has
FROM unnest(ARRAY['asc', 'desc', 'nulls_first', 'nulls_last', 'orderable', 'distance_orderable', 'returnable', 'search_array', 'search_nulls'])
  WITH ORDINALITY AS p(property, i) ORDER BY i;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT k FROM hash_test WHERE k = 'key 7' ORDER BY k;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM hash_test WHERE k = 'key 7';
SELECT count(*) FROM hash_test WHERE k = 'key 7';
RESET enable_bitmapscan;
SELECT * FROM pg_temp.plan_of($$SELECT count(*) FROM hash_test WHERE k > 'key 7'$$);
SELECT * FROM pg_temp.plan_of($$SELECT * FROM hash_test ORDER BY k$$);
-- Rows alone can be counted.
EXPLAIN (COSTS OFF) SELECT count(*) FROM hash_test;
SELECT count(*) FROM hash_test;
SET pg_gpu.enable_count_scan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM hash_test;
SELECT count(*) FROM hash_test;
RESET pg_gpu.enable_count_scan;
SELECT gpu.count('hash_k', NULL::text[], NULL);
SELECT gpu.count('hash_k', ARRAY['a'], NULL);
-- The column once more, as itself: what was found by the hash is still looked at again.
CREATE INDEX hash_twice ON hash_test USING gpu_kary (n gpu.hash_ops, n);
EXPLAIN (COSTS OFF) SELECT count(*) FROM hash_test WHERE n = 7;
SELECT count(*) FROM hash_test WHERE n = 7;
DROP INDEX hash_twice;

-- Operators that ignore what the hash doesn't: blanks at the end. The whole index is found, and looked at again.
EXPLAIN (COSTS OFF) SELECT count(*) FROM hash_test WHERE k::bpchar = 'key 7   ';
SELECT count(*) FROM hash_test WHERE k::bpchar = 'key 7   ';
SELECT count(*) FROM hash_test WHERE k::bpchar = ANY ('{key 7,"key 8  "}');
SELECT count(*) FROM hash_test WHERE k::bpchar = ANY (ARRAY(SELECT ('key ' || i || '  ')::bpchar FROM generate_series(1, 20) AS i));
SELECT count(*) FROM hash_test WHERE k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(1, 20) AS i)) AND k::bpchar = ANY (ARRAY(SELECT ('key ' || i || '  ')::bpchar FROM generate_series(12, 30) AS i));
RESET enable_seqscan;
EXPLAIN (COSTS OFF) SELECT count(*) FROM hash_test WHERE k::bpchar = 'key 7   ';
SET enable_seqscan = off;
-- Between types whose hashes agree.
CREATE INDEX hash_m ON hash_test USING gpu_kary (m gpu.hash_ops);
CREATE INDEX hash_n ON hash_test USING gpu_kary (n gpu.hash_ops);
EXPLAIN (COSTS OFF) SELECT count(*) FROM hash_test WHERE m = 'name 3'::text;
SELECT count(*) FROM hash_test WHERE m = 'name 3'::text;
SELECT count(*) FROM hash_test WHERE m = ANY (ARRAY['name 3', 'name 4']::text[]) AND m = 'name 4'::name;
EXPLAIN (COSTS OFF) SELECT count(*) FROM hash_test WHERE n = 7::int8;
SELECT count(*) FROM hash_test WHERE n = 7::int8 AND n = ANY ('{7,8}'::int2[]);
SELECT count(*) FROM gpu.lookup('hash_m', ARRAY['name 3', NULL, 'name 4', 'name 3']::text[]);
SELECT count(*) FROM gpu.lookup('hash_n', ARRAY[3, 4, 1000000000000]::int8[]);
SELECT count(*) FROM gpu.lookup('hash_n', ARRAY[3.0]);
SELECT count(*) FROM gpu.lookup('hash_k', ARRAY['name 3']::bytea[]);

-- Scans by long arrays to and fro, again with other arrays, and from a mark; rows that are gone, or not there yet.
SET enable_bitmapscan = off;
BEGIN;
DECLARE hash_cursor SCROLL CURSOR FOR SELECT id FROM hash_test WHERE k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(490, 510) AS i)) AND id < 1000;
FETCH 3 hash_cursor;
FETCH BACKWARD 2 hash_cursor;
FETCH LAST hash_cursor;
FETCH 1 hash_cursor;
FETCH BACKWARD 2 hash_cursor;
FETCH FIRST hash_cursor;
FETCH PRIOR hash_cursor;
FETCH NEXT hash_cursor;
SELECT count(*) FROM (SELECT id FROM hash_test WHERE k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(490, 510) AS i))) AS q;
DELETE FROM hash_test WHERE k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(480, 494) AS i));
SAVEPOINT hash_changes;
INSERT INTO hash_test (k) SELECT 'key ' || i FROM generate_series(495, 504) AS i;
UPDATE hash_test SET n = -n WHERE k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(495, 504) AS i));
SELECT count(*) FROM (SELECT id FROM hash_test WHERE k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(490, 510) AS i))) AS q;
SELECT count(*) FROM hash_test WHERE k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(490, 510) AS i));
ROLLBACK TO hash_changes;
SELECT count(*) FROM (SELECT id FROM hash_test WHERE k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(490, 510) AS i))) AS q;
FETCH LAST hash_cursor;
ROLLBACK;
SELECT * FROM pg_temp.plan_of($$SELECT first, n FROM (VALUES (0), (100), (490), (600)) AS v (first),
  LATERAL (SELECT count(id) AS n FROM hash_test WHERE k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(first, first + 20) AS i))) AS q$$);
SELECT first, n FROM (VALUES (0), (100), (490), (600)) AS v (first),
  LATERAL (SELECT count(id) AS n FROM hash_test WHERE k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(first, first + 20) AS i))) AS q;
SET enable_material = off;
SELECT * FROM pg_temp.plan_of($$SELECT count(b.id) FROM (SELECT id FROM hash_test WHERE k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(1, 9) AS i))) AS a FULL JOIN (SELECT id FROM hash_test WHERE k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(1, 20) AS i))) AS b ON true$$);
SELECT count(b.id) FROM (SELECT id FROM hash_test WHERE k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(1, 9) AS i))) AS a FULL JOIN (SELECT id FROM hash_test WHERE k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(1, 20) AS i))) AS b ON true;
RESET enable_material;
RESET enable_bitmapscan;

-- Prepared statements, expressions, partial indexes.
PREPARE hash_by_key(text) AS SELECT count(*) FROM hash_test WHERE k = $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE hash_by_key('key 1');
EXECUTE hash_by_key('key 1');
EXECUTE hash_by_key('key');
EXECUTE hash_by_key(NULL);
RESET plan_cache_mode;
CREATE INDEX hash_expression ON hash_test USING gpu_kary (upper(k) gpu.hash_ops) WHERE n < 10;
EXPLAIN (COSTS OFF) SELECT count(*) FROM hash_test WHERE upper(k) = 'KEY 7' AND n < 10;
SELECT count(*) FROM hash_test WHERE upper(k) = 'KEY 7' AND n < 10;
SELECT count(*) FROM hash_test WHERE upper(k) = ANY (ARRAY(SELECT 'KEY ' || i FROM generate_series(1, 20) AS i)) AND n < 10;
SELECT count(*) FROM (SELECT id FROM hash_test WHERE upper(k) = ANY (ARRAY(SELECT 'KEY ' || i FROM generate_series(1, 20) AS i)) AND n < 10) AS q;
SELECT count(*) FROM gpu.lookup('hash_expression', ARRAY['KEY 7', 'KEY 77', 'key 7']);

-- Beside other columns.
CREATE INDEX hash_several ON hash_test USING gpu_kary (n, k gpu.hash_ops);
CREATE INDEX hash_two ON hash_test USING gpu_kary (k gpu.hash_ops, m gpu.hash_ops DESC);
ANALYZE hash_test;
EXPLAIN (COSTS OFF) SELECT id FROM hash_test WHERE n = 7 AND k = 'key 7';
SELECT count(*) FROM (SELECT id FROM hash_test WHERE n = 7 AND k = 'key 7') AS q;
EXPLAIN (COSTS OFF) SELECT id FROM hash_test WHERE k = 'key 7' AND m = 'name 7';
SELECT count(*) FROM (SELECT id FROM hash_test WHERE k = 'key 7' AND m = 'name 7') AS q;
SELECT count(*) FROM hash_test WHERE k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(1, 20) AS i)) AND m = ANY (ARRAY(SELECT ('name ' || i)::name FROM generate_series(5, 30) AS i));
SELECT count(*) FROM hash_test WHERE n = ANY ('{5,6,7}') AND k = ANY (ARRAY(SELECT 'key ' || i FROM generate_series(1, 20) AS i));
DROP INDEX hash_n;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT n FROM hash_test WHERE n BETWEEN 3 AND 4 ORDER BY n;
SELECT n, count(*) FROM (SELECT n FROM hash_test WHERE n BETWEEN 3 AND 4) AS q GROUP BY n ORDER BY n;
RESET enable_bitmapscan;
SELECT count(*) FROM gpu.lookup('hash_several', ARRAY[row(7, 'key 7'::text), row(7, 'key 8'::text), row(8, 'key 8'::text)]);
SELECT gpu.count('hash_several', row(7), row(8));
SELECT gpu.count('hash_several', row(7, 'key 7'::text), row(8, 'key 8'::text));
SELECT * FROM gpu.verify('hash_several');
RESET enable_seqscan;

-- Collisions: a type made after the extension, with three hashes for all of its values.
SET client_min_messages = warning;
CREATE TYPE collider;
CREATE FUNCTION collider_in(cstring) RETURNS collider LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION collider_out(collider) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE collider (INPUT = collider_in, OUTPUT = collider_out, LIKE = int4);
RESET client_min_messages;
CREATE FUNCTION collider_equal(collider, collider) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int4eq';
CREATE OPERATOR = (LEFTARG = collider, RIGHTARG = collider, FUNCTION = collider_equal, COMMUTATOR = =, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES);
CREATE TABLE collider_test (k collider, id int);
CREATE FUNCTION collider_hash(collider) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1::text::int4 % 3';
CREATE FUNCTION collider_hash(collider, int8) RETURNS int8 LANGUAGE sql IMMUTABLE STRICT AS 'SELECT ($1::text::int4 % 3)::int8';
CREATE OPERATOR CLASS collider_ops DEFAULT FOR TYPE collider USING hash AS
  OPERATOR 1 =, FUNCTION 1 collider_hash(collider), FUNCTION 2 collider_hash(collider, int8);
INSERT INTO collider_test SELECT (i % 40)::text::collider, i FROM generate_series(1, 2000) AS i;
CREATE INDEX collider_k ON collider_test USING gpu_kary (k gpu.hash_ops);
INSERT INTO collider_test SELECT (i % 50)::text::collider, i FROM generate_series(1, 300) AS i;
SET enable_seqscan = off;
SELECT * FROM pg_temp.plan_of($$SELECT count(*) FROM collider_test WHERE k = '7'$$);
ALTER OPERATOR FAMILY gpu.hash_ops USING gpu_kary ADD OPERATOR 3 = (collider, collider);
SELECT * FROM pg_temp.plan_of($$SELECT count(*) FROM collider_test WHERE k = '7'$$);
SELECT count(*) FROM collider_test WHERE k = '7';
SELECT count(*) FROM collider_test WHERE k = ANY ('{7,8,10,NULL,60}');
SET enable_bitmapscan = off;
SELECT * FROM pg_temp.plan_of($$SELECT count(*) FROM collider_test WHERE k = '7'$$);
SELECT count(*) FROM collider_test WHERE k = '7';
SELECT count(*) FROM collider_test WHERE k = ANY ('{7,8,10,NULL,60}');
-- Long arrays: the scan looks at the rows.
SELECT array_agg(k)::text AS keys FROM (SELECT k FROM unnest('{7,7,7,8,10,13,16,19,22,60,NULL}'::collider[]) AS k) AS u \gset
EXPLAIN (COSTS OFF) SELECT count(*) FROM collider_test WHERE k = ANY (:'keys');
SELECT count(*) FROM collider_test WHERE k = ANY (:'keys');
SELECT k, count(*) FROM collider_test WHERE k = ANY (:'keys') GROUP BY k ORDER BY k::text::int4;
SELECT count(*) FROM collider_test WHERE k = ANY (:'keys') AND k = ANY ('{1,4,7,10,13,31,34,37,40}');
SELECT count(*) FROM collider_test WHERE k = ANY (:'keys') AND k = '10';
SET enable_indexscan = off;
RESET enable_bitmapscan;
EXPLAIN (COSTS OFF) SELECT sum(id) FROM collider_test WHERE k = ANY (:'keys');
SELECT sum(id) FROM collider_test WHERE k = ANY (:'keys');
RESET enable_indexscan;
SELECT l.ordinal, count(*), min(t.k::text), max(t.k::text)
FROM gpu.lookup('collider_k', '{7,10,60,7,NULL,8}'::collider[]) AS l JOIN collider_test AS t ON t.ctid = l.tid
GROUP BY l.ordinal ORDER BY l.ordinal;
SET pg_gpu.enable_lookup_join = off;
SELECT l.ordinal, count(*), min(t.k::text), max(t.k::text)
FROM gpu.lookup('collider_k', '{7,10,60,7,NULL,8}'::collider[]) AS l JOIN collider_test AS t ON t.ctid = l.tid
GROUP BY l.ordinal ORDER BY l.ordinal;
RESET pg_gpu.enable_lookup_join;
SELECT * FROM gpu.verify('collider_k');
RESET enable_seqscan;
-- A class of its own, which dumps keep; and an exclusion constraint, which must not take a collision for a conflict.
CREATE OPERATOR CLASS collider_kary FOR TYPE collider USING gpu_kary AS OPERATOR 3 = (collider, collider);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'collider_kary';
CREATE TABLE collider_unique (k collider, EXCLUDE USING gpu_kary (k collider_kary WITH =));
INSERT INTO collider_unique SELECT i::text::collider FROM generate_series(1, 20) AS i;
INSERT INTO collider_unique VALUES ('7');
INSERT INTO collider_unique VALUES ('7') ON CONFLICT DO NOTHING;
SELECT count(*) FROM collider_unique;
-- Operators that the family may not have.
ALTER OPERATOR FAMILY gpu.hash_ops USING gpu_kary ADD OPERATOR 6 < (int4, int4);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'hash_ops';
ALTER OPERATOR FAMILY gpu.hash_ops USING gpu_kary DROP OPERATOR 6 (int4, int4);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'hash_ops';

-- Types without a hash.
CREATE TABLE hash_refused (p point, x xml);
CREATE INDEX ON hash_refused USING gpu_kary (p gpu.hash_ops);
CREATE INDEX ON hash_refused USING gpu_kary (x gpu.hash_ops);
CREATE INDEX ON hash_refused USING gpu_kary ((ARRAY[p]) gpu.hash_ops);
DROP TABLE hash_refused, hash_test, hash_values, collider_test, collider_unique;
DROP OPERATOR FAMILY collider_kary USING gpu_kary;
SET client_min_messages = warning;
DROP TYPE collider CASCADE;
DROP TYPE hash_mood, hash_pair, hash_domain, hash_range;
RESET client_min_messages;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'hash_ops';
