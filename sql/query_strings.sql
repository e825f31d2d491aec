-- Strings that the server process numbers for the node GpuQuery: of several runs, with the session's own among and beside them. Each statement is run with
-- the node and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE visit (id int4, url text, phrase text COLLATE "C", name varchar(80), body bytea, title text) WITH (autovacuum_enabled = off);
CREATE FUNCTION visits(first int, last int) RETURNS SETOF visit LANGUAGE sql AS $$
SELECT i, CASE WHEN i % 41 <> 0 THEN 'http://example.com/' || repeat('part/', i % 3) || i * 7 % 1500 END, CASE WHEN i % 9 <> 0 THEN md5((i % 900)::text) ELSE '' END,
       'näme ' || i % 700, decode(md5((i % 800)::text), 'hex') || '\x00'::bytea, CASE WHEN i % 50 = 0 THEN repeat('long ', 3000) || i % 400 ELSE 'title ' || i % 450 END
FROM generate_series(first, last) AS i $$;
INSERT INTO visit SELECT * FROM visits(1, 4000);
CREATE INDEX visit_i ON visit USING gpu_column (id, url, phrase, name, body, title);
VACUUM ANALYZE visit;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

CREATE TEMP TABLE statements AS SELECT $list$
SELECT url, count(*) FROM visit GROUP BY url
SELECT url, phrase, count(*), sum(id) FROM visit GROUP BY url, phrase ORDER BY count(*) DESC, url, phrase LIMIT 10
SELECT count(DISTINCT url), count(DISTINCT phrase), count(DISTINCT name), count(DISTINCT body), count(DISTINCT title) FROM visit
SELECT phrase, count(*) FROM visit GROUP BY phrase ORDER BY phrase LIMIT 7
SELECT phrase, count(*) FROM visit GROUP BY phrase ORDER BY phrase DESC NULLS LAST LIMIT 7
SELECT min(phrase), max(phrase), count(DISTINCT url) FROM visit
SELECT name, min(phrase), max(phrase) FROM visit GROUP BY name
SELECT body, count(*), min(id) FROM visit GROUP BY body
SELECT title, count(*), max(id) FROM visit GROUP BY title
SELECT count(*) FILTER (WHERE phrase < name COLLATE "C"), count(*) FILTER (WHERE phrase = url), count(*) FILTER (WHERE coalesce(url, 'none') <> 'none') FROM visit
SELECT coalesce(url, 'none'), count(*) FROM visit GROUP BY 1
SELECT CASE WHEN id % 2 = 0 THEN url WHEN id % 3 = 0 THEN 'neither' ELSE phrase END, count(*) FROM visit GROUP BY 1
SELECT count(*) FILTER (WHERE CASE WHEN id % 2 = 0 THEN phrase ELSE name END COLLATE "C" BETWEEN 'a' AND 'b') FROM visit
SELECT greatest(phrase, name COLLATE "C"), count(*) FROM visit GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5
SELECT name, count(*) FROM visit WHERE url LIKE '%part/part%' GROUP BY name
SELECT url, phrase, name, body, title FROM visit GROUP BY 1, 2, 3, 4, 5
SELECT mode() WITHIN GROUP (ORDER BY phrase), percentile_disc(0.3) WITHIN GROUP (ORDER BY phrase) FROM visit
$list$ AS list;
SELECT compared.* FROM statements, compare_all(list) AS compared;

-- Several runs, in which strings come again and others don't.
INSERT INTO visit SELECT * FROM visits(3500, 9000);
INSERT INTO visit SELECT id, url || '/more', phrase || 'z', name, body, NULL FROM visits(1, 3000);
SELECT compared.* FROM statements, compare_all(list) AS compared;

-- The session's own rows have strings of runs, and others in front of all, between them and behind.
INSERT INTO visit VALUES (10001, '', '', 'näme 3', '\x', 'title 1'), (10002, 'http://example.com/', 'zzz', 'zzz', '\xff', ''), (10003, NULL, '0', 'a', '\x00', NULL),
    (10004, 'http://example.com/7', md5('7'), 'näme 7', decode(md5('7'), 'hex') || '\x00'::bytea, 'title 7'), (10005, 'http://example.com/7', md5('7') || ' ', 'näme', '\x0000', 'title'),
    (10006, 'zzz', md5('7') || '!', 'näme', '\x000000', 'title');
SELECT compared.* FROM statements, compare_all(list) AS compared;

-- Deleted rows' strings don't count, and a run in which a column is NULL everywhere has none.
DELETE FROM visit WHERE id % 3 = 0;
UPDATE visit SET url = NULL WHERE id < 3000;
SELECT compared.* FROM statements, compare_all(list) AS compared;
VACUUM visit;
SELECT compared.* FROM statements, compare_all(list) AS compared;

-- What left the server's memory comes again.
SELECT gpu.evict('visit_i') IS NOT NULL AS evicted;
SELECT * FROM compare('SELECT url, count(*) FROM visit GROUP BY url');

DROP FUNCTION compare, compare_all, who_answers, answer_of, visits;
DROP TABLE visit;
