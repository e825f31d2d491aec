-- GpuQuery joins tables by keys of all types: values that are repeated on both sides, NULLs, NaN and -0, numerics of several scales, texts that are padded
-- or have collations. Each statement is run with the node and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'Europe/Berlin';

CREATE COLLATION regress_join_caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TYPE join_mood AS ENUM ('sad', 'fine', 'glad');
CREATE TABLE many (
    id int4, small int2, number int4, big int8, loose numeric, cents numeric(8,2), fine numeric(14,4), day date, moment timestamp, instant timestamptz, at time, gap interval, word text,
    plain text COLLATE "C", short varchar(12), padded char(5), wide char(9), caseless text COLLATE regress_join_caseless, f4 float4, f8 float8, flag bool, code uuid, mood join_mood, blob bytea, address inet) WITH (autovacuum_enabled = off);
CREATE TABLE others (LIKE many) WITH (autovacuum_enabled = off);
CREATE FUNCTION join_rows(first int, last int, step int) RETURNS SETOF many LANGUAGE sql AS $$
SELECT i, v::int2, v, v::int8 * 10000000000, CASE v % 3 WHEN 0 THEN v WHEN 1 THEN v::numeric(9,1) ELSE v::numeric(9,3) END / CASE WHEN v % 7 = 0 THEN 4 ELSE 1 END, v / 4.0, v / 4.0,
       date '2024-02-20' + v % 60, timestamp '2024-03-30' + v * interval '6 hours', timestamptz '2024-03-30 00:00+00' + v * interval '30 minutes', time '00:00' + v % 90 * interval '16 minutes',
       CASE WHEN v % 2 = 0 THEN v % 50 * interval '1 day' ELSE v % 50 * interval '24 hours' END, (ARRAY['', 'a', 'A', 'ab', 'ä', 'b '])[1 + v % 6] || v % 40, 'Word ' || v % 70, 'v' || v % 90,
       'p' || v % 80, 'p' || v % 80, CASE WHEN i % 2 = 0 THEN 'Key ' ELSE 'kEY ' END || v % 30,
       (CASE v % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '0' WHEN 3 THEN 'Infinity' ELSE (v / 4.0)::text END)::float4,
       (CASE v % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '0' WHEN 3 THEN '-Infinity' ELSE (v / 4.0)::text END)::float8,
       v % 5 = 0, md5((v % 60)::text)::uuid, (ARRAY['sad', 'fine', 'glad'])[1 + v % 3]::join_mood, decode(lpad(to_hex(v % 70), 4, '0'), 'hex'), inet '10.0.0.0' + v % 100
FROM (SELECT i, CASE WHEN hashint4(i) % 11 = 0 THEN NULL ELSE abs(hashint4(i * 3 + 1)) % 250 END AS v FROM generate_series(first, last, step) AS i) AS s
$$;
INSERT INTO many SELECT * FROM join_rows(1, 2000, 1);
INSERT INTO others SELECT * FROM join_rows(10000, 11300, 3);
-- Values that only one of the tables has, beyond the other's.
INSERT INTO many SELECT id, 1000, 100000, -5, 1e20, -1, 1e9, '1000-01-01', '-infinity', 'infinity', '24:00', '-1 mon', 'only here', 'only here', 'x', 'x', 'x', 'x', 1e30, 1e300, NULL, NULL, NULL, '\x', '::1'
FROM generate_series(3001, 3003) AS id;
INSERT INTO others SELECT id, -1000, -100000, 7, -1e-20, -2, 1e8, '3000-01-01', 'infinity', '-infinity', '23:59', '1 mon', 'only there', 'only there', 'y', 'y', 'y', 'y', -1e30, -1e300, NULL, NULL, NULL, '\x01', '::2'
FROM generate_series(13001, 13002) AS id;
CREATE INDEX many_i ON many USING gpu_column (id, small, number, big, loose, cents, fine, day, moment, instant, at, gap, word, plain, short, padded, wide, caseless, f4, f8, flag, code, mood, blob, address);
CREATE INDEX others_i ON others USING gpu_column (id, small, number, big, loose, cents, fine, day, moment, instant, at, gap, word, plain, short, padded, wide, caseless, f4, f8, flag, code, mood, blob, address);
VACUUM ANALYZE many, others;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- The kinds of joins by a condition; those that compare rows of both show which of them met.
CREATE TEMP TABLE kinds AS SELECT * FROM (VALUES
    (1, 'inner', 'SELECT count(*), sum(m.id), sum(o.id), sum(mod(m.id, 101) * mod(o.id, 103)) FROM many AS m JOIN others AS o ON %s'),
    (2, 'left', 'SELECT count(*), count(o.id), sum(m.id), sum(o.id), sum(mod(m.id, 101) * mod(o.id, 103)) FROM many AS m LEFT JOIN others AS o ON %s'),
    (3, 'full', 'SELECT count(*), count(m.id), count(o.id), sum(m.id), sum(o.id) FROM many AS m FULL JOIN others AS o ON %s'),
    (4, 'semi', 'SELECT count(*), sum(m.id) FROM many AS m WHERE EXISTS (SELECT FROM others AS o WHERE %s)'),
    (5, 'anti', 'SELECT count(*), sum(m.id) FROM many AS m WHERE NOT EXISTS (SELECT FROM others AS o WHERE %s)')) AS v (n, kind, query);

