-- Columns of many types in the node GpuQuery, those without a hash function among them: each statement is run with the node and without it, and the
-- answers are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;
SET parallel_setup_cost = 0;

CREATE TABLE kinds (id int4, part int4, bits bit(4), more varbit, cash money, code uuid, host inet, net cidr, mac macaddr, raw bytea, doc jsonb, span int4range, during tsrange, short char(4), letter "char",
                    called name, number oid, clock time, zoned timetz, lasts interval, word text, huge numeric) WITH (autovacuum_enabled = off);
INSERT INTO kinds SELECT i, i % 20, (i % 16)::bit(4), substr((i % 8)::bit(3)::text, 1 + i % 2)::varbit, (i % 100 - 20)::money / 4, md5((i % 50)::text)::uuid, ('10.0.' || i % 7 || '.' || i % 11)::inet, ('10.' || i % 9 || '.0.0/16')::cidr,
    ('08:00:2b:01:02:0' || i % 10)::macaddr, decode(md5((i % 40)::text), 'hex'), jsonb_build_object('kind', 'k' || i % 3, 'n', i % 10), int4range(i % 10, i % 10 + 5), tsrange(timestamp '2024-01-01' + i % 20 * interval '1 day', '2024-02-01'),
    chr(97 + i % 4), chr(97 + i % 5)::"char", ('n' || i % 9)::name, (i % 15)::oid, time '00:00' + i % 1440 * interval '1 minute', timetz '00:00+02' + i % 1440 * interval '1 minute', i % 30 * interval '1 hour', 'w' || i % 30,
    CASE WHEN i = 700 THEN 1e40 ELSE i END
FROM generate_series(1, 4000) AS i;
INSERT INTO kinds (id) VALUES (4001), (4002);
CREATE INDEX kinds_i ON kinds USING gpu_column (id, part, bits, more, cash, code, host, net, mac, raw, doc, span, during, short, letter, called, number, clock, zoned, lasts, word, huge);
VACUUM ANALYZE kinds;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- Of each column, if the type has what it takes: groups, distinct values, the least and the greatest one, comparisons, first rows, joins.
SELECT a.attname, c.*
FROM pg_attribute AS a, compare(format('SELECT %1$I, count(*), sum(part) FROM kinds GROUP BY 1', attname)) AS g, compare(format('SELECT count(DISTINCT %1$I), count(%1$I) FROM kinds', attname)) AS d,
    compare(format('SELECT * FROM (SELECT id, %1$I FROM kinds ORDER BY 2 DESC NULLS LAST, id LIMIT 9) AS s', attname)) AS o, compare(format('SELECT count(*) FROM kinds WHERE %1$I > (SELECT %1$I FROM kinds WHERE id = 7)', attname)) AS w,
    compare(format('SELECT count(*), sum(b.part) FROM kinds AS a JOIN kinds AS b ON a.%1$I = b.%1$I AND a.id = b.id + 20', attname)) AS j, compare(format('SELECT DISTINCT %1$I, part < 5 FROM kinds WHERE id <> 3', attname)) AS s,
    LATERAL (SELECT g.who AS groups, d.who AS values, o.who AS ordered, w.who AS compared, j.who AS joined, s.who AS distinct_rows, ARRAY[g.same, d.same, o.same, w.same, j.same, s.same] = array_fill('same'::text, ARRAY[6]) AS same) AS c
WHERE attrelid = 'kinds'::regclass AND attnum > 2 ORDER BY attnum;
SELECT * FROM compare_all($list$
SELECT part, sum(cash), min(cash), max(cash), sum(cash) FILTER (WHERE cash > '2'::money), sum(cash * 3) FROM kinds GROUP BY part
SELECT sum(cash), sum(DISTINCT cash), sum(cash::numeric), avg(cash::numeric) FROM kinds
SELECT part FROM kinds GROUP BY part HAVING sum(cash) > '100'::money
SELECT more, bits, count(*) FROM kinds GROUP BY ROLLUP (more, bits)
SELECT bits, sum(id) FROM kinds GROUP BY 1 ORDER BY 2 DESC LIMIT 3
SELECT bits, count(DISTINCT part), array_length(bits, 1) IS NULL FROM (SELECT ARRAY[1] AS bits, part FROM kinds) AS s GROUP BY 1
SELECT CASE WHEN part > 3 THEN bits ELSE B'1111' END, count(*) FROM kinds GROUP BY 1
SELECT count(*) FROM kinds WHERE bits = B'1010' OR more IN (B'101', B'01') OR bits & B'0001' = B'0001'
SELECT bits, part, count(*) FROM (SELECT bits, part, clock FROM kinds GROUP BY 1, 2, 3) AS s GROUP BY 1, 2
-- PostgreSQL's own plan sorts what it can't hash.
SELECT bits, sum(huge) FROM kinds GROUP BY bits
SELECT more, cash, sum(huge), count(DISTINCT word) FROM kinds GROUP BY more, cash
SELECT bits, word, sum(huge) FROM kinds GROUP BY GROUPING SETS ((bits), (bits, word), (word))
$list$);
INSERT INTO kinds SELECT * FROM kinds WHERE id % 100 = 7;
DELETE FROM kinds WHERE id % 50 = 3;
SELECT * FROM compare_all($list$
SELECT bits, more, cash, count(*) FROM kinds GROUP BY 1, 2, 3
SELECT DISTINCT more FROM kinds
$list$);
DROP TABLE kinds;
DROP FUNCTION answer_of, who_answers, compare, compare_all;
