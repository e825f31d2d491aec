-- What is added up straight from packed codes: rows, sums and bounds of a column's own numbers, by one column with few codes.
-- Each statement is run with the node GpuAggregate and without it, and the answers are held against each other.
SET max_parallel_workers_per_gather = 0;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET work_mem = '64MB';
\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- Numbers of few bits and of 64, with and without NULLs, at both ends of their types; sorted, and in no order.
CREATE TABLE packed (
    id int4, sorted int4, few int2, medium int4, many int4, most int4, wide int8, widest int8, low int8, high int8, at timestamp, cents numeric(12, 2),
    word text, flag bool, nothing int4
) WITH (autovacuum_enabled = off);
CREATE FUNCTION fill_packed(low int, high int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO packed
    SELECT i, i / 200, CASE WHEN i % 11 <> 0 THEN i * 31 % 101 - 50 END, i * 7919::int8 % 1021, CASE WHEN i % 1000 <> 0 THEN i * 7919::int8 % 1500 END,
        i * 7919::int8 % 12000, i * 104729::int8 * 1000, CASE WHEN i = 1 THEN -9223372036854775808 WHEN i = 2 THEN 9223372036854775807 WHEN i % 13 > 0 THEN i * 1234567890123 END,
        -9223372036854775808 + abs(i) % 500, CASE WHEN i % 17 > 0 THEN 9223372036854775807 - abs(i) % 500 END, '2020-01-01'::timestamp + i * interval '17 minutes',
        i * 7919::int8 % 9999991 / 100.0, CASE WHEN i % 29 <> 0 THEN 'word ' || i % 90 END, CASE WHEN i % 3 > 0 THEN i % 3 = 1 END, NULL
    FROM generate_series(low, high) AS i
$$;
SELECT fill_packed(1, 60000);
CREATE INDEX packed_i ON packed USING gpu_column (id, sorted, few, medium, many, most, wide, widest, low, high, at, cents, word, flag, nothing);
VACUUM ANALYZE packed;
SELECT column_name, encoding, bits FROM gpu.columns('packed_i') ORDER BY bits, column_name;

CREATE TABLE asked (number int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO asked (query) VALUES
    ('SELECT count(*), sum(id), min(id), max(id), avg(id) FROM packed'),
    ('SELECT count(few), sum(few), min(few), max(few), count(*) FROM packed'),
    ('SELECT sum(wide), min(wide), max(wide), avg(wide), count(widest), sum(widest), min(widest), max(widest) FROM packed'),
    ('SELECT sum(low), min(low), max(low), sum(high), min(high), max(high), count(high) FROM packed'),
    ('SELECT min(at), max(at), count(at), sum(cents), avg(cents), min(cents), max(cents) FROM packed'),
    ('SELECT count(*), sum(id), max(few), sum(few + medium), sum(id % 7) FROM packed'),
    ('SELECT count(nothing), sum(nothing), min(nothing), count(*) FROM packed'),
    ('SELECT sum(id), count(*), min(few), sum(widest) FROM packed WHERE id % 10 = 3'),
    ('SELECT sum(id), count(*), min(few), sum(widest) FROM packed WHERE id BETWEEN 12345 AND 12345'),
    ('SELECT sum(id), count(*), min(few), sum(widest), max(wide) FROM packed WHERE id BETWEEN 100 AND 50000 AND medium > 500'),
    ('SELECT sum(id), count(*), min(few), max(id) FROM packed WHERE id < 0'),
    ('SELECT few, count(*) FROM packed GROUP BY few'),
    ('SELECT few, count(*), sum(id), min(id), max(id), sum(medium), count(many), sum(many), min(many), max(many) FROM packed GROUP BY few'),
    ('SELECT few, count(*), sum(cents), max(at) FROM packed GROUP BY few'),
    ('SELECT few, count(*), sum(wide), sum(widest), min(low), max(high) FROM packed GROUP BY few'),
    ('SELECT few, count(few), sum(few), min(few) FROM packed WHERE id > 40000 GROUP BY few'),
    ('SELECT medium, count(*), sum(few) FROM packed GROUP BY medium'),
    ('SELECT many, count(*), sum(few), max(few) FROM packed WHERE medium % 3 = 1 GROUP BY many'),
    ('SELECT most, count(*), sum(id) FROM packed GROUP BY most'),
    ('SELECT sorted, count(*), sum(id), min(few) FROM packed GROUP BY sorted'),
    ('SELECT sorted, count(*), sum(id) FROM packed WHERE few = 7 GROUP BY sorted'),
    ('SELECT word, count(*), sum(id), count(few) FROM packed GROUP BY word'),
    ('SELECT upper(word), length(word), count(*), min(id) FROM packed GROUP BY 1, 2'),
    ('SELECT few % 7, few > 3, count(*), sum(few), sum(id) FROM packed GROUP BY 1, 2'),
    ('SELECT few IS NULL, count(*), sum(id) FROM packed GROUP BY 1'),
    ('SELECT coalesce(few, 3), count(*), sum(id) FROM packed GROUP BY 1'),
    ('SELECT flag, count(*), max(id), sum(id) FROM packed WHERE id % 2 = 0 GROUP BY flag'),
    ('SELECT flag, few, count(*), sum(id) FROM packed GROUP BY flag, few'),
    ('SELECT nothing, count(*), sum(id) FROM packed GROUP BY nothing'),
    ('SELECT few, count(*), sum(id) FROM packed WHERE id IN (100, 200, 300, 121) GROUP BY few'),
    ('SELECT few, count(*), sum(id) FROM packed WHERE id < 0 GROUP BY few'),
    ('SELECT few, count(*) FILTER (WHERE medium < 10), sum(id) FILTER (WHERE few > 3), sum(id) FROM packed GROUP BY few'),
    ('SELECT few, avg(id), stddev(id), bit_or(id), sum(id * 2) FROM packed GROUP BY few'),
    ('SELECT few, count(DISTINCT many), count(*) FROM packed GROUP BY few'),
    ('SELECT DISTINCT few FROM packed'),
    ('SELECT few, sum(id) FROM packed GROUP BY few HAVING count(*) > 540'),
    ('SELECT few, sum(id) FROM packed GROUP BY few ORDER BY count(*), few LIMIT 3');
CREATE VIEW comparison AS SELECT number, c.who, c.rows, c.same FROM asked, compare(query) AS c ORDER BY number;
SELECT * FROM comparison;
-- Rows are gone, and new ones have come: some loose, some in a run of their own with other codes.
DELETE FROM packed WHERE id % 50 = 3 OR id BETWEEN 20000 AND 28000;
SELECT fill_packed(-2000, 0);
SELECT fill_packed(60001, 60050);
SELECT number, rows, same FROM comparison WHERE same <> 'same';
VACUUM packed;
SELECT number, rows, same FROM comparison WHERE same <> 'same';
SELECT count(*) FROM gpu.merge('packed_i') WHERE step = 'merge TIDs';
SELECT number, rows, same FROM comparison WHERE same <> 'same';
-- Groups that memory has no room for, all at once or at all.
SET work_mem = '64kB';
SELECT number, rows, same FROM comparison WHERE same <> 'same';
RESET work_mem;

DROP VIEW comparison;
DROP TABLE packed, asked;
DROP FUNCTION fill_packed, compare, compare_all, who_answers, answer_of;