-- By a column of each type.
CREATE TEMP TABLE types AS SELECT attnum AS n, attname AS name FROM pg_attribute WHERE attrelid = 'many'::regclass AND attnum > 1;
SELECT t.name, k.kind, c.* FROM types AS t, kinds AS k, compare(format(k.query, format('m.%1$I = o.%1$I', t.name))) AS c ORDER BY t.n, k.n;

-- By columns of two types, expressions, several keys.
CREATE TEMP TABLE conditions (n int GENERATED ALWAYS AS IDENTITY, condition text);
INSERT INTO conditions (condition) VALUES
    ('m.small = o.number'), ('m.number = o.small'), ('m.big = o.number'), ('m.small = o.big / 10000000000'), ('m.number = o.loose'), ('m.cents = o.fine'), ('m.loose = o.cents'), ('m.cents * 4 = o.number'),
    ('m.number = o.f8'), ('m.f4 = o.f8'), ('m.loose = o.f8'), ('m.day = o.moment'), ('m.moment = o.day'), ('m.day = o.instant'), ('m.moment = o.instant'), ('m.word = o.plain COLLATE "C"'),
    ('m.word = o.short'), ('m.padded = o.wide'), ('m.padded = o.word'), ('m.short = o.padded'), ('m.word COLLATE "C" = o.word COLLATE "C"'),
    ('m.number + 1 = o.number'), ('m.number = o.number - 5'), ('m.number % 20 = o.number % 20 + 3'), ('m.number + o.number = 250'), ('m.number * 2 = o.number + o.small'), ('-m.f8 = o.f8'),
    ('m.f8 + 0 = o.f8'), ('abs(m.f8) = o.f4'), ('m.day + 1 = o.day'), ('date_trunc(''day'', m.moment) = date_trunc(''day'', o.moment) AND m.number > 120'),
    ('extract(day FROM m.moment) = o.number'), ('extract(month FROM m.day) = extract(month FROM o.moment) AND m.id % 10 = 1 AND o.id % 10 = 2'),
    ('upper(m.plain) = upper(o.plain)'), ('left(m.word, 2) = left(o.word, 2) AND m.id < 300 AND o.id < 10300'), ('m.word || m.short = o.word || o.short'), ('length(m.word) = o.number'),
    ('coalesce(m.number, -1) = coalesce(o.number, -1)'), ('coalesce(m.word, ''none'') = o.word'), ('nullif(m.number, 3) = nullif(o.number, 4)'),
    ('CASE WHEN m.flag THEN m.number ELSE m.small END = o.number'), ('CASE WHEN m.flag THEN m.number END = CASE WHEN NOT o.flag THEN o.number END'), ('m.number = o.number AND m.word = o.word'),
    ('m.small = o.small AND m.cents = o.cents AND m.padded = o.padded AND m.f8 = o.f8'), ('m.flag = o.flag AND m.mood = o.mood AND m.day = o.day'), ('m.day = o.day AND m.small = o.number AND m.word = o.word'),
    ('m.number = o.number AND m.number = o.small'), ('m.number = o.number AND m.small = o.number AND m.number = m.small'), ('m.number = o.number AND m.number = 17'),
    ('m.number = o.number AND o.number IN (1, 2, 3, 250)'), ('(m.number, m.word) = (o.number, o.word)'), ('(m.number = o.number) = true'), ('m.number IS NOT DISTINCT FROM o.number AND m.word = o.word'),
    ('m.flag = (o.number > 200) AND m.number = o.number'), ('m.code = o.code AND m.code <> ''00000000-0000-0000-0000-000000000000'''), ('m.number = ANY (ARRAY[o.number, o.small])'),
    ('m.number = o.number OR m.small = o.number'), ('m.number = o.number AND (m.word > o.word OR m.id < o.id - 9000)'), ('m = o');
