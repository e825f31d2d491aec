-- gpu_text and row security: the index is read before the policy is checked, and tells nothing; words are made as the index's are, and whom a policy binds ranks without statistics.
SET max_parallel_workers_per_gather = 0;
SET default_text_search_config = 'simple';
CREATE TABLE secured (id int PRIMARY KEY, owner name, body text, title text);
INSERT INTO secured SELECT g, CASE WHEN g % 3 = 0 THEN 'alice' ELSE 'bob' END, 'note number ' || (g * 13) % 9973 || CASE WHEN g % 500 = 0 THEN ' zebras' ELSE '' END || repeat(' filler', g % 7), 'title ' || g
FROM generate_series(1, 20000) AS g;
CREATE INDEX secured_body ON secured USING gpu_text (body) WITH (configuration = 'english');
CREATE INDEX secured_owner ON secured (owner);
VACUUM ANALYZE secured;
CREATE ROLE text_alice;
CREATE ROLE text_exempt BYPASSRLS;
CREATE ROLE text_owner;
GRANT SELECT ON secured TO text_alice, text_exempt;
GRANT CREATE ON SCHEMA public TO text_owner;
ALTER TABLE secured OWNER TO text_owner;
CREATE TABLE ranked_before AS SELECT id, body <@> 'zebras in notes' AS distance FROM secured WHERE body @@@ 'zebras' ORDER BY body <@> 'zebras in notes', id LIMIT 3;
ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON secured USING (owner = 'alice');
GRANT SELECT ON ranked_before TO text_alice, text_exempt, text_owner;

-- Whom no policy binds ranks as before.
SELECT r.id, s.distance = r.distance AS same FROM ranked_before r LEFT JOIN (SELECT id, body <@> 'zebras in notes' AS distance FROM secured WHERE body @@@ 'zebras' ORDER BY body <@> 'zebras in notes', id LIMIT 3) s USING (id) ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT id FROM secured WHERE body @@@ 'zebras' ORDER BY body <@> 'zebras' LIMIT 2;
SET ROLE text_owner;
SELECT count(*) FROM ranked_before r JOIN (SELECT id, body <@> 'zebras in notes' AS distance FROM secured WHERE body @@@ 'zebras') s USING (id) WHERE s.distance = r.distance;
SET ROLE text_exempt;
SELECT count(*) FROM ranked_before r JOIN (SELECT id, body <@> 'zebras in notes' AS distance FROM secured WHERE body @@@ 'zebras') s USING (id) WHERE s.distance = r.distance;

