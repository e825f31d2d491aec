-- gpu.accelerate and gpu.decelerate where no statements are recorded: which columns a table can have, what is named, and what is refused.
-- test/tap/t/234_accelerate.pl has statements.
CREATE TABLE accelerated (id int PRIMARY KEY, gone int, "Odd name" text, amount numeric, document json, essay text, place point, flag bool);
ALTER TABLE accelerated DROP COLUMN gone;
INSERT INTO accelerated
SELECT g, 'name ' || g % 9, g / 7.0, '{}', CASE WHEN g <= 100 THEN repeat(md5(g::text), 1000) ELSE repeat('x', 600) END, point(g, g), g % 2 = 0 FROM generate_series(1, 5000) g;
ANALYZE accelerated;

-- All columns that can be in an index, first only told.
SELECT index_name, column_name, CASE WHEN reason LIKE '%bytes on average' THEN 'too wide' ELSE reason END AS reason, bytes > 0 AS has_bytes, write_microseconds
FROM gpu.accelerate('accelerated', apply => false);
SELECT count(*) FROM pg_index WHERE indrelid = 'accelerated'::regclass;
SELECT index_name, column_name, bytes > 0 AS has_bytes, write_microseconds > 0 AS has_price FROM gpu.accelerate('accelerated') WHERE reason NOT LIKE 'left out%';
SELECT pg_get_indexdef('accelerated_gpu'::regclass);
SELECT count(*) FROM accelerated WHERE "Odd name" = 'name 3';

-- Once it is there it stays; a column more has it made anew.
SELECT index_name, column_name FROM gpu.accelerate('accelerated') WHERE index_name IS NOT NULL;
ALTER TABLE accelerated ADD COLUMN later int DEFAULT 7;
SELECT index_name, column_name, reason FROM gpu.accelerate('accelerated') WHERE index_name IS NOT NULL;
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'accelerated'::regclass ORDER BY 1;
SELECT sum(later) FROM accelerated;

-- Named columns: in the table's order, as wide as they are.
SELECT index_name, column_name, reason FROM gpu.accelerate('accelerated', '{essay, id}');
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'accelerated'::regclass AND NOT indisprimary;
SELECT gpu.accelerate('accelerated', '{nobody}');
SELECT gpu.accelerate('accelerated', '{ctid}');
SELECT gpu.accelerate('accelerated', '{id, id}');
SELECT gpu.accelerate('accelerated', '{id, NULL}');
SELECT gpu.accelerate('accelerated', '{}');
SELECT gpu.accelerate('accelerated', '{document}');
SELECT gpu.accelerate('accelerated', (SELECT array_agg('id'::name) FROM generate_series(1, 33)));
SELECT gpu.accelerate(NULL);
SELECT gpu.accelerate('accelerated', statements => -1);
SELECT count(*) FROM gpu.decelerate(NULL);

-- What others made is left, and so is what was made here and then kept.
CREATE INDEX accelerated_own ON accelerated USING gpu_column (id);
SELECT index_name, bytes > 0 AS has_bytes FROM gpu.decelerate('accelerated');
SELECT gpu.decelerate('accelerated');
SELECT index_name FROM gpu.accelerate('accelerated', '{flag}');
ALTER INDEX accelerated_gpu SET (made_by = user);
SELECT gpu.decelerate('accelerated');
SELECT index_name FROM gpu.accelerate('accelerated', '{flag}');
ALTER INDEX accelerated_gpu SET (made_by = nobody);
SELECT index_name FROM gpu.decelerate('accelerated');

-- An invalid index isn't enough.
SELECT index_name FROM gpu.accelerate('accelerated', '{amount}');
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'accelerated_gpu1'::regclass;
SELECT index_name FROM gpu.accelerate('accelerated', '{amount}');
SELECT indisvalid FROM pg_index WHERE indrelid = 'accelerated'::regclass AND NOT indisvalid;
DROP TABLE accelerated;

