-- pg_gpu.path, the other settings and the fan-out.
LOAD 'pg_gpu';
SELECT current_user AS main_user \gset
\set path_is_reset 'SELECT setting = reset_val AS path_is_reset FROM pg_settings WHERE name = \'pg_gpu.path\';'
:path_is_reset
SELECT name, vartype, context, enumvals, boot_val FROM pg_settings WHERE name LIKE 'pg\_gpu.%' ORDER BY name COLLATE "C";
-- What tests alone need is in a library of theirs.
SET pg_gpu.hold_results = 1;
CREATE TABLE settings_test (k int4);
INSERT INTO settings_test SELECT i FROM generate_series(1, 1000) AS i;
CREATE INDEX settings_test_k ON settings_test USING gpu_kary (k);
SET enable_seqscan = off;

-- Each value gives the same answer. A path that isn't there says so by a notice.
SET client_min_messages = warning;
SET pg_gpu.path = paged;
SELECT count(*) FROM settings_test WHERE k <= 10;
SET pg_gpu.path = host;
SELECT count(*) FROM settings_test WHERE k <= 10;
SELECT count(*) FROM settings_test WHERE k <= 10;
SELECT gpu.count('settings_test_k', ARRAY[1], ARRAY[10]);
SET pg_gpu.path = auto;
SELECT count(*) FROM settings_test WHERE k <= 10;
SET pg_gpu.path = host;
SELECT count(*) FROM settings_test WHERE k <= 10;

\c -
SET enable_seqscan = off;
SET client_min_messages = warning;
SET pg_gpu.path = cuda;
SELECT gpu.count('settings_test_k', ARRAY[1], ARRAY[10]);
SELECT count(*) FROM gpu.lookup('settings_test_k', ARRAY[1, 2, 3]);
SELECT count(*) FROM settings_test WHERE k = ANY ('{1,2,3}');

-- Chosen before the library is loaded, also wrongly.
\c -
SET enable_seqscan = off;
SET client_min_messages = warning;
SET pg_gpu.path = host;
SELECT gpu.count('settings_test_k', ARRAY[1], ARRAY[10]);
\c -
SET enable_seqscan = off;
SET pg_gpu.path = telepathy;
SET pg_gpu.bogus = 1;
SELECT gpu.count('settings_test_k', ARRAY[1], ARRAY[10]);
:path_is_reset
SHOW pg_gpu.bogus;

-- Values that don't exist, and names that aren't ours.
SET pg_gpu.path = gpu;
SET pg_gpu.path = '';
:path_is_reset
SET pg_gpu.bogus = 1;
RESET pg_gpu.path;
:path_is_reset

-- Any user may choose, also per role or database and for one transaction.
CREATE ROLE regress_gpu_user;
SET ROLE regress_gpu_user;
SET pg_gpu.path = paged;
SHOW pg_gpu.path;
RESET ROLE;
ALTER ROLE regress_gpu_user SET pg_gpu.path = paged;
DROP ROLE regress_gpu_user;
RESET pg_gpu.path;
BEGIN;
SET LOCAL pg_gpu.path = paged;
SHOW pg_gpu.path;
ROLLBACK;
:path_is_reset

-- The fan-out can change at any time; answers don't.
ALTER INDEX settings_test_k SET (fanout = 2);
SELECT reloptions FROM pg_class WHERE oid = 'settings_test_k'::regclass;
INSERT INTO settings_test SELECT i FROM generate_series(1, 6000) AS i;
SELECT count(*) FROM settings_test WHERE k <= 10;
ALTER INDEX settings_test_k SET (fanout = 64);
INSERT INTO settings_test SELECT i FROM generate_series(1, 6000) AS i;
SELECT count(*) FROM settings_test WHERE k <= 10;
ALTER INDEX settings_test_k RESET (fanout);
INSERT INTO settings_test SELECT i FROM generate_series(1, 6000) AS i;
SELECT count(*) FROM settings_test WHERE k <= 10;
SELECT * FROM gpu.verify('settings_test_k');
DROP TABLE settings_test;