-- Whom it binds finds the rows of the policy, by a bitmap, and by the words of the index.
SET ROLE text_alice;
EXPLAIN (COSTS OFF) SELECT count(*) FROM secured WHERE body @@@ 'zebra';
SELECT count(*), count(*) FILTER (WHERE owner <> 'alice') AS of_others FROM secured WHERE body @@@ 'zebra';
SELECT count(*) FROM secured WHERE body @@@ 'zebra' AND id < 10000;
SELECT count(*) FROM secured WHERE NOT body @@@ 'zebra';
SELECT count(*) FROM secured WHERE body @@@ '"number 13"';
EXPLAIN (COSTS OFF) SELECT id FROM secured WHERE body @@@ 'zebra' ORDER BY body <@> 'zebra', id LIMIT 5;
SELECT id, body <@> 'zebra' AS distance FROM secured WHERE body @@@ 'zebra' ORDER BY body <@> 'zebra', id LIMIT 5;
-- All words weigh the same, and lengths don't count: what nobody's rows can change.
SELECT DISTINCT body <@> 'zebra' AS one_word, body <@> 'zebra note' AS two_words FROM secured WHERE body @@@ 'zebra';
-- A plan that was made for one is made anew for another.
PREPARE search AS SELECT count(*) FROM secured WHERE body @@@ 'zebra' AND body <@> 'zebra' < 0;
EXECUTE search;
RESET ROLE;
EXECUTE search;
DEALLOCATE search;
SET ROLE text_alice;
-- A search beside other conditions, in joins, and by a parameter.
SET plan_cache_mode = force_generic_plan;
PREPARE search (text) AS SELECT count(*) FROM secured WHERE body @@@ $1;
EXECUTE search('zebra');
EXECUTE search('nosuchword');
EXECUTE search(NULL);
DEALLOCATE search;
RESET plan_cache_mode;
SELECT count(*) FROM secured a JOIN secured b ON b.id = a.id + 3000 WHERE a.body @@@ 'zebra' AND b.body @@@ 'zebra';
SELECT count(*) FROM secured WHERE body @@@ 'zebra' OR title @@@ gpu.matching_query('secured_body', '42');
-- Rows that are changed or locked.
RESET ROLE;
GRANT UPDATE ON secured TO text_alice;
SET ROLE text_alice;
WITH changed AS (UPDATE secured SET title = title || '!' WHERE body @@@ 'zebra' RETURNING owner) SELECT count(*), bool_and(owner = 'alice') AS only_hers FROM changed;
SELECT count(*) FROM (SELECT id FROM secured WHERE body @@@ 'zebra' FOR UPDATE) AS s;
-- Nothing is told of rows that are hidden: what raises an error for some of them is evaluated for others alone.
RESET ROLE;
INSERT INTO secured VALUES (30000, 'bob', 'zebras', repeat('x', 3000));
SET ROLE text_alice;
SELECT count(*) FROM secured WHERE body @@@ 'zebra' AND title @@@ gpu.matching_query('secured_body', 'title');
RESET ROLE;
-- Nor does what a bitmap that has no room for single rows checks: an expression that tells of its argument is evaluated for rows that pass the policy alone.
CREATE FUNCTION told(body text, wanted text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    IF current_user = 'text_alice' AND body LIKE '%secret%' THEN RAISE EXCEPTION 'told: %', body; END IF;
    RETURN body || wanted;
END $$;
CREATE TABLE told_rows (id int, owner name, body text, pad text) WITH (fillfactor = 10);
INSERT INTO told_rows SELECT g, CASE WHEN g % 3 = 0 THEN 'alice' ELSE 'bob' END, CASE WHEN g % 3 = 0 THEN 'zebra ' ELSE 'secret zebra ' END || g, repeat('x', 500) FROM generate_series(1, 1500) AS g;
CREATE INDEX told_rows_told ON told_rows USING gpu_text (told(body, ' told')) WITH (configuration = 'english');
CREATE INDEX told_rows_some ON told_rows USING gpu_text (told(body, ' some')) WITH (configuration = 'english') WHERE id > 300;
CREATE INDEX told_rows_safe ON told_rows USING gpu_text (coalesce(body, '')) WITH (configuration = 'english');
VACUUM ANALYZE told_rows;
ALTER TABLE told_rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON told_rows USING (owner = 'alice');
GRANT SELECT ON told_rows TO text_alice;
SET ROLE text_alice;
SET work_mem = '64kB';
SET enable_seqscan = off;
SET enable_indexscan = off;
SELECT count(*) FROM told_rows WHERE told(body, ' told') @@@ 'zebra';
SELECT count(*) FROM told_rows WHERE told(body, ' some') @@@ 'zebra' AND id > 300;
-- An expression that can't tell of anything is looked up in the index first.
EXPLAIN (COSTS OFF) SELECT count(*) FROM told_rows WHERE coalesce(body, '') @@@ 'zebra';
SELECT count(*) FROM told_rows WHERE coalesce(body, '') @@@ 'zebra';
RESET enable_indexscan;
RESET enable_seqscan;
RESET work_mem;
RESET ROLE;
-- A plan that is kept belongs to who it was made for, also where no policy but a privilege tells them apart: who may not read all that statistics are of ranks without them, and who may ranks with them.
ALTER TABLE secured DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON secured FROM text_alice;
GRANT SELECT (id, title) ON secured TO text_alice;
CREATE VIEW secured_view AS SELECT id, body FROM secured;
GRANT SELECT ON secured_view TO text_alice;
SET plan_cache_mode = force_generic_plan;
PREPARE ranked AS SELECT count(DISTINCT body <@> 'zebra') > 1 AS by_statistics FROM secured_view WHERE body @@@ 'zebra';
EXECUTE ranked;
SET ROLE text_alice;
EXECUTE ranked;
RESET ROLE;
EXECUTE ranked;
DEALLOCATE ranked;
RESET plan_cache_mode;
DROP VIEW secured_view;
ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
-- gpu.@@? is leakproof, and the planner's alone.
SELECT proleakproof FROM pg_proc WHERE oid = 'gpu.may_match(text, gpu.bm25_query)'::regprocedure;
SELECT count(*) FROM secured WHERE body OPERATOR(gpu.@@?) gpu.matching_query('secured_body', 'zebra');
SELECT count(*) FROM secured WHERE body OPERATOR(gpu.@@?) ANY (ARRAY[gpu.matching_query('secured_body', 'zebra')]);
DROP TABLE secured, ranked_before, told_rows;
DROP FUNCTION told;
REVOKE CREATE ON SCHEMA public FROM text_owner;
DROP ROLE text_alice, text_exempt, text_owner;
