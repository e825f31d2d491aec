-- Text by its first 16 bytes: every operator and constant through the index and through the table.
\getenv source PG_ABS_SRCDIR
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :plan_of
\set ECHO all
CREATE TABLE prefix_test (k text COLLATE "C", c char(24) COLLATE "C", d text, id int GENERATED ALWAYS AS IDENTITY);
CREATE TABLE prefix_strings AS SELECT s FROM unnest(ARRAY[
  '', 'a', 'ab', 'abc', 'abc ', 'abc  d', 'abd', 'B', ' ', '  x', '%', '_', '\', 'a%b', 'a_b', 'a\b', 'é', 'éa', '日本語テキスト', '日本語テキスト2',
  'exactly 15 byte', 'exactly 16 bytes', 'exactly 16 bytes!', 'exactly 16 bytes ', 'exactly 16 byteé', 'exactly 16 bytez',
  'exactly 15 byteéé', 'exactly 15 byteéa', 'a               b', 'a               b ', 'a               ', 'a                 z',
  'https://example.com/1', 'https://example.com/2', 'https://example.com/10', 'https://example.org/', E'\x01', E'\x7f']) AS s;
INSERT INTO prefix_strings VALUES (repeat('long ', 5000)), (repeat('long ', 5000) || 'er'), (repeat('x', 3000)), (NULL);
INSERT INTO prefix_test (k, c, d) SELECT s, left(s, 24), s FROM prefix_strings, generate_series(1, 4);
CREATE INDEX prefix_k ON prefix_test USING gpu_kary (k gpu.text_prefix_ops);
CREATE INDEX prefix_c ON prefix_test USING gpu_kary (c gpu.bpchar_prefix_ops DESC);
CREATE INDEX prefix_d ON prefix_test USING gpu_kary (d gpu.text_pattern_prefix_ops);
INSERT INTO prefix_test (k, c, d) SELECT s, left(s, 24), s FROM prefix_strings, generate_series(1, 2);
DELETE FROM prefix_test WHERE id % 5 = 0;
VACUUM ANALYZE prefix_test;
SELECT * FROM gpu.verify('prefix_k');
SELECT * FROM gpu.verify('prefix_c');

-- The number of questions, and those answered otherwise than by the table, or not by the index.
CREATE FUNCTION prefix_check(condition_format text, index_name text, constants text[], OUT asked int, OUT problems text) LANGUAGE plpgsql AS $$
DECLARE
  constant text;
  query text;
  mode text;
  plan text;
  want text;
  got text;
BEGIN
  asked := 0;
  FOREACH constant IN ARRAY constants LOOP
    query := format('SELECT count(*) || '' '' || coalesce(sum(hashint4(id)), 0) FROM prefix_test WHERE ' || condition_format, constant);
    PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
    EXECUTE query INTO want;
    FOREACH mode IN ARRAY ARRAY['Index Scan', 'Bitmap Index Scan'] LOOP
      PERFORM set_config('enable_seqscan', 'off', true),
              set_config('enable_indexscan', CASE mode WHEN 'Index Scan' THEN 'on' ELSE 'off' END, true),
              set_config('enable_bitmapscan', CASE mode WHEN 'Bitmap Index Scan' THEN 'on' ELSE 'off' END, true);
      EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
      EXECUTE query INTO got;
      IF plan NOT LIKE '%"Node Type": "' || mode || '"%"Index Name": "' || index_name || '"%' THEN
        problems := concat_ws('; ', problems, format('no %s: %s', mode, query));
      ELSIF got <> want THEN
        problems := concat_ws('; ', problems, format('%s for %s: %s', got, want, query));
      END IF;
      asked := asked + 1;
    END LOOP;
  END LOOP;
END
$$;
SELECT op, c.* FROM unnest(ARRAY['=', '<', '<=', '>=', '>', '~<~', '~<=~', '~>=~', '~>~', '^@']) AS op,
  prefix_check('k ' || op || ' %L', 'prefix_k', (SELECT array_agg(left(s, 40)) FROM prefix_strings WHERE s IS NOT NULL)) AS c;
