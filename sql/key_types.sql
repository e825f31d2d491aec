-- Keys of every type: the order is btree's, ends and special values included.
SET timezone = 'UTC';
CREATE TABLE type_values (type text, value text);
INSERT INTO type_values VALUES
  ('bool', 'true'), ('bool', 'false'),
  ('"char"', 'a'), ('"char"', 'B'), ('"char"', '\200'), ('"char"', '\377'), ('"char"', ''),
  ('int2', '32767'), ('int2', '-32768'), ('int2', '0'), ('int2', '-1'),
  ('int4', '2147483647'), ('int4', '-2147483648'), ('int4', '0'),
  ('int8', '9223372036854775807'), ('int8', '-9223372036854775808'), ('int8', '0'),
  ('oid', '4294967295'), ('oid', '0'), ('oid', '2147483648'),
  ('date', 'infinity'), ('date', '-infinity'), ('date', '4713-01-01 BC'), ('date', '5874897-12-31'), ('date', '2000-01-01'),
  ('time', '24:00:00'), ('time', '00:00:00'), ('time', '23:59:59.999999'),
  ('timestamp', 'infinity'), ('timestamp', '-infinity'), ('timestamp', '4713-01-01 00:00:00 BC'), ('timestamp', '2000-01-01 00:00:00'),
  ('timestamptz', 'infinity'), ('timestamptz', '-infinity'), ('timestamptz', '294276-12-31 23:59:59.999999+00'), ('timestamptz', '2000-01-01 00:00:00+00'),
  ('float4', 'NaN'), ('float4', 'Infinity'), ('float4', '-Infinity'), ('float4', '-1e-45'), ('float4', '0'), ('float4', '3.4028235e38'),
  ('float8', 'NaN'), ('float8', 'Infinity'), ('float8', '-Infinity'), ('float8', '-5e-324'), ('float8', '0'), ('float8', '1.5'),
  ('uuid', 'ffffffff-ffff-ffff-ffff-ffffffffffff'), ('uuid', '00000000-0000-0000-0000-000000000000'),
  ('uuid', '7fffffff-ffff-ffff-8000-000000000000'), ('uuid', '7fffffff-ffff-ffff-7fff-ffffffffffff'),
  ('macaddr', 'ff:ff:ff:ff:ff:ff'), ('macaddr', '00:00:00:00:00:00'), ('macaddr', '7f:ff:ff:ff:ff:ff'), ('macaddr', '80:00:00:00:00:00'),
  ('macaddr8', 'ff:ff:ff:ff:ff:ff:ff:ff'), ('macaddr8', '00:00:00:00:00:00:00:00'), ('macaddr8', '7f:ff:ff:ff:ff:ff:ff:ff');

-- Both ways, through an index built over half of the rows and inserts of the rest.
CREATE FUNCTION type_orders(type text, OUT up text, OUT down text, OUT plan text, OUT same bool, OUT counts bool) LANGUAGE plpgsql AS $$
DECLARE
  sorted text;
BEGIN
  EXECUTE format('CREATE TEMP TABLE typed (k %s)', type);
  EXECUTE format('INSERT INTO typed SELECT value::%s FROM type_values AS v WHERE v.type = %L', type, type);
  CREATE INDEX typed_k ON typed USING gpu_kary (k);
  INSERT INTO typed SELECT k FROM typed;
  INSERT INTO typed VALUES (NULL);
  SET LOCAL enable_seqscan = off;
  SET LOCAL enable_bitmapscan = off;
  SET LOCAL enable_sort = off;
  EXECUTE 'EXPLAIN (COSTS OFF) SELECT k FROM typed ORDER BY k' INTO plan;
  EXECUTE 'SELECT string_agg(coalesce(k::text, ''NULL''), '' '') FROM (SELECT k FROM typed ORDER BY k) AS ordered' INTO up;
  EXECUTE 'SELECT string_agg(coalesce(k::text, ''NULL''), '' '') FROM (SELECT k FROM typed ORDER BY k DESC) AS ordered' INTO down;
  SET LOCAL enable_seqscan = on;
  SET LOCAL enable_indexscan = off;
  SET LOCAL enable_sort = on;
  EXECUTE 'SELECT string_agg(coalesce(k::text, ''NULL''), '' '') FROM (SELECT k FROM typed ORDER BY k) AS ordered' INTO sorted;
  same := up = sorted;
  -- Each value as a bound of all it is not less than.
  EXECUTE 'SELECT bool_and(gpu.count(''typed_k'', NULL, ARRAY[t.k]) = (SELECT count(*) FROM typed AS u WHERE u.k <= t.k)) FROM typed AS t WHERE k IS NOT NULL' INTO counts;
  SET LOCAL enable_indexscan = on;
  SET LOCAL enable_bitmapscan = on;
  DROP TABLE typed;