-- Partitions, those that come later too.
CREATE TABLE accelerated_parent (k int, v text) PARTITION BY RANGE (k);
CREATE TABLE accelerated_1 PARTITION OF accelerated_parent FOR VALUES FROM (0) TO (1000);
CREATE TABLE accelerated_2 (v text, k int);
ALTER TABLE accelerated_parent ATTACH PARTITION accelerated_2 FOR VALUES FROM (1000) TO (2000);
INSERT INTO accelerated_parent SELECT g, 'v' || g % 3 FROM generate_series(0, 1999) g;
ANALYZE accelerated_parent;
SELECT index_name, column_name, bytes > 0 AS has_bytes, write_microseconds > 0 AS has_price FROM gpu.accelerate('accelerated_parent');
CREATE TABLE accelerated_3 PARTITION OF accelerated_parent FOR VALUES FROM (2000) TO (3000);
SELECT relname, reloptions FROM pg_class WHERE oid IN (SELECT indexrelid FROM pg_index WHERE indrelid IN (SELECT relid FROM pg_partition_tree('accelerated_parent'))) ORDER BY relname;
SELECT gpu.decelerate('accelerated_1');
SELECT index_name, bytes > 0 AS has_bytes FROM gpu.decelerate('accelerated_parent');
SELECT count(*) FROM pg_index WHERE indrelid IN (SELECT relid FROM pg_partition_tree('accelerated_parent'));
DROP TABLE accelerated_parent;

-- What is no table of one's own.
CREATE VIEW accelerated_view AS SELECT 1 AS k;
CREATE MATERIALIZED VIEW accelerated_kept AS SELECT 1 AS k;
CREATE SEQUENCE accelerated_sequence;
CREATE FOREIGN DATA WRAPPER accelerated_wrapper;
CREATE SERVER accelerated_server FOREIGN DATA WRAPPER accelerated_wrapper;
CREATE FOREIGN TABLE accelerated_foreign (k int) SERVER accelerated_server;
CREATE TABLE accelerated_unfit (document json);
CREATE ROLE accelerated_role;
SELECT gpu.accelerate('accelerated_view');
SELECT gpu.accelerate('accelerated_kept');
SELECT gpu.accelerate('accelerated_sequence');
SELECT gpu.accelerate('accelerated_foreign');
SELECT gpu.accelerate('pg_class');
SELECT gpu.accelerate('accelerated_unfit');
SELECT gpu.accelerate(1::oid);
SELECT gpu.decelerate('accelerated_view');
SET ROLE accelerated_role;
SELECT gpu.accelerate('accelerated_unfit', apply => false);
SELECT gpu.decelerate('accelerated_unfit');
RESET ROLE;
DROP ROLE accelerated_role;
DROP TABLE accelerated_unfit;
DROP FOREIGN DATA WRAPPER accelerated_wrapper CASCADE;
DROP SEQUENCE accelerated_sequence;
DROP MATERIALIZED VIEW accelerated_kept;
DROP VIEW accelerated_view;

-- One's own temporary table, empty, and a transaction that only reads.
CREATE TEMP TABLE accelerated_temporary (k int, v varchar(10));
SELECT split_part(index_name::text, '.', 1) AS index_name, column_name, write_microseconds FROM gpu.accelerate('accelerated_temporary');
BEGIN READ ONLY;
SELECT column_name FROM gpu.accelerate('accelerated_temporary', apply => false);
-- The name of the temporary schema differs.
\set VERBOSITY terse
SELECT gpu.decelerate('accelerated_temporary');
\set VERBOSITY default
ROLLBACK;
BEGIN;
SELECT count(*) FROM gpu.decelerate('accelerated_temporary');
ROLLBACK;
SELECT count(*) FROM pg_index WHERE indrelid = 'accelerated_temporary'::regclass;
DROP TABLE accelerated_temporary;