SELECT c.condition, k.kind, r.* FROM conditions AS c, kinds AS k, compare(format(k.query, c.condition)) AS r
WHERE k.n IN (1, 1 + (c.n % 4) + CASE WHEN c.condition ~ 'DISTINCT|ANY|OR' AND c.n % 4 = 2 THEN 1 ELSE 0 END)
ORDER BY c.n, k.n;

-- Keys that are shown as one of the two sides has them: of equal values that look different, those of the named side.
SELECT * FROM compare_all($list$
SELECT m.f8, count(*) FROM many m JOIN others o ON m.f8 = o.f8 WHERE m.f8 > 10 GROUP BY 1
SELECT o.f8 + 0, count(*) FROM many m JOIN others o ON m.f8 = o.f8 GROUP BY 1
SELECT m.cents, count(*) FROM many m JOIN others o ON m.cents = o.fine GROUP BY 1
SELECT o.fine, count(*) FROM many m JOIN others o ON m.cents = o.fine GROUP BY 1
SELECT m.cents, o.fine, count(*) FROM many m FULL JOIN others o ON m.cents = o.fine GROUP BY 1, 2
SELECT coalesce(m.cents, o.fine), count(*) FROM many m FULL JOIN others o ON m.cents = o.fine GROUP BY 1
SELECT m.loose, count(*) FROM many m JOIN others o ON m.loose = o.cents GROUP BY 1
SELECT m.padded, o.wide, count(*) FROM many m JOIN others o ON m.padded = o.wide GROUP BY 1, 2
SELECT length(m.padded), length(o.wide), count(*) FROM many m JOIN others o ON m.padded = o.wide GROUP BY 1, 2
SELECT min(m.padded), max(o.wide), mode() WITHIN GROUP (ORDER BY m.padded) FROM many m JOIN others o ON m.padded = o.wide
SELECT m.padded, o.wide FROM many m JOIN others o ON m.padded = o.wide WHERE m.id < 300
SELECT DISTINCT m.padded || '.', o.wide FROM many m JOIN others o ON m.padded = o.wide
SELECT m.padded, o.v, count(*) FROM many m JOIN (SELECT wide::varchar(9) AS v FROM others) AS o ON m.padded = o.v GROUP BY 1, 2
SELECT o.v::bpchar, count(*) FROM many m JOIN (SELECT wide::varchar(9) AS v FROM others) AS o ON m.padded = o.v GROUP BY 1
SELECT m.small, o.number, sum(m.number + o.small) FROM many m JOIN others o ON m.small = o.number GROUP BY 1, 2
SELECT m.day, o.moment, count(*) FROM many m JOIN others o ON m.day = o.moment GROUP BY 1, 2
SELECT day, count(*) FROM many JOIN others USING (day) GROUP BY 1
SELECT day, count(*) FROM many LEFT JOIN others USING (day) GROUP BY 1
SELECT day, count(*) FROM many RIGHT JOIN others USING (day) GROUP BY 1
SELECT day, count(*) FROM many FULL JOIN others USING (day) GROUP BY 1
SELECT number, word, count(*) FROM many FULL JOIN others USING (number, word) GROUP BY 1, 2
SELECT count(*), sum(number) FROM (SELECT small, number FROM many) AS m NATURAL JOIN (SELECT small, number FROM others) AS o
SELECT m.mood, o.mood, m.flag, count(*) FROM many m JOIN others o ON m.number = o.number GROUP BY 1, 2, 3
SELECT m.code, m.blob, m.address, count(*) FROM many m JOIN others o ON m.number = o.number GROUP BY 1, 2, 3
SELECT min(m.word), max(o.plain), min(m.at), max(o.instant), min(o.f4), max(m.f8) FROM many m JOIN others o ON m.number = o.number
SELECT max(m.gap), min(o.gap) FROM many m JOIN others o ON m.gap = o.gap
$list$);