SELECT op, c.* FROM unnest(ARRAY['=', '<', '<=', '>=', '>', '~<~', '~<=~', '~>=~', '~>~']) AS op,
  prefix_check('c ' || op || ' %L', 'prefix_c', (SELECT array_agg(left(s, 40)) FROM prefix_strings WHERE s IS NOT NULL)) AS c;
SELECT op, c.* FROM unnest(ARRAY['=', '~<~', '~<=~', '~>=~', '~>~', '^@']) AS op,
  prefix_check('d ' || op || ' %L', 'prefix_d', (SELECT array_agg(left(s, 40)) FROM prefix_strings WHERE s IS NOT NULL)) AS c;
-- LIKE: wildcards anywhere, quoted ones, none, patterns longer than the key.
CREATE TABLE prefix_patterns AS
SELECT left(s, 40) || tail AS p FROM prefix_strings, unnest(ARRAY['', '%', '_', '_%', '%z', '%\%', '\_%']) AS tail WHERE s IS NOT NULL
UNION SELECT replace(replace(replace(left(s, 40), '\', '\\'), '%', '\%'), '_', '\_') || '%' FROM prefix_strings WHERE s IS NOT NULL
UNION SELECT '\' || left(s, 1) || '%' FROM prefix_strings WHERE s IS NOT NULL AND s <> '';
DELETE FROM prefix_patterns WHERE p LIKE '%\\' AND p NOT LIKE '%\\\\';
SELECT name, c.* FROM (VALUES ('k', 'prefix_k'), ('c', 'prefix_c'), ('d', 'prefix_d')) AS v (name, index),
  prefix_check(name || ' LIKE %L', index, (SELECT array_agg(p) FROM prefix_patterns)) AS c;
-- Arrays, NULL, several conditions.
SELECT name, c.* FROM (VALUES ('k', 'prefix_k'), ('c', 'prefix_c'), ('d', 'prefix_d')) AS v (name, index),
  prefix_check(name || ' %s', index, ARRAY[
    'IS NULL', 'IS NOT NULL', '= ANY (''{a,ab,abc,abd,B,NULL,exactly 16 bytes!,éa,exactly 16 bytes,exactly 16 bytes?,nothing}'')', '= ANY (''{abc,NULL,exactly 16 bytes!,éa,exactly 16 bytes,nothing}'')', '= ANY (''{}'')', '= ANY (NULL)',
    'LIKE ANY (''{ab%,exact%!,NULL}'')', '~<~ ANY (''{abc,B}'')', '~>~ ''abc'' AND ' || name || ' ~<=~ ''exactly 16 bytes''',
    'LIKE ''ab%'' AND ' || name || ' LIKE ''%d''', '~>~ ''b'' AND ' || name || ' ~<~ ''a''']) AS c;
-- Patterns that aren't constants, one of them of a join.
SET enable_seqscan = off;
PREPARE prefix_like(text) AS SELECT count(*) FROM prefix_test WHERE k LIKE $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE prefix_like('ab%');
EXECUTE prefix_like('ab%');
EXECUTE prefix_like('%b');
EXECUTE prefix_like(NULL);
EXECUTE prefix_like('abc\');
RESET plan_cache_mode;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM (VALUES ('ab'), ('exactly 16')) AS v (p) JOIN prefix_test ON k LIKE p || '%';
SELECT count(*) FROM (VALUES ('ab'), ('exactly 16')) AS v (p) JOIN prefix_test ON k LIKE p || '%';
SELECT count(*) FROM (VALUES ('ab'), ('exactly 16 bytes!')) AS v (p) JOIN prefix_test ON k = p;
RESET enable_bitmapscan;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- Of no order, and of no values to return or count.
EXPLAIN (COSTS OFF) SELECT k FROM prefix_test WHERE k > 'x' ORDER BY k;
SELECT * FROM pg_temp.plan_of($$SELECT max(k) FROM prefix_test$$);
EXPLAIN (COSTS OFF) SELECT count(*) FROM prefix_test WHERE k > 'x';
SELECT gpu.count('prefix_k', ARRAY['a'], ARRAY['b']);
SELECT property, pg_index_column_has_property('prefix_c', 1, property) AS has
FROM unnest(ARRAY['desc', 'nulls_first', 'orderable', 'returnable']) WITH ORDINALITY AS p(property, i) ORDER BY i;
-- gpu.lookup looks at the rows: three of these keys begin alike.
SELECT l.ordinal, count(*), min(t.k) FROM gpu.lookup('prefix_k', ARRAY['exactly 16 bytes', 'exactly 16 bytes!', 'abc', '', NULL, 'exactly 16 bytes?']) AS l
  JOIN prefix_test AS t ON t.ctid = l.tid GROUP BY l.ordinal ORDER BY l.ordinal;
SELECT l.ordinal, count(*), min(t.c) FROM gpu.lookup('prefix_c', ARRAY['abc   ', 'exactly 16 bytes!', '']::char(30)[]) AS l
  JOIN prefix_test AS t ON t.ctid = l.tid GROUP BY l.ordinal ORDER BY l.ordinal;
-- Functions and regular expressions, where PostgreSQL makes a range of them: not with the operators for patterns.
EXPLAIN (COSTS OFF) SELECT count(*) FROM prefix_test WHERE starts_with(k, 'ab');
EXPLAIN (COSTS OFF) SELECT count(*) FROM prefix_test WHERE k ~ '^exactly 16 bytes[!?]';
SELECT count(*) FROM prefix_test WHERE starts_with(k, 'ab');
SELECT count(*) FROM prefix_test WHERE k ~ '^exactly 16 bytes[!?]';
SELECT * FROM pg_temp.plan_of($$SELECT count(*) FROM prefix_test WHERE starts_with(d, 'ab')$$);
RESET enable_seqscan;

-- Costs: how many rows begin alike decides, not how many are equal.
CREATE TABLE prefix_cost AS
SELECT CASE WHEN i % 2 = 0 THEN 'https://www.example.com/' || i ELSE 'user' || i END AS k, repeat('x', 100) AS pad FROM generate_series(1, 20000) AS i;
CREATE INDEX prefix_cost_k ON prefix_cost USING gpu_kary (k gpu.text_pattern_prefix_ops);
VACUUM ANALYZE prefix_cost;
EXPLAIN (COSTS OFF) SELECT * FROM prefix_cost WHERE k = 'user77';
EXPLAIN (COSTS OFF) SELECT * FROM prefix_cost WHERE k = 'https://www.example.com/78';
EXPLAIN (COSTS OFF) SELECT * FROM prefix_cost WHERE k LIKE 'user77%';
EXPLAIN (COSTS OFF) SELECT * FROM prefix_cost WHERE k LIKE 'https://www.example.com/78%';
EXPLAIN (COSTS OFF) SELECT * FROM prefix_cost WHERE k LIKE '%77';
EXPLAIN (COSTS OFF) SELECT * FROM prefix_cost WHERE k = ANY ('{user77,user78}');
EXPLAIN (COSTS OFF) SELECT * FROM prefix_cost WHERE k = ANY ('{https://www.example.com/77,https://www.example.com/78}');
EXPLAIN (COSTS OFF) SELECT * FROM prefix_cost WHERE k ~>=~ 'user77' AND k ~<~ 'user78';
EXPLAIN (COSTS OFF) SELECT * FROM prefix_cost WHERE k ~>=~ 'https://www.example.com/77' AND k ~<~ 'https://www.example.com/78';
EXPLAIN (COSTS OFF) SELECT * FROM prefix_cost WHERE k ^@ 'user77';

-- Refused: with another column, by other orders.
CREATE INDEX ON prefix_test USING gpu_kary (k gpu.text_prefix_ops, id);
CREATE INDEX ON prefix_test USING gpu_kary (id gpu.text_prefix_ops);
CREATE INDEX ON prefix_test USING gpu_kary (c gpu.text_prefix_ops);
CREATE OPERATOR CLASS prefix_ordered FOR TYPE text USING gpu_kary AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'prefix_ordered';
CREATE INDEX ON prefix_test USING gpu_kary (k prefix_ordered);
DROP OPERATOR FAMILY prefix_ordered USING gpu_kary;
DROP TABLE prefix_test, prefix_strings, prefix_patterns, prefix_cost;
