-- Indexes without a named operator class, as ORMs write them back: text by its hash, numerics in order, both by the default.
\getenv source PG_ABS_SRCDIR
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :plan_of
\set ECHO all
SET jit = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE place (id bigint, title varchar(255), code char(8), lat numeric(9,6), lon numeric(9,6), price numeric, data jsonb, tags text[]);
INSERT INTO place SELECT g, 'a title that is long, number ' || g, g % 50, 45 + g / 1e4, 5 + g / 1e4, g / 4.0, jsonb_build_object('n', g % 40), ARRAY[g % 30]::text[]
    FROM generate_series(1, 2000) AS g;
CREATE INDEX place_title ON place USING gpu_kary (title);
CREATE INDEX place_code ON place USING gpu_kary (id, code);
CREATE INDEX place_price ON place USING gpu_kary (price);
CREATE INDEX place_data ON place USING gpu_kary (data);
CREATE INDEX place_tags ON place USING gpu_kary (tags);
CREATE INDEX place_lat ON place USING gpu_grid (lat, lon);
ANALYZE place;
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'place' ORDER BY indexname;
SELECT count(*) FROM pg_class AS c, LATERAL (SELECT gpu.verify(c.oid)) AS v WHERE relname LIKE 'place_%';
SET enable_seqscan = off;
SELECT plan FROM pg_temp.plan_of($$SELECT id FROM place WHERE title = 'a title that is long, number 77'$$);
SELECT id FROM place WHERE title = 'a title that is long, number 77';
SELECT count(*) FROM place WHERE title = ANY (ARRAY['a title that is long, number 77', 'a title that is long, number 7', 'a title', NULL]);
SELECT plan FROM pg_temp.plan_of($$SELECT id FROM place WHERE id = 150 AND code = '0'$$);
SELECT id FROM place WHERE id = 150 AND code = '0';
SELECT count(*) FROM place WHERE data = '{"n": 7.0}';
SELECT count(*) FROM place WHERE tags = '{7}';
SELECT plan FROM pg_temp.plan_of($$SELECT id FROM place WHERE price > 10.25 AND price <= 11.5$$);
SELECT id, price FROM place WHERE price > 10.25 AND price <= 11.5 ORDER BY id;
SELECT count(*) FROM place WHERE price BETWEEN 10 AND 20;
SELECT plan FROM pg_temp.plan_of($$SELECT id FROM place WHERE lat BETWEEN 45.01 AND 45.02 AND lon BETWEEN 5.0105 AND 5.012$$);
SELECT count(*), min(id), max(id) FROM place WHERE lat BETWEEN 45.01 AND 45.02 AND lon BETWEEN 5.0105 AND 5.012;
-- Neither has an order, and nothing is returned or counted that the codes don't tell.
SELECT plan FROM pg_temp.plan_of($$SELECT price FROM place WHERE price < 3 ORDER BY price$$);
SELECT plan FROM pg_temp.plan_of($$SELECT count(*) FROM place WHERE lat < 45.02$$);
SELECT count(*) FROM place WHERE lat < 45.02;
SELECT count(*) FROM place WHERE lat IS NULL;
SELECT gpu.count('place_price', ARRAY[1.0], ARRAY[2.0]);
SELECT gpu.count('place_lat', ARRAY[1.0], ARRAY[2.0]);
SELECT l.ordinal, p.id FROM gpu.lookup('place_price', ARRAY[2.50, 3.1, NULL, 'NaN', 7]) AS l JOIN place AS p ON p.ctid = l.tid ORDER BY 1;
SELECT pg_index_column_has_property('place_price', 1, 'orderable'), pg_index_column_has_property('place_price', 1, 'returnable'),
       pg_index_column_has_property('place_lat', 1, 'returnable');

