-- Sums and averages of floats whose columns have values of both signs, infinities and NaN, or numbers of many magnitudes. Where floats add up to one that has
-- no more digits than either, PostgreSQL's own sum has no other bits: each statement is run with the node and without it, and the answers are held against each other.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET max_parallel_workers_per_gather = 0;
SET extra_float_digits = 1;

CREATE TABLE floats (id int4, signed float8, signed4 float4, negative float8, odd float8, odd4 float4, tiny float8, wide float8, listed float8) WITH (autovacuum_enabled = off);
INSERT INTO floats
SELECT i, (i * 7919 % 100003 - 40000) / 64.0, (i * 7919 % 30011 - 15005) / 64.0, -(i * 7919 % 100003) / 32.0 - 1,
       CASE i % 1000 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' ELSE (i * 104729 % 100003 - 50000) / 16.0 END,
       CASE i % 1000 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' ELSE (i * 104729 % 30011 - 15005) / 16.0 END,
       (i % 30011 - 15000) * 4.9406564584124654e-324, CASE WHEN i % 2 = 0 THEN 1e300 ELSE -1e-300 END * (1 + i / 1048576.0), CASE WHEN i % 3 > 0 THEN i % 50 - 25.5 END
FROM generate_series(1::int8, 30000) AS i;
INSERT INTO floats (id) VALUES (0), (0);
CREATE INDEX floats_i ON floats USING gpu_column (id, signed, signed4, negative, odd, odd4, tiny, wide, listed);
VACUUM ANALYZE floats;
SELECT column_name, encoding FROM gpu.columns('floats_i');

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
CREATE FUNCTION by_node(query text) RETURNS text LANGUAGE sql AS $$ SELECT who || ', ' || same FROM compare(query) $$;

SELECT expression, by_node(format('SELECT sum(%s), avg(%1$s), count(%1$s) FROM floats', expression)) AS all_rows,
       by_node(format('SELECT id %% 7, sum(%s), avg(%1$s) FROM floats GROUP BY 1', expression)) AS groups,
       by_node(format('SELECT sum(%s), avg(%1$s) FILTER (WHERE id %% 3 = 0) FROM floats WHERE %1$s BETWEEN -1000 AND 1000', expression)) AS within
FROM unnest(ARRAY['signed', 'signed4', 'negative', 'odd', 'odd4', 'tiny', 'listed', 'abs(listed)']) AS expression;
-- Infinities and NaN of rows that don't count are no trouble, and of those that do they are PostgreSQL's.
SELECT condition, by_node('SELECT sum(odd), avg(odd), sum(odd4), avg(odd4) FROM floats WHERE ' || condition)
FROM unnest(ARRAY['id % 1000 > 2', 'id % 1000 > 1', 'id % 1000 = 1', 'id % 1000 IN (1, 2)', 'id % 1000 <> 0 AND id < 1000', 'odd < ''Infinity'' AND odd > ''-Infinity''', 'id = 0', 'id < 0']) AS condition;
-- Numbers of too many magnitudes.
SELECT by_node('SELECT sum(wide) FROM floats'), by_node('SELECT sum(wide) FROM floats WHERE id % 2 = 1 AND id < 3'), by_node('SELECT min(wide), max(odd), max(signed), min(negative) FROM floats');
-- What is found of a run isn't taken for another one's: so much greater numbers come in further runs, and in rows that nobody has put into one, that they would have no room.
\set sums '''SELECT sum(signed) FILTER (WHERE id < 100000), sum(signed) FILTER (WHERE id BETWEEN 100000 AND 200000), avg(signed) FILTER (WHERE id > 200000) FROM floats'''
SELECT by_node(:sums);
INSERT INTO floats (id, signed) SELECT 100000 + i, (i - 15000) * 2::float8 ^ 24 FROM generate_series(1, 30000) AS i;
SELECT by_node(:sums);
INSERT INTO floats (id, signed) VALUES (200001, -(2::float8 ^ 60)), (200002, 2::float8 ^ 61);
SELECT by_node(:sums);
SET pg_gpu.map_memory = 0;
SELECT by_node(:sums);
RESET pg_gpu.map_memory;
REINDEX INDEX floats_i;
SELECT by_node(:sums);
DROP TABLE floats;
DROP FUNCTION by_node, compare, who_answers, answer_of;
