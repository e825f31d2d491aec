-- Collations: where the server has ICU. Without it, and in other encodings, there is nothing to see.
SELECT NOT EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') OR getdatabaseencoding() <> 'UTF8' AS skip \gset
\if :skip
\quit
\endif
\getenv source PG_ABS_SRCDIR
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :plan_of
\set ECHO all
-- From 17 on, CREATE INDEX doesn't have the caller's search_path, which errors could leave schemas out by.
CREATE SCHEMA hidden;
CREATE COLLATION hidden.ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION hidden.german (provider = icu, locale = 'de');
CREATE TABLE collation_test (k text COLLATE hidden.ignore_case, c char(10) COLLATE hidden.ignore_case, a text[] COLLATE hidden.ignore_case, n name COLLATE hidden.ignore_case, g text COLLATE hidden.german, id int);
INSERT INTO collation_test SELECT s, s, ARRAY[s], s, s, i
FROM unnest(ARRAY['straße', 'Straße', 'STRASSE', 'strasse', 'Äpfel', 'äpfel', 'Apfel', 'zebra', 'ZEBRA']) WITH ORDINALITY AS u(s, i);

-- Equal strings of other bytes have one hash.
CREATE INDEX collation_k ON collation_test USING gpu_kary (k gpu.hash_ops);
CREATE INDEX collation_a ON collation_test USING gpu_kary (a gpu.hash_ops);
SELECT id FROM collation_test WHERE k = 'zEBRA' ORDER BY id;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM collation_test WHERE k = 'zEBRA';
SELECT id FROM collation_test WHERE k = 'zEBRA' ORDER BY id;
SELECT id FROM collation_test WHERE k = ANY ('{ÄPFEL,apfel}') ORDER BY id;
SELECT id FROM collation_test WHERE a = '{zEBRA}' ORDER BY id;
SELECT * FROM gpu.verify('collation_k');
SELECT ordinal, id FROM gpu.lookup('collation_k', ARRAY['zEBRA', 'STRAßE']) AS l JOIN collation_test AS t ON t.ctid = l.tid ORDER BY 1, 2;
-- Another collation than the index's.
SELECT * FROM pg_temp.plan_of($$SELECT id FROM collation_test WHERE k = 'zebra' COLLATE "C"$$);
SELECT id FROM collation_test WHERE k = 'zebra' COLLATE "C";
-- PostgreSQL's hashes of name and char(n) don't follow the collation as their equality does.
CREATE TYPE collation_pair AS (i int4, c char(10) COLLATE hidden.ignore_case);
CREATE INDEX ON collation_test USING gpu_kary (n gpu.hash_ops);
CREATE INDEX ON collation_test USING gpu_kary (c gpu.hash_ops);
CREATE INDEX ON collation_test USING gpu_kary ((ARRAY[n]) gpu.hash_ops);
CREATE INDEX ON collation_test USING gpu_kary ((row(id, c)::collation_pair) gpu.hash_ops);
CREATE INDEX collation_c ON collation_test USING gpu_kary ((c::text) gpu.hash_ops);
EXPLAIN (COSTS OFF) SELECT id FROM collation_test WHERE c::text = 'zEBRA';
SELECT id FROM collation_test WHERE c::text = 'zEBRA' ORDER BY id;

-- First bytes.
CREATE INDEX ON collation_test USING gpu_kary (k gpu.text_prefix_ops);
CREATE INDEX ON collation_test USING gpu_kary (g gpu.text_prefix_ops);
CREATE INDEX ON collation_test USING gpu_kary (c gpu.bpchar_prefix_ops);
CREATE INDEX ON collation_test USING gpu_kary (k gpu.text_pattern_prefix_ops);
CREATE INDEX ON collation_test USING gpu_kary (c gpu.bpchar_pattern_prefix_ops);
CREATE INDEX collation_g ON collation_test USING gpu_kary (g gpu.text_pattern_prefix_ops);
CREATE INDEX collation_bytes ON collation_test USING gpu_kary (g COLLATE "C" gpu.text_prefix_ops);
EXPLAIN (COSTS OFF) SELECT id FROM collation_test WHERE g LIKE 'Stra%';
SELECT id FROM collation_test WHERE g LIKE 'Stra%';
EXPLAIN (COSTS OFF) SELECT id FROM collation_test WHERE g = 'zebra';
SELECT id FROM collation_test WHERE g = 'zebra';
-- The collation's order isn't that of bytes: no index is asked.
SELECT * FROM pg_temp.plan_of($$SELECT id FROM collation_test WHERE g < 'b'$$);
SELECT id FROM collation_test WHERE g < 'b' ORDER BY id;
EXPLAIN (COSTS OFF) SELECT id FROM collation_test WHERE g < 'b' COLLATE "C";
SELECT id FROM collation_test WHERE g < 'b' COLLATE "C" ORDER BY id;
DROP TABLE collation_test;
DROP TYPE collation_pair;
DROP COLLATION hidden.german;
DROP COLLATION hidden.ignore_case;
DROP SCHEMA hidden;