END
$$;
\x on
SELECT v.type, o.* FROM (SELECT DISTINCT type FROM type_values) AS v, type_orders(v.type) AS o ORDER BY v.type COLLATE "C";
\x off

-- -0 is 0, all NaNs are one, and neither can be told from the key: no index-only scans.
CREATE TABLE type_float (k float8);
INSERT INTO type_float VALUES ('-0'), (0), ('NaN'), ('-NaN'), (1);
CREATE INDEX type_float_k ON type_float USING gpu_kary (k);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT k FROM type_float WHERE k = 0;
SELECT k FROM type_float WHERE k = 0 ORDER BY k::text;
SELECT k FROM type_float WHERE k > 1;
SELECT pg_index_column_has_property('type_float_k', 1, 'returnable') AS returnable;

-- A boolean column is asked by comparisons; equality the planner rewrites before indexes of other access methods
-- than its own are asked.
CREATE TABLE type_bool (k bool);
INSERT INTO type_bool SELECT i % 10 = 0 FROM generate_series(1, 1000) AS i;
CREATE INDEX type_bool_k ON type_bool USING gpu_kary (k);
EXPLAIN (COSTS OFF) SELECT count(k) FROM type_bool WHERE k > false;
SELECT count(k) FROM type_bool WHERE k > false;

-- Constants of related types, between and beyond the column's values.
CREATE TABLE type_cross (i int2, d date, t timestamp, z timestamptz, f float4);
INSERT INTO type_cross SELECT i, date '2021-03-10' + i, timestamp '2021-03-10' + i * interval '12 hours',
                              timestamptz '2021-03-10 00:00:00+00' + i * interval '12 hours', i / 10.0::float4
