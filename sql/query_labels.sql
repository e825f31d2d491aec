-- Orders of values that the engine knows by numbers alone: enums, whose labels may have been added before others, and what else has an order of its
-- own. Each statement is run with the node GpuQuery and without it.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;

CREATE TYPE grade AS ENUM ('minor', 'major', 'critical');
-- The numbers of these labels don't have the labels' order.
ALTER TYPE grade ADD VALUE 'warning' BEFORE 'minor';
ALTER TYPE grade ADD VALUE 'info' BEFORE 'warning';
ALTER TYPE grade ADD VALUE 'serious' AFTER 'major';
CREATE TYPE colour AS ENUM ('red', 'green', 'blue');
CREATE DOMAIN known_grade AS grade CHECK (VALUE IS NOT NULL OR VALUE IS NULL);
CREATE TABLE alert (id int4, device int4, sev grade, other grade, known known_grade, hue colour, token uuid, address inet, tags int4[], price money, letter "char", who text) WITH (autovacuum_enabled = off);
INSERT INTO alert
SELECT i, i % 97, CASE WHEN i % 11 <> 0 THEN (enum_range(NULL::grade))[1 + i * 31 % 6] END, CASE WHEN i % 7 <> 0 THEN (enum_range(NULL::grade))[1 + i * 17 % 5] END,
    CASE WHEN i % 5 <> 0 THEN (enum_range(NULL::grade))[1 + i * 13 % 6] END, (enum_range(NULL::colour))[1 + i % 3], CASE WHEN i % 3 <> 0 THEN md5((i % 50)::text)::uuid END,
    CASE WHEN i % 4 <> 0 THEN ('10.' || i % 7 || '.' || i % 200 || '.1/' || 8 + i % 20)::inet END, CASE WHEN i % 6 <> 0 THEN ARRAY[i % 9, i % 4] END,
    CASE WHEN i % 8 <> 0 THEN ((i * 7919 % 900) - 450)::money END, chr(64 + i % 26)::"char", 'who ' || i % 4
FROM generate_series(1, 5000) AS i;
CREATE INDEX alert_i ON alert USING gpu_column (id, device, sev, other, known, hue, token, address, tags, price, letter, who);
CREATE TABLE device (device int4 PRIMARY KEY, worst grade, name text);
INSERT INTO device SELECT i, CASE WHEN i % 9 <> 0 THEN (enum_range(NULL::grade))[1 + i % 6] END, 'device ' || i FROM generate_series(0, 99) AS i;
CREATE INDEX device_i ON device USING gpu_column (device, worst, name);
-- What nobody has yet when the runs are made, and is in rows of the tail.
ALTER TYPE grade ADD VALUE 'notice' BEFORE 'warning';
VACUUM ANALYZE alert, device;
INSERT INTO alert SELECT 10000 + i, i, 'notice', 'notice', 'notice', 'red', NULL, NULL, NULL, NULL, 'a', 'late' FROM generate_series(1, 5) AS i;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set rows_of :source '/test/regress/rows_of.sql'
\set ECHO none
\i :compare
\i :rows_of
\set ECHO all
-- The answers in their order.
CREATE FUNCTION compare_order(query text, OUT who text, OUT rows int, OUT same text) LANGUAGE plpgsql AS $$
DECLARE
    by_node text[] := rows_of(query);
    without text[];
BEGIN
    who := who_answers(query);
    SET LOCAL pg_gpu.enable_query = off;
    SET LOCAL enable_seqscan = on;
    without := rows_of(query);
    SET LOCAL pg_gpu.enable_query = on;
    SET LOCAL enable_seqscan = off;
    rows := cardinality(by_node);
    same := CASE WHEN by_node = without THEN 'same' ELSE format('%s, without the node %s', left(by_node::text, 200), left(without::text, 200)) END;
END $$;

