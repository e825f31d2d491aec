-- gpu_text: @@@ is estimated by the index's own document frequencies, and plans are chosen by that.
SET max_parallel_workers_per_gather = 0;
SET client_min_messages = warning;
CREATE TABLE share (id int PRIMARY KEY, created int, author text, body text, lang text);
INSERT INTO share SELECT i, i, 'author ' || i, CASE WHEN i % 10 <> 9 THEN concat_ws(' ', 'every', 'number' || i, CASE WHEN i % 4 = 0 THEN 'fourth' END, CASE WHEN i % 2000 = 0 THEN 'zebra' END,
    repeat('filler ', i % 5), 'group' || i % 8) END, CASE WHEN i % 5 = 0 THEN 'de' ELSE 'en' END FROM generate_series(1, 20000) AS i;
CREATE INDEX share_body ON share USING gpu_text (body) WITH (configuration = 'english');
CREATE INDEX share_created ON share (created);
VACUUM ANALYZE share;
CREATE FUNCTION estimate(statement text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || statement INTO plan;
    RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END
$$;
CREATE FUNCTION estimates(queries text[]) RETURNS TABLE (query text, estimated float8, actual int8) LANGUAGE plpgsql AS $$
BEGIN
    FOREACH query IN ARRAY queries LOOP
        estimated := estimate('SELECT * FROM share WHERE body @@@ ' || quote_literal(query));
        EXECUTE 'SELECT count(*) FROM share WHERE body @@@ ' || quote_literal(query) INTO actual;
        RETURN NEXT;
    END LOOP;
END
$$;
SELECT * FROM estimates('{every,fourth,zebra,nosuchword,fourth zebra,fourth or zebra,-fourth,"fourth zebra",group3,number4711,the}');
-- A tail and a raw run count, and dead documents are taken to be as the others are.
INSERT INTO share SELECT i, i, 'author ' || i, 'zebra crossing', 'en' FROM generate_series(20001, 20100) AS i;
SELECT * FROM estimates('{zebra,crossing}');
DELETE FROM share WHERE id > 20000;
VACUUM ANALYZE share;
SELECT * FROM estimates('{every,zebra,crossing}');
-- Prefixes, and other ways to give the query.
SELECT estimate('SELECT * FROM share WHERE body @@@ ''fou:*''::tsquery'), estimate('SELECT * FROM share WHERE body @@@ gpu.matching_query(''share_body'', ''zebra'')'),
    estimate('SELECT * FROM share WHERE body @@@ NULL::text');
-- Not known before it is executed.
PREPARE later (text) AS SELECT * FROM share WHERE body @@@ $1;
SET plan_cache_mode = force_generic_plan;
SELECT estimate('EXECUTE later(''zebra'')');
RESET plan_cache_mode;

-- Newest first: a missing or rare word is looked up and sorted, a common one is soon met on the way.
EXPLAIN (COSTS OFF) SELECT * FROM share WHERE body @@@ 'nosuchword' ORDER BY created DESC LIMIT 1;
EXPLAIN (COSTS OFF) SELECT * FROM share WHERE body @@@ 'zebra' ORDER BY created DESC LIMIT 1;
EXPLAIN (COSTS OFF) SELECT * FROM share WHERE body @@@ 'every' ORDER BY created DESC LIMIT 1;
EXPLAIN (COSTS OFF) SELECT min(id) FROM share WHERE body @@@ 'zebra';
-- Two searches that most rows meet are joined by a hash.
EXPLAIN (COSTS OFF) SELECT count(*) FROM share a JOIN share b ON a.author = b.author WHERE a.body @@@ 'every' AND b.body @@@ 'every';

-- The frequencies of a partial index are those of its rows.
DROP INDEX share_body;
CREATE INDEX share_german ON share USING gpu_text (body) WITH (configuration = 'english') WHERE lang = 'de';
SELECT estimate('SELECT * FROM share WHERE lang = ''de'' AND body @@@ ''zebra''') AS estimated, (SELECT count(*) FROM share WHERE lang = 'de' AND body @@@ 'zebra') AS actual;
DROP INDEX share_german;
-- Partitions have their own.
CREATE TABLE share_parts (LIKE share) PARTITION BY LIST (lang);
CREATE TABLE share_parts_de PARTITION OF share_parts FOR VALUES IN ('de');
CREATE TABLE share_parts_en PARTITION OF share_parts FOR VALUES IN ('en');
INSERT INTO share_parts SELECT * FROM share;
CREATE INDEX share_parts_body ON share_parts USING gpu_text (body) WITH (configuration = 'english');
VACUUM ANALYZE share_parts;
SELECT estimate('SELECT * FROM share_parts WHERE body @@@ ''zebra'''), estimate('SELECT * FROM share_parts WHERE lang = ''en'' AND body @@@ ''zebra''');

-- Nobody learns from an estimate what he may not read: 1 % is what is said of a word of which nothing is known.
CREATE INDEX share_body ON share USING gpu_text (body) WITH (configuration = 'english');
CREATE ROLE share_bound;
CREATE ROLE share_columns;
CREATE ROLE share_owner;
GRANT SELECT ON share, share_parts TO share_bound;
GRANT SELECT (id, body) ON share TO share_columns;
GRANT SELECT ON share_parts_en TO share_columns;
ALTER TABLE share OWNER TO share_owner;
SET ROLE share_bound;
SELECT estimate('SELECT id FROM share WHERE body @@@ ''fourth''') AS reader, estimate('SELECT id FROM share_parts WHERE body @@@ ''fourth''') AS partitions;
SET ROLE share_columns;
SELECT estimate('SELECT id FROM share WHERE body @@@ ''fourth''') AS of_columns;
RESET ROLE;
CREATE VIEW share_view AS SELECT id FROM share WHERE body @@@ 'fourth';
ALTER VIEW share_view OWNER TO share_columns;
GRANT SELECT ON share_view TO share_bound;
REVOKE SELECT ON share FROM share_bound;
SET ROLE share_bound;
SELECT estimate('SELECT id FROM share_view') AS by_the_views_owner;
RESET ROLE;
GRANT SELECT ON share TO share_bound;
ALTER TABLE share ENABLE ROW LEVEL SECURITY;
CREATE POLICY all_rows ON share USING (lang <> 'fr');
SELECT estimate('SELECT id FROM share WHERE body @@@ ''fourth''') AS superuser;
SET ROLE share_owner;
SELECT estimate('SELECT id FROM share WHERE body @@@ ''fourth''') AS owner;
SET ROLE share_bound;
SELECT estimate('SELECT id FROM share WHERE body @@@ ''fourth''') AS bound;
RESET ROLE;
DROP TABLE share, share_parts CASCADE;
DROP ROLE share_bound, share_columns, share_owner;
DROP FUNCTION estimate, estimates;
