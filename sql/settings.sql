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

-- The cost model's constants are one list. What it leaves out has its default.
SELECT * FROM gpu.costs ORDER BY name COLLATE "C";
SELECT count(*) AS changed FROM gpu.costs WHERE value <> default_value;
SET pg_gpu.costs = ' host_request=40 ,CUDA_KEY = 1e-3';
SHOW pg_gpu.costs;
SELECT name, value FROM gpu.costs WHERE value <> default_value ORDER BY name COLLATE "C";
SET pg_gpu.costs = 'load = 0, transfer = 1000000000';
SELECT name, value FROM gpu.costs WHERE value <> default_value ORDER BY name COLLATE "C";
SET pg_gpu.costs = '';
SELECT count(*) AS changed FROM gpu.costs WHERE value <> default_value;
SET pg_gpu.costs = 'load = 7';
BEGIN;
SET LOCAL pg_gpu.costs = 'load = 8';
SELECT value FROM gpu.costs WHERE name = 'load';
ROLLBACK;
SELECT value FROM gpu.costs WHERE name = 'load';
-- None of these changes anything.
SET pg_gpu.costs = 'host_requests = 40';
SET pg_gpu.costs = 'load = 1, host_key_cost = 40';
SET pg_gpu.costs = 'load = 1, load = 2';
SET pg_gpu.costs = 'load';
SET pg_gpu.costs = 'load = 1,';
SET pg_gpu.costs = ',';
SET pg_gpu.costs = 'load = 1, transfer 5';
SET pg_gpu.costs = 'load = ';
SET pg_gpu.costs = 'load = much';
SET pg_gpu.costs = 'load = 1 2';
SET pg_gpu.costs = 'load = -1';
SET pg_gpu.costs = 'load = 1000000001';
SET pg_gpu.costs = 'load = nan';
SET pg_gpu.costs = 'load = infinity';
SET pg_gpu.costs = 'load = 1', 'transfer = 2';
SELECT name, value FROM gpu.costs WHERE value <> default_value ORDER BY name COLLATE "C";
-- As by default, which the plan leaves out.
SET jit = on;
SET parallel_setup_cost = 1000;
EXPLAIN (SETTINGS, COSTS OFF) SELECT;
RESET jit;
RESET parallel_setup_cost;
RESET pg_gpu.costs;
SELECT count(*) AS changed FROM gpu.costs WHERE value <> default_value;
-- Per role, from the configuration, and before the library is loaded.
CREATE ROLE regress_gpu_costs SUPERUSER LOGIN;
ALTER ROLE regress_gpu_costs SET pg_gpu.costs = 'load = 9';
ALTER ROLE regress_gpu_costs SET pg_gpu.costs = 'loads = 9';
\c - regress_gpu_costs
SELECT name, value FROM gpu.costs WHERE value <> default_value;
RESET pg_gpu.costs;
SELECT value FROM gpu.costs WHERE name = 'load';
\c - :main_user
DROP ROLE regress_gpu_costs;
SET pg_gpu.costs = 'nonsense';
SET client_min_messages = warning;
LOAD 'pg_gpu';
SHOW pg_gpu.costs;
ALTER SYSTEM SET pg_gpu.costs = 'nonsense = 1';
ALTER SYSTEM SET pg_gpu.costs = 'load = 10';
SELECT pg_reload_conf();
\c -
DO $$
BEGIN
  FOR i IN 1 .. 600 LOOP
    EXIT WHEN (SELECT value FROM gpu.costs WHERE name = 'load') = 10;
    PERFORM pg_sleep(0.1);
  END LOOP;
END
$$;
SELECT value FROM gpu.costs WHERE name = 'load';
ALTER SYSTEM RESET pg_gpu.costs;
SELECT pg_reload_conf();
\c -
SET enable_seqscan = off;
-- Everybody may see the costs; measuring them is for whom it is granted to.
CREATE ROLE regress_gpu_costs;
SET ROLE regress_gpu_costs;
SELECT count(*) FROM gpu.costs;
SELECT gpu.calibrate();
SELECT gpu.calibrate(apply => false);
RESET ROLE;
DROP ROLE regress_gpu_costs;

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
