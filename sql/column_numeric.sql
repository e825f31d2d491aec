-- Numerics without a dictionary (scaled_numerics): integers, with the same digits behind the point in all of a run. A run of a small
-- table has them here, too (pg_gpu_test.listed_numerics).
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
LOAD 'pg_gpu_test';
SET pg_gpu_test.listed_numerics = 0;
-- Runs of one statement's rows are small, and the last rows are in the tail.
SET pg_gpu.insert_memory = 0;
\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

CREATE TABLE money (id int4, price numeric(14,2), change numeric(9,3), whole numeric, few numeric(4,2), odd numeric, word text) WITH (autovacuum_enabled = off);
CREATE FUNCTION fill(low int, high int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO money
    SELECT i, CASE WHEN i % 17 <> 0 THEN (i * 7919) % 100003 * 12345.67 - 500000000 END, (i * 104729) % 800011 / 1000.0 - 400, i::numeric * 1000003 - 2000000000,
           i % 7 * 0.25, CASE i % 900 WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN '-Infinity' WHEN 4 THEN 1e30 ELSE i * 1.5 END, 'word ' || i % 5
    FROM generate_series(low, high) AS i
$$;
SELECT fill(1, 4000);
INSERT INTO money VALUES (0, 0, 0, 0, 0, 0, 'zero'), (-1, -0.01, -0.001, -1, -0.01, -0.01, 'least'), (-2, 0.01, 0.001, 1, 0.01, 0.010, 'least');
-- Nobody has asked for them, or there are so few values that a dictionary is better.
CREATE INDEX money_i ON money USING gpu_column (id, price, change, whole) WITH (scaled_numerics = off);
SELECT column_name, encoding FROM gpu.columns('money_i');
DROP INDEX money_i;
RESET pg_gpu_test.listed_numerics;
CREATE INDEX money_i ON money USING gpu_column (id, price, change, whole) WITH (scaled_numerics = on);
SELECT column_name, encoding FROM gpu.columns('money_i');
DROP INDEX money_i;
SET pg_gpu_test.listed_numerics = 0;
CREATE INDEX money_i ON money USING gpu_column (id, price, change, whole, few, odd, word) WITH (scaled_numerics = on);
VACUUM ANALYZE money;
SELECT column_name, encoding, distinct_values FROM gpu.columns('money_i');
SELECT * FROM gpu.verify('money_i');

-- The statements are asked in several states of the index.
CREATE TABLE asked (number int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO asked (query) VALUES
    ('SELECT sum(price), avg(price), min(price), max(price), count(price), count(*) FROM money'),
    ('SELECT sum(change), avg(whole), sum(whole), min(change), max(whole) FROM money WHERE id > 100'),
    ('SELECT var_pop(price), stddev_samp(change), variance(whole) FROM money'),
    ('SELECT word, sum(price), avg(change), count(DISTINCT change) FROM money GROUP BY word'),
    ('SELECT few, sum(price * few), sum(price + change), max(price - whole) FROM money GROUP BY few'),
    ('SELECT price, count(*) FROM money GROUP BY price'),
    ('SELECT DISTINCT change FROM money WHERE change > 0'),
    ('SELECT change, few, sum(price) FROM money GROUP BY 1, 2 HAVING count(*) > 1'),
    ('SELECT price, change, min(whole) FROM money GROUP BY 1, 2'),
    ('SELECT count(*) FROM money WHERE price > 1234567.89'),
    ('SELECT count(*) FROM money WHERE price >= 1234567.890000000000000000000001'),
    ('SELECT count(*), sum(whole) FROM money WHERE change = 0.001 OR change = -0.001 OR change < -399.5'),
    ('SELECT count(*) FROM money WHERE change = 0.0010 AND change <> 0.00100001'),
    ('SELECT count(*) FROM money WHERE change IN (0, 0.001, 12.345, 7, 1e20, ''NaN'')'),
    ('SELECT count(*) FROM money WHERE price < ''NaN'' AND change > ''-Infinity'' AND whole <= ''Infinity'''),
    ('SELECT count(*) FROM money WHERE price >= ''Infinity'' OR price = ''NaN'''),
    ('SELECT count(*) FROM money WHERE whole <> 1e40 AND whole > -1e40 AND price IS NOT NULL'),
    ('SELECT count(*) FROM money WHERE price IS NULL'),
    ('SELECT count(*) FILTER (WHERE price * 2 > change), sum(change) FILTER (WHERE whole = price) FROM money'),
    ('SELECT sum(CASE WHEN price > 0 THEN price ELSE -change END), sum(coalesce(price, whole)), sum(abs(change)) FROM money'),
    ('SELECT sum(round(change, 1)), sum(trunc(price)), sum(floor(change)), sum(ceil(change)), sum(change % 7) FROM money'),
    ('SELECT round(change, -1), count(*) FROM money GROUP BY 1'),
    ('SELECT round(change, 0), count(*) FROM money GROUP BY 1'),
    ('SELECT sum(DISTINCT change), avg(DISTINCT price) FROM money'),
    ('SELECT max(price::float8), min(price::text), count(*) FROM money WHERE change::int4 > 5'),
    ('SELECT sum(odd) FROM money WHERE odd < 1000'),
    ('SELECT odd, count(*) FROM money WHERE odd > 5000 GROUP BY odd'),
    ('SELECT id, price, change FROM money ORDER BY price DESC NULLS LAST, id LIMIT 20'),
    ('SELECT id, change FROM money ORDER BY change, id LIMIT 20'),
    ('SELECT m.word, sum(m.price), sum(p.change) FROM money AS m JOIN (SELECT id, change FROM money WHERE id < 50) AS p ON m.id = p.id GROUP BY 1'),
    ('SELECT word, sum(DISTINCT change), avg(DISTINCT price), count(DISTINCT price), sum(DISTINCT whole) FILTER (WHERE id % 2 = 0) FROM money GROUP BY word');
CREATE VIEW comparison AS SELECT number, c.who, c.rows, c.same FROM asked, compare(query) AS c ORDER BY number;
SELECT * FROM comparison;

-- Buckets and rounded quotients are found by ranges of the integers.
INSERT INTO asked (query) VALUES
    ('SELECT width_bucket(price, -500000000, 800000000, 20), count(*), sum(change) FROM money GROUP BY 1'),
    ('SELECT width_bucket(change, 300, -300.5, 7), width_bucket(change::float8, -400, 400, 9), max(price) FROM money GROUP BY 1, 2'),
    ('SELECT floor(price / 100000000), ceil(change / 7.5), sum(whole) FROM money GROUP BY 1, 2'),
    ('SELECT round(change / 100), trunc(whole / -300000000), count(*), count(DISTINCT floor(change / 3)) FROM money GROUP BY 1, 2'),
    ('SELECT (change / 50)::int4, (whole / 1000000)::int8 % 5, count(price) FROM money GROUP BY 1, 2'),
    ('SELECT count(*) FILTER (WHERE width_bucket(price, 0, 1000000, 10) = 3), sum(id) FROM money WHERE floor(change / 10) IN (-3, 0, 1, 12) OR price IS NULL'),
    ('SELECT CASE WHEN ceil(change / 100) < 0 THEN ''less'' ELSE ''more'' || (change / 100)::int4::text END, count(*) FROM money GROUP BY 1'),
    ('SELECT floor(price / 0.01), sum(floor(change / 10)), min(round(change / 3, 2)) FROM money WHERE id < 50 GROUP BY 1'),
    ('SELECT (price * 7 / 3)::int4, width_bucket(change / 3, 0, 100, 5), count(*) FROM money GROUP BY 1, 2'),
    ('SELECT count((price / 0.001)::int4) FROM money'),
    ('SELECT DISTINCT floor(change / 40) FROM money');
SELECT number, c.who, c.rows, c.same FROM asked, compare(query) AS c WHERE query ~ ' / |bucket' ORDER BY number;

-- Functions.
CREATE FUNCTION function_differences() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    name text;
    shown text;
    filter text;
    expected text;
    found text;
BEGIN
    FOREACH name IN ARRAY ARRAY['price', 'change', 'whole', 'few', 'odd'] LOOP
        -- 1 and 1.0 are one value, and either may stand for it: PostgreSQL's hashed groups show the one that comes first in the table.
        shown := CASE name WHEN 'whole' THEN 'trim_scale(%s)' ELSE '%s' END;
        FOREACH filter IN ARRAY ARRAY['true', 'id < 1000', 'change > 0.0005 AND change < 100.00001', 'price = ANY (''{0,0.01,-0.010,NaN}'')'] LOOP
            EXECUTE format('SELECT array_agg((%s, count)::text ORDER BY value::numeric)::text FROM gpu.dictionary(''money_i'', %L, %L)', format(shown, 'value::numeric'), name, filter) INTO found;
            EXECUTE format('SELECT array_agg((%s, c)::text ORDER BY v)::text FROM (SELECT %I AS v, count(*) AS c FROM (SELECT * FROM money OFFSET 0) AS m WHERE %s GROUP BY 1) AS t', format(shown, 'v'), name, filter)
            INTO expected;
            IF found IS DISTINCT FROM expected THEN
                RETURN NEXT format('gpu.dictionary of %s, %s: %s, and not %s', name, filter, left(found, 100), left(expected, 100));
            END IF;
            EXECUTE format('SELECT (count, nulls, distinct_values, minimum, maximum, sum, mean)::text FROM gpu.summary(''money_i'', %L, %L)', name, filter) INTO found;
            EXECUTE format('SELECT (count(*), count(*) - count(%1$I), count(DISTINCT %1$I), min(%1$I)::text, max(%1$I)::text, sum(%1$I), avg(%1$I)::float8)::text
                            FROM (SELECT * FROM money OFFSET 0) AS m WHERE %2$s', name, filter) INTO expected;
            IF found IS DISTINCT FROM expected THEN
                RETURN NEXT format('gpu.summary of %s, %s: %s, and not %s', name, filter, found, expected);
            END IF;
            EXECUTE format('SELECT array_agg((coalesce(bin, -1), count)::text ORDER BY bin)::text FROM gpu.histogram(''money_i'', %L, 20, -399.5, 100000.25, %L) WHERE count > 0', name, filter)
            INTO found;
            EXECUTE format('SELECT array_agg((b, c)::text ORDER BY b = -1, b)::text FROM (SELECT CASE WHEN v IS NULL THEN -1 WHEN v = ''NaN'' THEN 22 ELSE width_bucket(v::float8, -399.5, 100000.25, 20) END AS b, count(*) AS c
                            FROM (SELECT %I AS v FROM (SELECT * FROM money OFFSET 0) AS m WHERE %s) AS t GROUP BY 1) AS s', name, filter) INTO expected;
            IF found IS DISTINCT FROM expected THEN
                RETURN NEXT format('gpu.histogram of %s, %s: %s, and not %s', name, filter, found, expected);
            END IF;
        END LOOP;
    END LOOP;
END $$;
SET pg_gpu.enable_query = off;
SELECT * FROM function_differences();
RESET pg_gpu.enable_query;

-- More runs and a tail of the same digits.
SELECT fill(4001, 4700);
DELETE FROM money WHERE id % 50 = 3;
SELECT * FROM comparison WHERE same <> 'same';
SET pg_gpu.enable_query = off;
SELECT * FROM function_differences();
RESET pg_gpu.enable_query;
VACUUM money;
SELECT count(*) FROM gpu.merge('money_i') WHERE step = 'merge TIDs';
SELECT column_name, encoding FROM gpu.columns('money_i') WHERE column_name <> 'id';
SELECT * FROM gpu.verify('money_i');
SELECT * FROM comparison WHERE same <> 'same';

-- Rows whose numerics have other digits behind the point, or can't be integers: first in the tail, then in a run with the others.
UPDATE money SET whole = whole + 0.5 WHERE id BETWEEN 10 AND 12;
INSERT INTO money (id, whole) VALUES (20001, 'NaN'), (20002, '-Infinity'), (20003, 1e25), (20004, 0.00), (20005, 123456789012345678), (20006, 1.0);
SELECT fill(5001, 5500);
VACUUM money;
SELECT * FROM comparison WHERE same <> 'same';
SET pg_gpu.enable_query = off;
SELECT * FROM function_differences();
RESET pg_gpu.enable_query;
SELECT count(*) FROM gpu.merge('money_i') WHERE step = 'merge TIDs';
SELECT column_name, encoding FROM gpu.columns('money_i') WHERE column_name <> 'id';
SELECT * FROM gpu.verify('money_i');
SELECT * FROM comparison WHERE same <> 'same';

-- They are integers again once those rows are gone.
DELETE FROM money WHERE id > 20000 OR id BETWEEN 10 AND 12;
VACUUM money;
SELECT fill(6001, 6500);
SELECT count(*) FROM gpu.merge('money_i') WHERE step = 'merge TIDs';
SELECT column_name, encoding FROM gpu.columns('money_i') WHERE column_name = 'whole';
SELECT * FROM gpu.verify('money_i');
SELECT * FROM comparison WHERE same <> 'same';

-- Two runs of integers whose digits differ.
CREATE TABLE scales (id int4, n numeric) WITH (autovacuum_enabled = off);
INSERT INTO scales SELECT i, i * 1000.25 FROM generate_series(1, 3000) AS i;
CREATE INDEX scales_i ON scales USING gpu_column (id, n) WITH (fanout = 16, scaled_numerics = on);
INSERT INTO scales SELECT i, i * 1000.125 FROM generate_series(3001, 6000) AS i;
VACUUM ANALYZE scales;
TRUNCATE asked;
INSERT INTO asked (query) VALUES
    ('SELECT sum(n), avg(n), min(n), max(n), count(DISTINCT n) FROM scales'),
    ('SELECT n, count(*) FROM scales GROUP BY n'),
    ('SELECT count(*), sum(id) FROM scales WHERE n > 3000750.125 OR n < 1000.2500001'),
    ('SELECT count(*) FROM scales WHERE n > 2000.25 AND n <= 3003375.3750 AND n <> 3000750.000'),
    ('SELECT sum(DISTINCT n), avg(DISTINCT n) FROM scales'),
    ('SELECT count(*) FROM scales WHERE n = 1000.25 OR n = 3003375.3750 OR n = 3003375.3751');
-- 18 makes one condition of the last statement's three, which an index scan answers for less.
SET enable_bitmapscan = off;
SET enable_indexscan = off;
SELECT * FROM comparison;
RESET enable_bitmapscan;
RESET enable_indexscan;
SELECT count(*) FROM gpu.merge('scales_i') WHERE step = 'merge TIDs';
SELECT column_name, encoding FROM gpu.columns('scales_i');
SELECT * FROM gpu.verify('scales_i');
SELECT * FROM comparison;

-- A run with a dictionary, one of integers, and a tail; then one run of either kind, as the option says.
CREATE TABLE mixed (id int4, n numeric(12,2), word text) WITH (autovacuum_enabled = off);
CREATE FUNCTION fill_mixed(low int, high int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO mixed SELECT i, CASE WHEN i % 23 <> 0 THEN i % 2000 * 777.77 END, 'word ' || i % 5 FROM generate_series(low, high) AS i
$$;
SELECT fill_mixed(1, 1500);
CREATE INDEX mixed_i ON mixed USING gpu_column (id, n, word) WITH (fanout = 16, scaled_numerics = off);
CREATE FUNCTION encoding_of_mixed() RETURNS text LANGUAGE sql AS $$ SELECT encoding FROM gpu.columns('mixed_i') WHERE column_name = 'n' $$;
SELECT encoding_of_mixed();
ALTER INDEX mixed_i SET (scaled_numerics = on);
SELECT fill_mixed(1501, 6000);
VACUUM ANALYZE mixed;
SELECT encoding_of_mixed();
SELECT fill_mixed(6001, 6100);
SELECT count(*) FROM gpu.runs('mixed_i') WHERE entries > 1000;
SELECT * FROM gpu.verify('mixed_i');
TRUNCATE asked;
INSERT INTO asked (query) VALUES
    ('SELECT sum(n), avg(n), min(n), max(n), count(n), count(DISTINCT n), var_pop(n) FROM mixed'),
    ('SELECT n, count(*) FROM mixed GROUP BY n'),
    ('SELECT word, n, sum(id) FROM mixed WHERE n > 5000 AND n <> 77777.00 GROUP BY 1, 2'),
    ('SELECT sum(n * id), max(n - id), count(*) FILTER (WHERE n * 2 > 100000) FROM mixed'),
    ('SELECT id, n FROM mixed ORDER BY n DESC NULLS LAST, id LIMIT 10'),
    ('SELECT sum(DISTINCT n), avg(DISTINCT n) FROM mixed'),
    ('SELECT max(n::float8), max(n / 3), min(round(n)::text) FROM mixed WHERE n::int4 % 2 = 0'),
    ('SELECT count(*), sum(m.n) FROM mixed AS m JOIN (SELECT n FROM mixed WHERE id <= 40) AS s ON m.n = s.n');
SELECT * FROM comparison;
SELECT count(*) FROM gpu.merge('mixed_i') WHERE step = 'merge TIDs';
SELECT encoding_of_mixed();
SELECT * FROM gpu.verify('mixed_i');
SELECT number, rows, same FROM comparison;
ALTER INDEX mixed_i SET (scaled_numerics = off);
SELECT fill_mixed(6101, 6900);
SELECT count(*) FROM gpu.merge('mixed_i') WHERE step = 'merge TIDs';
SELECT encoding_of_mixed();
SELECT * FROM gpu.verify('mixed_i');
SELECT * FROM comparison;

-- Left to each run, which is the default: integers where different ones are more than a quarter of the rows.
CREATE TABLE chosen (id int4, many numeric(12,2), part numeric(12,2), few numeric(12,2)) WITH (autovacuum_enabled = off);
CREATE FUNCTION fill_chosen(low int, high int, many int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO chosen SELECT i, CASE WHEN i % 31 <> 0 THEN i % many * 777.77 END, i % 1100 * 7919.25, i % 950 * -19.25 FROM generate_series(low, high) AS i
$$;
SELECT fill_chosen(1, 4000, 4000);
CREATE INDEX chosen_i ON chosen USING gpu_column (id, many, part, few) WITH (scaled_numerics = maybe);
CREATE INDEX chosen_i ON chosen USING gpu_column (id, many, part, few) WITH (scaled_numerics);
CREATE FUNCTION encodings() RETURNS SETOF text LANGUAGE sql AS $$ SELECT column_name || ': ' || encoding FROM gpu.columns('chosen_i') WHERE column_name <> 'id' $$;
SELECT * FROM encodings();
ALTER INDEX chosen_i RESET (scaled_numerics);
REINDEX INDEX chosen_i;
SELECT * FROM encodings();
SELECT * FROM gpu.verify('chosen_i');
VACUUM ANALYZE chosen;
TRUNCATE asked;
INSERT INTO asked (query) VALUES
    ('SELECT sum(many), avg(part), min(few), max(few), min(many), max(part), count(DISTINCT part), count(DISTINCT few), var_pop(few) FROM chosen'),
    ('SELECT part, count(*), sum(few) FROM chosen GROUP BY part'),
    ('SELECT few, part, count(*), sum(many) FROM chosen WHERE part > 5000 GROUP BY 1, 2'),
    ('SELECT sum(many * part), sum(few + part), max(few - many) FROM chosen'),
    ('SELECT id, part, few FROM chosen ORDER BY part DESC, few, id LIMIT 10'),
    ('SELECT sum(DISTINCT part), avg(DISTINCT few), sum(DISTINCT many) FROM chosen'),
    ('SELECT max(part::float8), min(few::text), sum(round(many)) FROM chosen WHERE few::int4 % 2 = 0 AND part::int4 % 3 = 0'),
    ('SELECT floor(part / 10000), width_bucket(few, -18000, 0, 20), count(*) FROM chosen GROUP BY 1, 2'),
    ('SELECT count(*), sum(c.part) FROM chosen AS c JOIN (SELECT DISTINCT part AS s FROM chosen WHERE id <= 40) AS s ON c.part = s.s');
SELECT number, rows, same FROM comparison;
-- More rows of the same values are another run, which is merged with the first: a dictionary comes of both. Then there are many values again.
SELECT fill_chosen(4001, 12000, 4000);
SELECT number, rows, same FROM comparison WHERE same <> 'same';
SELECT count(*) FROM gpu.merge('chosen_i') WHERE step = 'merge TIDs';
SELECT * FROM encodings();
SELECT * FROM gpu.verify('chosen_i');
SELECT number, rows, same FROM comparison WHERE same <> 'same';
DELETE FROM chosen WHERE id > 2500;
VACUUM chosen;
SELECT fill_chosen(20001, 22000, 1000000);
UPDATE chosen SET few = few + id * 3 WHERE id > 20000;
VACUUM chosen;
SELECT number, rows, same FROM comparison WHERE same <> 'same';
SELECT count(*) FROM gpu.merge('chosen_i') WHERE step = 'merge TIDs';
SELECT * FROM encodings();
SELECT * FROM gpu.verify('chosen_i');
SELECT number, rows, same FROM comparison WHERE same <> 'same';
-- One that has no place among integers makes a dictionary of all.
INSERT INTO chosen VALUES (30000, 'NaN', 'NaN', 1);
SELECT fill_chosen(30001, 30900, 4000);
SELECT number, rows, same FROM comparison WHERE same <> 'same';
SELECT count(*) FROM gpu.merge('chosen_i') WHERE step = 'merge TIDs';
SELECT * FROM encodings();
SELECT number, rows, same FROM comparison WHERE same <> 'same';

-- The greatest and the least that have room, and those that don't.
CREATE TABLE ends (id int4, a numeric, b numeric, c numeric) WITH (autovacuum_enabled = off);
INSERT INTO ends SELECT i, i * 333333333333333, i * 0.000000000000000001, i * 999999999999999 * 1000.1 FROM generate_series(-1000, 1000) AS i;
INSERT INTO ends VALUES (2000, 999999999999999999, 0.999999999999999999, 0.0), (2001, -999999999999999999, -0.999999999999999999, -0.1);
CREATE INDEX ends_i ON ends USING gpu_column (id, a, b, c) WITH (scaled_numerics = on);
VACUUM ANALYZE ends;
SELECT column_name, encoding FROM gpu.columns('ends_i');
SELECT * FROM gpu.verify('ends_i');
TRUNCATE asked;
INSERT INTO asked (query) VALUES
    ('SELECT sum(a), sum(b), sum(c), avg(a), avg(b), min(a), max(a), min(b), max(b), var_pop(b) FROM ends'),
    ('SELECT a, b, c, count(*) FROM ends GROUP BY a, b, c'),
    ('SELECT count(*) FROM ends WHERE a >= 999999999999999999 OR b <= -0.999999999999999999 OR a < -999999999999999998.5'),
    ('SELECT sum(a + b), sum(a * 2), sum(b * 7) FROM ends');
SELECT number, rows, same FROM comparison;
INSERT INTO ends SELECT i, i * 1000000000000000000.0, 1e-19 * i, i FROM generate_series(1, 900) AS i;
SELECT count(*) FROM gpu.merge('ends_i') WHERE step = 'merge TIDs';
SELECT column_name, encoding FROM gpu.columns('ends_i');
SELECT * FROM gpu.verify('ends_i');
SELECT number, rows, same FROM comparison;
DROP TABLE money, asked, scales, mixed, chosen, ends CASCADE;
DROP FUNCTION fill, function_differences, fill_mixed, encoding_of_mixed, fill_chosen, encodings, answer_of, who_answers, compare, compare_all;
