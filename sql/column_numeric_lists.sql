-- Functions of numerics without a dictionary (scaled_numerics): evaluated once for each different number, as if there were one.
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '16MB';
LOAD 'pg_gpu_test';
SET pg_gpu_test.listed_numerics = 0;
\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- Numbers near each other, and far apart, where a list is of another kind.
CREATE TABLE listed (id int4, near numeric(12,2), far numeric(18,4), word text) WITH (autovacuum_enabled = off);
CREATE FUNCTION fill_listed(low int, high int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO listed
    SELECT i, CASE WHEN i % 23 <> 0 THEN (i * 7919) % 200003 / 100.0 - 500 END, CASE WHEN i % 19 <> 0 THEN (i * 104729) % 800011 * 12345678.1234 - 4000000000000 END, 'word ' || i % 5
    FROM generate_series(low, high) AS i
$$;
SELECT fill_listed(1, 6000);
INSERT INTO listed VALUES (0, 0, 0, 'zero'), (-1, -0.01, -0.0001, 'least'), (-2, 1.00, 1.5000, NULL);
CREATE INDEX listed_i ON listed USING gpu_column (id, near, far, word) WITH (scaled_numerics = on);
VACUUM ANALYZE listed;
SELECT column_name, encoding FROM gpu.columns('listed_i') WHERE column_name IN ('near', 'far');
CREATE TABLE asked (number int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO asked (query) VALUES
    ('SELECT max(near::float8), min(far::float8), count(near::text) FROM listed'),
    ('SELECT count(*) FROM listed WHERE near::text LIKE ''%.00'''),
    ('SELECT count(*), sum(near) FROM listed WHERE near / 3 > 200'),
    ('SELECT count(*), sum(far), avg(near), min(near), max(far), var_pop(near) FROM listed WHERE far / 7 < 100000000 OR near IS NULL'),
    ('SELECT near::text LIKE ''%5'', far > 0, count(*), sum(near), sum(far), count(DISTINCT near) FROM listed GROUP BY 1, 2'),
    ('SELECT sum(near / 3), avg(sqrt(abs(near))), max(near / 7), min(ln(abs(far) + 1)) FROM listed'),
    ('SELECT near / 4, count(*) FROM listed GROUP BY 1'),
    ('SELECT length(far::text), min(far), max(near) FROM listed GROUP BY 1'),
    ('SELECT coalesce(near::text, ''none''), count(*) FROM listed WHERE id < 100 GROUP BY 1'),
    ('SELECT CASE WHEN near::text LIKE ''-%'' THEN ''minus'' WHEN near IS NULL THEN ''none'' ELSE ''plus'' END, count(*), sum(far) FROM listed GROUP BY 1'),
    ('SELECT word, count(DISTINCT near::text), sum(DISTINCT near), max(near::float8) FROM listed GROUP BY word'),
    ('SELECT id, near, far FROM listed WHERE far::text LIKE ''%9'' ORDER BY near / 3 DESC NULLS LAST, id LIMIT 10'),
    ('SELECT id, near FROM listed ORDER BY near::text, id LIMIT 10'),
    ('SELECT sum(near * id), count(*) FILTER (WHERE far::text LIKE ''%1'') FROM listed WHERE scale(near) = 2'),
    ('SELECT count(*), sum(l.far) FROM listed AS l JOIN (SELECT DISTINCT near AS n FROM listed WHERE id <= 40) AS s ON l.near = s.n'),
    -- Errors, of values that count and of others.
    ('SELECT count(*) FROM listed WHERE 1 / near > 1 AND near <> 0'),
    ('SELECT max(1 / near) FROM listed WHERE near > 0'),
    ('SELECT max(1 / near) FROM listed'),
    ('SELECT sum((near * 1000)::int2) FROM listed WHERE near BETWEEN -10 AND 10'),
    ('SELECT max(sqrt(near)) FROM listed WHERE near::text NOT LIKE ''-%''');
CREATE VIEW comparison AS SELECT number, c.who, c.rows, c.same FROM asked, compare(query) AS c ORDER BY number;
SELECT * FROM comparison;
-- What is kept is used again, beside ranges of the same expressions.
SELECT * FROM comparison WHERE same <> 'same';
SELECT c.* FROM compare('SELECT width_bucket(near, -500, 1500, 9), count(*) FROM listed GROUP BY 1') AS c;
SELECT c.* FROM compare('SELECT width_bucket(near, -500, 1500, 9), count(*), max(near::text) FROM listed GROUP BY 1') AS c;
SELECT c.* FROM compare('SELECT width_bucket(near, -500, 1500, 9), count(*) FROM listed GROUP BY 1') AS c;
-- A volatile function is asked for each row; a function that is changed is asked again.
CREATE FUNCTION half(numeric) RETURNS numeric IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN $1 / 2; END $$;
SELECT c.* FROM compare('SELECT max(half(near)), min(half(far)) FROM listed') AS c;
CREATE OR REPLACE FUNCTION half(numeric) RETURNS numeric IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN -$1 / 2; END $$;
SELECT c.* FROM compare('SELECT max(half(near)), min(half(far)) FROM listed') AS c;
-- A tail, another run, rows that are gone, and then what isn't finite or shows other digits.
SELECT fill_listed(6001, 6900);
DELETE FROM listed WHERE id % 50 = 3 OR near = 0;
SELECT * FROM comparison WHERE same <> 'same';
VACUUM listed;
SELECT * FROM comparison WHERE same <> 'same';
SELECT count(*) FROM gpu.merge('listed_i') WHERE step = 'merge TIDs';
SELECT * FROM comparison WHERE same <> 'same';
ALTER TABLE listed ALTER near TYPE numeric;
SELECT fill_listed(7001, 12000);
INSERT INTO listed (id, near) VALUES (20001, 'NaN'), (20002, 'Infinity'), (20003, '-Infinity'), (20004, 1.000), (20005, 1e40);
VACUUM listed;
SELECT * FROM comparison WHERE same <> 'same';
-- Numbers far apart of more rows than are sorted at once, among them one that many rows have; and more than are sent to the server.
CREATE TABLE pieces (id int4, far numeric(18,4)) WITH (autovacuum_enabled = off);
INSERT INTO pieces SELECT i, CASE WHEN i % 5 = 0 THEN 1234567890.1234 WHEN i % 11 <> 0 THEN (i * 104729::int8) % 800011 * 12345678.1234 - 4000000000000 END FROM generate_series(1, 120000) AS i;
CREATE INDEX pieces_i ON pieces USING gpu_column (id, far) WITH (scaled_numerics = on);
VACUUM ANALYZE pieces;
SET maintenance_work_mem = '1MB';
SET work_mem = '64MB';
SELECT column_name, encoding FROM gpu.columns('pieces_i') WHERE column_name = 'far';
SELECT c.* FROM compare('SELECT count(*), max(far) FROM pieces WHERE far::text LIKE ''%9''') AS c;
SELECT c.* FROM compare('SELECT count(*), max(far) FROM pieces WHERE far::text LIKE ''%9''') AS c;
SELECT c.* FROM compare('SELECT far::text LIKE ''%1%'', count(far), count(DISTINCT far::text), max(far::float8) FROM pieces GROUP BY 1') AS c;
RESET maintenance_work_mem;
DROP TABLE pieces;
-- Without room the plan below answers.
SET pg_gpu.map_memory = 0;
SET work_mem = '64kB';
SELECT number, rows, same FROM comparison WHERE same <> 'same';
DROP TABLE listed, asked CASCADE;
DROP FUNCTION fill_listed, half, answer_of, who_answers, compare, compare_all;