-- Labels.
SELECT * FROM compare_all($list$
SELECT min(sev), max(sev), min(other), max(known::grade), count(DISTINCT sev) FROM alert
SELECT device % 5, min(sev), max(sev), max(known::grade) FILTER (WHERE sev < 'major'), min(hue) FROM alert GROUP BY 1
SELECT who, count(*) FILTER (WHERE sev >= 'major'), count(*) FILTER (WHERE sev <= 'notice'), count(*) FILTER (WHERE sev > other), count(*) FILTER (WHERE known::grade < sev) FROM alert GROUP BY who
SELECT greatest(sev, other), count(*), least(sev, known::grade, 'major') FROM alert GROUP BY 1, 3
SELECT CASE WHEN sev > 'minor' THEN greatest(sev, other) ELSE known::grade END, count(*) FROM alert GROUP BY 1
SELECT coalesce(greatest(sev, NULL), other), count(*) FROM alert GROUP BY 1
SELECT greatest(sev, other) = other, greatest(sev, other) IS DISTINCT FROM known::grade, nullif(greatest(sev, other), 'major'), count(*) FROM alert GROUP BY 1, 2, 3
SELECT mode() WITHIN GROUP (ORDER BY sev), percentile_disc(0.25) WITHIN GROUP (ORDER BY other), percentile_disc(0.9) WITHIN GROUP (ORDER BY known::grade) FROM alert
SELECT hue, max(sev) FROM alert GROUP BY hue HAVING max(sev) >= 'critical' AND min(sev) < 'major'
SELECT device, max(sev) FROM alert GROUP BY device HAVING min(other) > 'info'
SELECT count(*) FROM alert WHERE sev BETWEEN 'warning' AND 'serious' AND other >= 'minor'
SELECT m, count(*) FROM (SELECT device, max(sev) AS m FROM alert GROUP BY device) AS s GROUP BY m
SELECT a.device, a.sev FROM alert AS a JOIN (SELECT device, max(sev) AS m FROM alert GROUP BY device) AS s ON a.device = s.device AND a.sev = s.m WHERE a.id < 700
SELECT upper(greatest(sev, other)::text), count(*) FROM alert GROUP BY 1
$list$);
-- Joins.
SELECT * FROM compare_all($list$
SELECT d.name, count(a.id) FROM device AS d LEFT JOIN alert AS a ON a.device = d.device AND a.sev >= 'major' GROUP BY d.name
SELECT d.worst, count(*) FROM device AS d JOIN alert AS a ON a.device = d.device AND a.sev > d.worst GROUP BY d.worst
SELECT d.worst, max(a.sev), min(a.known::grade) FROM device AS d JOIN alert AS a USING (device) WHERE a.sev >= 'major' AND d.worst <> 'info' GROUP BY 1
SELECT count(*) FROM alert AS a WHERE EXISTS (SELECT FROM device AS d WHERE d.device = a.device AND d.worst < a.sev)
SELECT count(*) FROM alert AS a JOIN device AS d ON greatest(a.sev, a.other) = d.worst
SELECT u.s, count(*) FROM (SELECT sev AS s FROM alert UNION ALL SELECT worst FROM device) AS u WHERE u.s >= 'minor' GROUP BY 1
$list$);
-- First rows and first groups.
SELECT * FROM compare_all($list$
SELECT sev, id FROM alert ORDER BY sev, id LIMIT 20
SELECT id, sev, other FROM alert WHERE other > 'info' ORDER BY sev DESC NULLS LAST, other, id LIMIT 30 OFFSET 5
SELECT sev, count(*) FROM alert GROUP BY sev ORDER BY sev LIMIT 3
SELECT device, sev, count(*) FROM alert GROUP BY device, sev ORDER BY sev DESC, count(*) DESC, device LIMIT 12
SELECT device, max(sev) FROM alert GROUP BY device ORDER BY max(sev) DESC, device LIMIT 7
SELECT a.id, d.worst FROM alert AS a JOIN device AS d USING (device) ORDER BY d.worst, a.id DESC LIMIT 9
SELECT price, id FROM alert ORDER BY price, id LIMIT 9
$list$, 'compare_order');
-- Other types.
SELECT * FROM compare_all($list$
SELECT who, min(price), max(price), min(address), max(address), min(tags), max(tags) FROM alert GROUP BY who
SELECT who, count(*) FILTER (WHERE token > '80000000-0000-0000-0000-000000000000'), count(*) FILTER (WHERE address < '10.3.0.0/16'), count(*) FILTER (WHERE tags >= '{4}'), count(*) FILTER (WHERE price < '-5'::money) FROM alert GROUP BY who
SELECT who, min(greatest(price, '-2'::money)), count(*) FILTER (WHERE letter > 'M') FROM alert GROUP BY who
SELECT mode() WITHIN GROUP (ORDER BY token), percentile_disc(0.3) WITHIN GROUP (ORDER BY address), percentile_disc(0.6) WITHIN GROUP (ORDER BY price) FROM alert
$list$);

-- Sub-selects and first rows for each row, with conditions on labels, which can't raise errors.
EXPLAIN (COSTS OFF) SELECT d.name, l.id FROM device d CROSS JOIN LATERAL (SELECT id FROM alert a WHERE a.device = d.device AND a.sev = 'major' ORDER BY id DESC LIMIT 2) l WHERE d.worst = 'minor';
SELECT * FROM compare_all($list$
SELECT d.name, l.id FROM device d CROSS JOIN LATERAL (SELECT id FROM alert a WHERE a.device = d.device AND a.sev = 'major' ORDER BY id DESC LIMIT 2) l WHERE d.worst = 'minor'
SELECT count(*) FROM device d WHERE (SELECT count(*) FROM alert a WHERE a.device = d.device AND a.sev >= 'major') > 20
SELECT d.name, (SELECT count(*) FROM alert a WHERE a.device = d.device AND a.sev <> d.worst) FROM device d WHERE d.worst IN ('info', 'serious')
$list$);

-- A prepared statement meets a label that is added.
PREPARE worst AS SELECT max(sev), min(sev), count(*) FILTER (WHERE sev > 'critical') FROM alert;
EXECUTE worst;
ALTER TYPE grade ADD VALUE 'fatal' AFTER 'critical';
ALTER TYPE grade ADD VALUE 'debug' BEFORE 'info';
INSERT INTO alert (id, sev) VALUES (20000, 'fatal'), (20001, 'debug');
EXECUTE worst;
SELECT who_answers('SELECT max(sev), min(sev) FROM alert');

DROP FUNCTION compare, compare_all, compare_order, who_answers, answer_of, rows_of;
DROP TABLE alert, device;
DROP TYPE grade, colour CASCADE;
