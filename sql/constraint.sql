-- Constraints and columns that lean on the index.
-- Exclusion constraints look for conflicts with a snapshot that sees everything.
CREATE TABLE exclusion_test (k int4, id int, CONSTRAINT exclusion_k EXCLUDE USING gpu_kary (k WITH =));
INSERT INTO exclusion_test SELECT i, i FROM generate_series(1, 1500) AS i;
INSERT INTO exclusion_test VALUES (77, 0);
INSERT INTO exclusion_test VALUES (NULL, 0), (NULL, 1);
INSERT INTO exclusion_test VALUES (77, 0) ON CONFLICT DO NOTHING;
INSERT INTO exclusion_test VALUES (78, 0), (2000, 2000) ON CONFLICT ON CONSTRAINT exclusion_k DO NOTHING RETURNING k;
DELETE FROM exclusion_test WHERE k = 77;
INSERT INTO exclusion_test VALUES (77, 7777);
BEGIN;
DELETE FROM exclusion_test WHERE k = 78;
INSERT INTO exclusion_test VALUES (78, 7878);
INSERT INTO exclusion_test VALUES (78, 7879);
ROLLBACK;
UPDATE exclusion_test SET k = 79 WHERE k = 80;
UPDATE exclusion_test SET id = -id WHERE k = 80;
SELECT id FROM exclusion_test WHERE k IN (77, 78, 80) ORDER BY k;
VACUUM exclusion_test;
INSERT INTO exclusion_test VALUES (1500, 0);
-- Checked only when asked.
ALTER TABLE exclusion_test DROP CONSTRAINT exclusion_k;
ALTER TABLE exclusion_test ADD CONSTRAINT exclusion_later EXCLUDE USING gpu_kary (k WITH =) DEFERRABLE INITIALLY DEFERRED;
BEGIN;
INSERT INTO exclusion_test VALUES (90, 0);
DELETE FROM exclusion_test WHERE k = 90 AND id = 90;
COMMIT;
BEGIN;
INSERT INTO exclusion_test VALUES (91, 0);
COMMIT;
SELECT id FROM exclusion_test WHERE k IN (90, 91) ORDER BY k;
SELECT * FROM gpu.verify('exclusion_later');
DROP TABLE exclusion_test;

-- Text by its first bytes; and by its hash, where PostgreSQL would show the key in the operator class's type.
CREATE TABLE exclusion_text (k text, h text, CONSTRAINT exclusion_prefix EXCLUDE USING gpu_kary (k gpu.text_pattern_prefix_ops WITH =),
  CONSTRAINT exclusion_hash EXCLUDE USING gpu_kary (h gpu.hash_ops WITH =));
INSERT INTO exclusion_text VALUES ('https://www.example.com/1', 'a'), ('https://www.example.com/2', 'b');
INSERT INTO exclusion_text VALUES ('https://www.example.com/1', 'c');
INSERT INTO exclusion_text VALUES ('c', 'a');
INSERT INTO exclusion_text VALUES ('c', 'a'), ('https://www.example.com/2', 'd'), ('e', 'e') ON CONFLICT DO NOTHING RETURNING k;
DROP TABLE exclusion_text;

-- Foreign keys find the referencing rows through the index, int4 against int8 too.
CREATE TABLE parent_test (id int8 PRIMARY KEY);
CREATE TABLE child_test (parent int4 REFERENCES parent_test ON DELETE CASCADE ON UPDATE CASCADE, n int);
CREATE INDEX child_test_parent ON child_test USING gpu_kary (parent);
INSERT INTO parent_test SELECT i FROM generate_series(1, 100) AS i;
INSERT INTO child_test SELECT i % 100 + 1, i FROM generate_series(1, 2000) AS i;
SET enable_seqscan = off;
DELETE FROM parent_test WHERE id <= 10;
SELECT count(*) FROM child_test WHERE parent <= 10;
UPDATE parent_test SET id = id + 1000 WHERE id = 50;
SELECT count(*), sum(n) FROM child_test WHERE parent = 1050;
SELECT count(*), count(DISTINCT parent) FROM child_test;
INSERT INTO child_test VALUES (50, 0);
DROP TABLE child_test, parent_test;

-- Domains, generated columns and serial columns.
CREATE DOMAIN even AS int4 CHECK (VALUE % 2 = 0);
CREATE TABLE column_test (
  id bigserial,
  e even,
  g int8 GENERATED ALWAYS AS (e::int8 * 1000000000) STORED);
CREATE INDEX column_test_e ON column_test USING gpu_kary (e);
CREATE INDEX column_test_g ON column_test USING gpu_kary (g);
CREATE INDEX column_test_id ON column_test USING gpu_kary (id);
INSERT INTO column_test (e) SELECT i * 2 FROM generate_series(1, 600) AS i;
ANALYZE column_test;
EXPLAIN (COSTS OFF) SELECT id FROM column_test WHERE e = 20;
SELECT id FROM column_test WHERE e = 20;
EXPLAIN (COSTS OFF) SELECT id FROM column_test WHERE g = 40000000000;
SELECT id FROM column_test WHERE g = 40000000000;
SELECT e FROM column_test WHERE id = 600;
UPDATE column_test SET e = 4000 WHERE e = 20;
SELECT id, g FROM column_test WHERE g = 4000000000000;
SELECT gpu.count('column_test_e', ARRAY[4000], ARRAY[4000]);

-- A column that changes its type takes its index along.
ALTER TABLE column_test DROP COLUMN g;
ALTER TABLE column_test ALTER COLUMN e TYPE int8;
EXPLAIN (COSTS OFF) SELECT id FROM column_test WHERE e = 4000;
SELECT id FROM column_test WHERE e = 4000;
SELECT * FROM gpu.verify('column_test_e');
ALTER TABLE column_test ALTER COLUMN e TYPE text;
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'column_test'::regclass ORDER BY 1;

-- Conflicts on another index leave this one right.
CREATE TABLE upsert_test (id int PRIMARY KEY, k int4);
CREATE INDEX upsert_test_k ON upsert_test USING gpu_kary (k);
INSERT INTO upsert_test SELECT i, i % 10 FROM generate_series(1, 1000) AS i;
INSERT INTO upsert_test SELECT i, 77 FROM generate_series(991, 1010) AS i
  ON CONFLICT (id) DO UPDATE SET k = excluded.k + 1;
SELECT k, count(*), min(id), max(id) FROM upsert_test WHERE k >= 77 GROUP BY k ORDER BY k;
INSERT INTO upsert_test SELECT i, 99 FROM generate_series(1, 20) AS i ON CONFLICT DO NOTHING;
SELECT count(*) FROM upsert_test WHERE k = 99;
SELECT * FROM gpu.verify('upsert_test_k');
DROP TABLE column_test, upsert_test;
DROP DOMAIN even;
