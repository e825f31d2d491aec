-- GpuQuery joins by ranges: a value of one side is at least one of the other, at most another, or both. Ranges overlap, are empty, have no
-- beginning or end, or are NULL. Each statement is run with the node and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'Europe/Berlin';

CREATE TABLE event (
    id int4, kind int4, number int4, small int2, big int8, price numeric(8,2), loose numeric, day date, at timestamptz, moment timestamp, clock time, f8 float8, word text)
    WITH (autovacuum_enabled = off);
CREATE TABLE span (
    id int4, kind int4, low int4, high int4, big_low int8, price_low numeric(10,4), price_high numeric, first_day date, last_day date, begins timestamptz, ends timestamptz, f8 float8, word text)
    WITH (autovacuum_enabled = off);
INSERT INTO event SELECT i, v % 7, v, v % 300, v * 1000000000000, v / 8.0, v / 4.0, date '2024-03-20' + v % 60, timestamptz '2024-03-25 00:00+01' + v * interval '47 minutes',
       timestamp '2024-03-25' + v * interval '31 minutes', time '00:00' + v % 90 * interval '16 minutes', v / 3.0, 'w' || v % 90
FROM (SELECT i, CASE WHEN i % 13 = 0 THEN NULL ELSE abs(hashint4(i)) % 700 END AS v FROM generate_series(1, 3000) AS i) AS s;
INSERT INTO span SELECT i, v % 7, v, v + w, v * 1000000000000, v / 8.0, (v + w) / 8.0, date '2024-03-20' + v % 60, date '2024-03-20' + v % 60 + w % 9, timestamptz '2024-03-25 00:00+01' + v * interval '47 minutes',
       timestamptz '2024-03-25 00:00+01' + (v + w) * interval '47 minutes', v / 3.0, 'w' || v % 90
FROM (SELECT i, CASE WHEN i % 11 = 0 THEN NULL ELSE abs(hashint4(i + 50000)) % 700 END AS v, CASE WHEN i % 17 = 0 THEN NULL ELSE i % 40 - 6 END AS w FROM generate_series(1, 120) AS i) AS s;
INSERT INTO event VALUES (5001, 1, 2147483647, 32767, 9223372036854775807, 999999.99, 1e6, 'infinity', 'infinity', 'infinity', '24:00', 'NaN', ''),
    (5002, 1, -2147483648, -32768, -9223372036854775808, -999999.99, -1e6, '-infinity', '-infinity', '-infinity', '00:00', '-infinity', 'zz');
INSERT INTO span VALUES (6001, 1, -2147483648, 2147483647, -9223372036854775808, -99999, 99999, '-infinity', 'infinity', '-infinity', 'infinity', '-infinity', ''),
    (6002, 1, 2147483647, 2147483647, 9223372036854775807, 0, 0, 'infinity', 'infinity', 'infinity', 'infinity', 'NaN', 'zz');