-- Numerics that float8 can't tell apart, the ends of the type, one number in several scales, and numbers that are stored in a long form.
CREATE TABLE number_test (k numeric, id int GENERATED ALWAYS AS IDENTITY);
INSERT INTO number_test (k) SELECT v FROM generate_series(1, 3), unnest(ARRAY[0, 1, 1.0, 1.000, -1, 0.1, 0.10000000000000000001, 0.09999999999999999999, 1e-400, -1e-400, 1e400, -1e400,
    1e401, 9007199254740992, 9007199254740993, 9007199254740992.5, 123456789012345678901234567890, 123456789012345678901234567891, 'NaN', 'Infinity', '-Infinity', NULL]::numeric[]) AS v;
INSERT INTO number_test (k) SELECT (repeat('7', 5000 + g % 3) || '.5')::numeric FROM generate_series(1, 6) AS g;
CREATE INDEX number_kary ON number_test USING gpu_kary (k);
CREATE INDEX number_down ON number_test USING gpu_kary (k DESC, id);
CREATE INDEX number_grid ON number_test USING gpu_grid (k, id);
INSERT INTO number_test (k) SELECT k FROM number_test WHERE id % 2 = 0;
ANALYZE number_test;
CREATE FUNCTION number_check(name regclass, OUT questions int, OUT problems text) LANGUAGE plpgsql AS $$
DECLARE
  operator text;
  number numeric;
  condition text;
  wanted text;
  found text;
  plan text;
  scan text;
BEGIN
  questions := 0;
  problems := '';
  UPDATE pg_index SET indisvalid = indexrelid = name WHERE indrelid = 'number_test'::regclass;
  FOR number, operator IN SELECT v.k, o FROM (SELECT DISTINCT k FROM number_test) AS v, unnest(ARRAY['<', '<=', '=', '>=', '>', 'IS NULL OR k <>', '= ANY']) AS o LOOP
    CONTINUE WHEN number IS NULL;
    condition := CASE operator WHEN 'IS NULL OR k <>' THEN 'k IS NULL' WHEN '= ANY' THEN format('k = ANY (ARRAY[%L, 0.1, %L::numeric, NULL])', number, number + 1)
                               ELSE format('k %s %L', operator, number) END;
    EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM (SELECT * FROM number_test OFFSET 0) AS t WHERE ' || condition INTO wanted;
    FOREACH scan IN ARRAY ARRAY['enable_indexscan', 'enable_bitmapscan'] LOOP
      PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config(scan, 'on', true);
      EXECUTE 'EXPLAIN SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM number_test WHERE ' || condition INTO plan;
      EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM number_test WHERE ' || condition INTO found;
      questions := questions + 1;
      IF found <> wanted THEN
        problems := problems || format('%s for %s with %s instead of %s; ', found, left(condition, 60), scan, wanted);
      END IF;
    END LOOP;
  END LOOP;
  UPDATE pg_index SET indisvalid = true WHERE indrelid = 'number_test'::regclass;
END
$$;
SELECT n, number_check(n::regclass) FROM unnest(ARRAY['number_kary', 'number_down', 'number_grid']) AS n;
SELECT count(*) FROM unnest(ARRAY['number_kary', 'number_down', 'number_grid']) AS n, LATERAL gpu.verify(n::regclass) AS v;

-- What equals is one hash in collations that call different strings equal; what is no type of a hash says so.
CREATE TABLE refused (p point, x xml, a text, b text, c text);
CREATE INDEX ON refused USING gpu_kary (p);
CREATE INDEX ON refused USING gpu_kary (a, b, c);
CREATE INDEX ON refused USING gpu_grid (a);
CREATE INDEX ON refused USING gpu_kary (a, b);
CREATE TABLE unique_code (code text, EXCLUDE USING gpu_kary (code WITH =));
INSERT INTO unique_code VALUES ('a'), ('b');
INSERT INTO unique_code VALUES ('b');
DROP TABLE place, number_test, refused, unique_code;
DROP FUNCTION number_check;