-- IN and NOT IN, whose answers NULLs of either side decide.
SELECT * FROM compare_all($list$
SELECT count(*), sum(id) FROM many WHERE number IN (SELECT number FROM others)
SELECT count(*), sum(id) FROM many WHERE number NOT IN (SELECT number FROM others)
SELECT count(*), sum(id) FROM many WHERE number NOT IN (SELECT number FROM others WHERE number IS NOT NULL)
SELECT count(*), sum(id) FROM many WHERE number NOT IN (SELECT number FROM others WHERE number > 100)
SELECT count(*), sum(id) FROM many WHERE number NOT IN (SELECT number FROM others WHERE number > 100000)
SELECT count(*), sum(id) FROM many WHERE number NOT IN (SELECT number FROM others WHERE number IS NULL)
SELECT count(*), sum(id) FROM many WHERE word NOT IN (SELECT word FROM others WHERE word IS NOT NULL AND number > 100)
SELECT count(*), sum(id) FROM many WHERE f8 NOT IN (SELECT f8 FROM others WHERE f8 > 20)
SELECT count(*), sum(id) FROM many WHERE small NOT IN (SELECT number FROM others WHERE number < 100)
SELECT count(*), sum(id) FROM many WHERE (number, word) IN (SELECT number, word FROM others)
SELECT count(*), sum(id) FROM many WHERE (number, word) NOT IN (SELECT number, word FROM others WHERE number > 50)
SELECT count(*), sum(id) FROM many WHERE number IN (SELECT number FROM others) OR id % 50 = 0
SELECT count(*), sum(id) FROM many WHERE number NOT IN (SELECT number FROM others WHERE number > 10) AND small NOT IN (SELECT small FROM others WHERE small < 5)
SELECT count(*) FILTER (WHERE number IN (SELECT number FROM others)), count(*) FILTER (WHERE number NOT IN (SELECT number FROM others)) FROM many
SELECT number IN (SELECT number FROM others WHERE flag), count(*) FROM many GROUP BY 1
SELECT count(*) FROM many WHERE number = ANY (SELECT number FROM others)
SELECT count(*) FROM many WHERE number <> ALL (SELECT number FROM others WHERE number > 100)
SELECT count(*) FROM many WHERE number > ALL (SELECT number FROM others WHERE number < 100)
SELECT count(*) FROM many m WHERE EXISTS (SELECT FROM others o WHERE o.number = m.number AND o.id <> m.id + 9000)
SELECT count(*) FROM many m WHERE NOT EXISTS (SELECT FROM others o WHERE o.number = m.number AND o.word <> m.word)
SELECT count(*) FROM many m WHERE EXISTS (SELECT FROM others)
SELECT count(*) FROM many m WHERE NOT EXISTS (SELECT FROM others WHERE number > 100000)
SELECT count(*) FROM many WHERE number IN (SELECT DISTINCT number FROM others)
SELECT count(*) FROM many WHERE number IN (SELECT number FROM others GROUP BY number HAVING count(*) > 2)
SELECT count(*) FROM many WHERE number IN (SELECT number FROM others INTERSECT SELECT small FROM others)
$list$);
-- From PostgreSQL 17 on it becomes a join.
SELECT rows, same FROM compare('SELECT count(*) FROM many m WHERE number IN (SELECT o.number FROM others o WHERE o.word = m.word)');

DROP FUNCTION compare, compare_all, who_answers, answer_of;
DROP FUNCTION join_rows;
DROP TABLE many, others;
DROP TYPE join_mood;
DROP COLLATION regress_join_caseless;