CREATE INDEX event_i ON event USING gpu_column (id, kind, number, small, big, price, loose, day, at, moment, clock, f8, word);
CREATE INDEX span_i ON span USING gpu_column (id, kind, low, high, big_low, price_low, price_high, first_day, last_day, begins, ends, f8, word);
VACUUM ANALYZE event, span;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- Values in ranges, and ranges with values, by every kind of join.
SELECT * FROM compare_all($list$
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON e.number BETWEEN s.low AND s.high
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON e.number >= s.low AND e.number < s.high
SELECT s.id, count(e.id), sum(e.price) FROM span s LEFT JOIN event e ON e.number >= s.low AND e.number < s.high GROUP BY 1
SELECT count(*), count(s.id), sum(s.id) FROM event e LEFT JOIN span s ON e.number > s.low AND e.number <= s.high
SELECT count(*), count(s.id), count(e.id) FROM event e RIGHT JOIN span s ON e.number BETWEEN s.low AND s.high
SELECT count(*), sum(id) FROM event e WHERE EXISTS (SELECT FROM span s WHERE e.number BETWEEN s.low AND s.high)
SELECT count(*), sum(id) FROM event e WHERE NOT EXISTS (SELECT FROM span s WHERE e.number BETWEEN s.low AND s.high AND s.id < 40)
SELECT count(*), sum(id) FROM span s WHERE NOT EXISTS (SELECT FROM event e WHERE e.number BETWEEN s.low AND s.high)
SELECT e.id, s.id FROM event e JOIN span s ON e.number BETWEEN s.low AND s.high AND e.price > s.price_low WHERE e.id < 200
$list$);
-- One bound, two of one column, several for the same one, and those that both sides compute.
SELECT * FROM compare_all($list$
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON e.number < s.low
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON s.low < e.number
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON s.low >= e.number AND s.low < e.number::int8 + 5
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON e.number > s.low AND e.number > s.high AND e.number < s.high::int8 + s.low AND e.id <> s.id
SELECT count(*), sum(a.id), sum(b.id) FROM span a JOIN span b ON a.low < b.high AND b.low < a.high AND a.id < b.id
SELECT count(*), sum(a.id - b.id) FROM event a JOIN event b ON b.number > a.number::int8 - 3 AND b.number < a.number::int8 + 3
SELECT count(*) FROM event e JOIN span s ON e.number::int8 - 10 BETWEEN s.low::int8 * 2 AND s.high::int8 * 2 + 1
SELECT count(*) FROM event e, span s WHERE e.number + s.id::int8 BETWEEN s.low AND s.high
SELECT count(*) FROM event e JOIN span s ON 10 BETWEEN s.low AND e.number
$list$);
-- Beside keys: ranges of the same kind.
SELECT * FROM compare_all($list$
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON e.kind = s.kind AND e.number BETWEEN s.low AND s.high
SELECT e.kind, count(*), count(s.id) FROM event e LEFT JOIN span s ON e.kind = s.kind AND e.number >= s.low AND e.number < s.high GROUP BY 1
SELECT s.id, count(e.id) FROM span s LEFT JOIN event e ON e.kind = s.kind AND e.at >= s.begins AND e.at < s.ends GROUP BY 1
SELECT count(*), count(e.id), count(s.id) FROM event e FULL JOIN span s ON e.kind = s.kind AND e.number BETWEEN s.low AND s.high
SELECT count(*), sum(a.id), sum(b.id) FROM event a JOIN event b ON a.kind = b.kind AND b.at > a.at AND b.at <= a.at + interval '2 hours'
SELECT count(*) FROM event a WHERE EXISTS (SELECT FROM event b WHERE a.kind = b.kind AND a.word = b.word AND b.at > a.at AND b.at < a.at + interval '1 day')
SELECT count(*) FROM event a WHERE NOT EXISTS (SELECT FROM event b WHERE a.kind = b.kind AND b.number > a.number)
$list$);
-- Other types: those whose values have the order of integers, and those that have not.
SELECT * FROM compare_all($list$
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON e.day BETWEEN s.first_day AND s.last_day
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON e.at >= s.begins AND e.at < s.ends
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON e.moment >= s.first_day AND e.moment < s.last_day
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON e.at BETWEEN s.first_day AND s.last_day
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON e.price >= s.price_low AND e.price < s.price_high
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON e.loose >= s.price_low AND e.loose < s.price_high
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON e.number >= s.price_low AND e.number < s.price_high
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON e.big >= s.big_low AND e.small <= s.high
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON e.f8 < s.f8
SELECT count(*), sum(a.id), sum(b.id) FROM span a JOIN event b ON b.f8 BETWEEN a.f8 - 1 AND a.f8 + 1
SELECT count(*), sum(b.id) FROM span a JOIN event b ON a.kind = b.kind AND b.f8 >= a.low AND b.f8 < a.high
SELECT count(*), sum(e.id), sum(s.id) FROM event e JOIN span s ON e.word > s.word AND e.number < s.high
SELECT count(*), sum(e.id) FROM event e JOIN span s ON e.clock < s.begins::time AND e.number > s.low
$list$);
-- Calendars and lists that the statement makes, subqueries and groups.
SELECT * FROM compare_all($list$
SELECT d, count(e.id), sum(e.price) FROM generate_series(timestamptz '2024-03-25', '2024-04-20', '1 day') AS d LEFT JOIN event e ON e.at >= d AND e.at < d + interval '1 day' GROUP BY 1
SELECT d::date, count(e.id) FROM generate_series(date '2024-03-25', date '2024-04-20', '1 week') AS d LEFT JOIN event e ON e.day >= d::date AND e.day < d::date + 7 GROUP BY 1
SELECT name, count(*), avg(price) FROM event JOIN (VALUES ('low', 0, 20), ('middle', 20, 50), ('high', 50, NULL)) AS b (name, least, most) ON price >= least AND price < most GROUP BY 1
SELECT name, count(*) FROM event JOIN (VALUES ('low', 0, 20), ('middle', 20, 50), ('high', 50, NULL)) AS b (name, least, most) ON price >= least AND (price < most OR most IS NULL) GROUP BY 1
SELECT count(*), sum(n) FROM (SELECT kind, min(low) AS low, count(*) AS n FROM span GROUP BY kind) AS g JOIN event e ON e.number < g.low
SELECT count(*), sum(g.n) FROM event e JOIN (SELECT kind, min(low) AS low, max(high) AS high, count(*) AS n FROM span GROUP BY kind) AS g ON e.kind = g.kind AND e.number BETWEEN g.low AND g.high
SELECT s.id, e.id FROM span s JOIN event e ON e.number BETWEEN s.low AND s.high ORDER BY s.id, e.id LIMIT 20
SELECT s.id, sum(e.price) FROM span s JOIN event e ON e.number BETWEEN s.low AND s.high JOIN event f ON f.id = e.id AND f.at >= s.begins GROUP BY 1
SELECT count(*) FROM event e JOIN span s ON e.number BETWEEN s.low AND s.high WHERE false
SELECT count(*) FROM event e LEFT JOIN (SELECT * FROM span WHERE id < 0) AS s ON e.number BETWEEN s.low AND s.high
$list$);
-- An error that a bound raises is PostgreSQL's.
SELECT count(*) FROM event e JOIN span s ON s.id > 5 AND e.number > 100 / (s.id - 5);
SELECT count(*) FROM event e JOIN span s ON e.number > s.id / (s.id - 5);
SET enable_memoize = off;
SET enable_material = off;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM event e JOIN span s ON e.number BETWEEN s.low AND s.high;

DROP FUNCTION compare, compare_all, who_answers, answer_of;
DROP TABLE event, span;