FROM generate_series(-20, 20) AS i;
CREATE INDEX ON type_cross USING gpu_kary (i);
CREATE INDEX ON type_cross USING gpu_kary (d);
CREATE INDEX ON type_cross USING gpu_kary (t);
CREATE INDEX ON type_cross USING gpu_kary (z);
CREATE INDEX ON type_cross USING gpu_kary (f);
CREATE FUNCTION type_same(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  through_index bigint;
  through_heap bigint;
  plan json;
BEGIN
  PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
  EXECUTE 'EXPLAIN (FORMAT JSON, COSTS OFF) SELECT i FROM type_cross WHERE ' || condition INTO plan;
  EXECUTE 'SELECT count(i) FROM type_cross WHERE ' || condition INTO through_index;
  PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), set_config('enable_indexonlyscan', 'off', true);
  EXECUTE 'SELECT count(i) FROM type_cross WHERE ' || condition INTO through_heap;
  PERFORM set_config('enable_indexonlyscan', 'on', true);
  RETURN format('%s %s %s', plan #>> '{0,Plan,Node Type}', through_index, CASE WHEN through_index = through_heap THEN 'as the table' ELSE 'not ' || through_heap END);
END
$$;
SELECT condition, type_same(condition)
FROM unnest(ARRAY['i < 100000::int4', 'i = 5::int8', 'i > -100000000000::int8', 'i = ANY (ARRAY[3, 70000, -5]::int8[])',
  $$d < '2021-03-12 00:00:01'::timestamp$$, $$d = '2021-03-12 00:00:01'::timestamp$$, $$d = '2021-03-12'::timestamp$$,
  $$d < '2021-03-12 00:00:00+00'::timestamptz$$, $$d < 'infinity'::timestamptz$$, $$d >= '-infinity'::timestamp$$,
  $$t >= '2021-03-12'::date$$, $$t < '294277-01-01'::date$$, $$t > '2021-03-12 12:00:00+00'::timestamptz$$,
  $$t = ANY (ARRAY['2021-03-12 12:00:00+00', '2021-03-13 00:00:00+00']::timestamptz[])$$,
  $$z = '2021-03-12'::date$$, $$z > '2021-03-12 12:00:00'::timestamp$$, 'f = 0.1::float4', 'f = 0.1::float8', 'f > 0.1::float8', 'f < 1e300::float8', 'f < ''NaN''::float8'])
  WITH ORDINALITY AS c(condition, n) ORDER BY n;
-- The same in a time zone in which a day has no 2 o'clock.
SET timezone = 'America/New_York';
SELECT condition, type_same(condition)
FROM unnest(ARRAY[$$t >= '2021-03-14 07:00:00+00'::timestamptz$$, $$t < '2021-03-14 07:00:00+00'::timestamptz$$, $$d = '2021-03-14 05:00:00+00'::timestamptz$$,
  $$d > '2021-03-14 05:00:00+00'::timestamptz$$, $$z >= '2021-03-14 02:30:00'::timestamp$$, $$z < '2021-03-15'::date$$])
  WITH ORDINALITY AS c(condition, n) ORDER BY n;

-- Times that no instant stands for are neither infinite nor equal to one another.
INSERT INTO type_cross VALUES (100, 'infinity', 'infinity'), (100, '-infinity', '-infinity'),
  (100, '5874897-12-31', '294276-12-31 23:59:59.999999'), (100, '4714-11-24 BC', '4714-11-24 00:00:00 BC');
CREATE VIEW type_far AS SELECT condition, type_same(condition)
FROM unnest(ARRAY['t = ANY (''{infinity, 2021-03-12 12:00:00+00}''::timestamptz[])', 't = ANY (''{-infinity, 2021-03-12 12:00:00+00}''::timestamptz[])',
  't >= ''infinity''::timestamptz', 't < ''infinity''::timestamptz', 't > ''-infinity''::timestamptz', 't <= ''-infinity''::timestamptz',
  'd = ANY (''{infinity, 2021-03-12 05:00:00+00}''::timestamptz[])', 'd = ANY (''{-infinity, 2021-03-12 05:00:00+00}''::timestamptz[])',
  'd >= ''infinity''::timestamptz', 'd < ''infinity''::timestamptz', 'd > ''-infinity''::timestamptz', 'd <= ''-infinity''::timestamptz'])
  WITH ORDINALITY AS c(condition, n) ORDER BY n;
SELECT * FROM type_far;
SET timezone = 'Asia/Kathmandu';
SELECT * FROM type_far;
DROP VIEW type_far;

-- Domains, and types that are another's bits.
CREATE DOMAIN type_domain AS int2 CHECK (VALUE > 0);
CREATE TABLE type_alias (d type_domain, r regclass);
INSERT INTO type_alias SELECT i, 'pg_class'::regclass FROM generate_series(1, 10) AS i;
CREATE INDEX type_alias_d ON type_alias USING gpu_kary (d, r);
SELECT d, r FROM type_alias WHERE d = 3 AND r = 'pg_class'::regclass;
SELECT count(*) FROM gpu.lookup('type_alias_d', ARRAY[row(3::type_domain, 'pg_class'::regclass)]);
DROP FUNCTION type_orders, type_same;
DROP TABLE type_values, type_float, type_bool, type_cross, type_alias;
DROP DOMAIN type_domain;
