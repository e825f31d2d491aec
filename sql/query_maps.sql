-- Maps of a run's codes that the server process keeps for the node GpuQuery: of numerics, of expressions and of strings' places. Each statement is run
-- with the node and without it, several times, also after maps have left with their mirrors, and the answers are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_nestloop = off;
SET max_parallel_workers_per_gather = 0;

-- More than 4,096 different values of each, and fewer than would be integers without a dictionary.
CREATE TABLE reading (id int4, price numeric(12,2), loose numeric, wide numeric(36,4), word text, code text COLLATE "C", image bytea) WITH (autovacuum_enabled = off);
CREATE FUNCTION readings(first int, last int) RETURNS SETOF reading LANGUAGE sql AS $$
SELECT i, CASE WHEN i % 97 > 0 THEN i * 7 % 6000 / 4.0 END, CASE WHEN i % 3 = 0 THEN i % 5500 ELSE i % 5500 / 8.0 END,
       (i * 11 % 7000)::numeric * 100000000000000000000.0001, 'word ' || i * 13 % 6100, CASE WHEN i % 50 > 0 THEN md5((i % 5000)::text) END, decode(md5((i % 5000)::text), 'hex')
FROM generate_series(first, last) AS i $$;
INSERT INTO reading SELECT * FROM readings(1, 9000);
CREATE INDEX reading_i ON reading USING gpu_column (id, price, loose, wide, word, code, image) WITH (fanout = 64);
INSERT INTO reading SELECT * FROM readings(9001, 18000);
VACUUM ANALYZE reading;
SELECT column_name, encoding, distinct_values > 4096 AS are_many FROM gpu.columns('reading_i') WHERE column_name <> 'id' GROUP BY 1, 2, 3 ORDER BY 1;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
CREATE TEMP TABLE statements AS SELECT $list$
SELECT count(*), sum(price), avg(price), min(price), max(price) FROM reading
SELECT sum(price * (1 - loose / 10000)), sum(loose), max(loose) FROM reading WHERE id > 5000
SELECT sum(wide), avg(wide), max(wide) FROM reading WHERE price > 700
SELECT price, count(*), sum(loose) FROM reading GROUP BY price ORDER BY count(*) DESC, price LIMIT 10
SELECT price::float8 AS p, sum(price::float8) FROM reading WHERE price < 20 GROUP BY 1
SELECT sum(length(word)), max(length(code)), sum(ascii(right(word, 1))) FROM reading
SELECT upper(right(word, 2)), count(*), sum(price) FROM reading GROUP BY 1
SELECT word, count(*) FROM reading GROUP BY word ORDER BY count(*) DESC, word LIMIT 12
SELECT code, count(*), sum(price) FROM reading GROUP BY code ORDER BY code LIMIT 12
SELECT count(DISTINCT price), count(DISTINCT loose), count(DISTINCT word), count(DISTINCT code) FROM reading
SELECT a.price, count(*) FROM reading a JOIN reading b ON a.word = b.word AND a.price = b.price WHERE a.id < 3000 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10
$list$ AS list;
SELECT c.* FROM statements, compare_all(list) AS c;
SELECT bool_and(c.same = 'same' AND c.who = 'node') AS again FROM statements, compare_all(list) AS c;

-- Maps are counted as what mirrors take, and leave with them.
SELECT gpu.evict_all() > 0 AS evicted;
SELECT host_memory_used = 0 AS nothing_left FROM gpu.server;
SELECT bool_and(c.same = 'same' AND c.who = 'node') AS again FROM statements, compare_all(list) AS c;
SELECT host_memory_used - (SELECT sum(bytes) FROM gpu.mirrors) > 8 * 4 * 4096 AS has_maps FROM gpu.server;

-- Functions of other expressions have maps of their own, and what isn't constant has none.
CREATE DOMAIN short AS text CHECK (value <> '');
CREATE TEXT SEARCH CONFIGURATION reading_words (COPY = simple);
CREATE TEMP TABLE shown AS SELECT $list$
SELECT sum(length(image::text)) FROM reading
SELECT sum(length(quote_ident(code))) FROM reading
SELECT sum(length(right(word, 2)::short)) FROM reading
SELECT sum(length(to_tsvector('reading_words', word))) FROM reading
SELECT sum(length(word)), sum(length(word || 'x')) FROM reading
$list$ AS list;
SELECT c.* FROM shown, compare_all(list) AS c;
SET bytea_output = escape;
SET quote_all_identifiers = on;
ALTER TEXT SEARCH CONFIGURATION reading_words DROP MAPPING FOR uint;
ALTER DOMAIN short ADD CHECK (value <> ' 7');
SELECT c.* FROM shown, compare_all(list) AS c;
RESET bytea_output;
RESET quote_all_identifiers;
CREATE FUNCTION weight(word text) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT length(word) $$;
SELECT * FROM compare_all($list$
SELECT sum(weight(word)) FROM reading
$list$);
CREATE OR REPLACE FUNCTION weight(word text) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT 2 * length(word) $$;
SELECT * FROM compare_all($list$
SELECT sum(weight(word)) FROM reading
$list$);

-- Runs are merged, rows come and go.
DELETE FROM reading WHERE id % 10 = 3;
INSERT INTO reading SELECT * FROM readings(18001, 19000);
SELECT bool_and(c.same = 'same' AND c.who = 'node') AS again FROM statements, compare_all(list) AS c;
VACUUM reading;
REINDEX INDEX reading_i;
SELECT bool_and(c.same = 'same' AND c.who = 'node') AS again FROM statements, compare_all(list) AS c;

DROP FUNCTION compare, compare_all, who_answers, answer_of, readings, weight;
DROP TABLE reading;
DROP DOMAIN short;
DROP TEXT SEARCH CONFIGURATION reading_words;
