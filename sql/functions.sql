-- gpu.count, gpu.lookup, gpu.runs, gpu.merge and gpu.verify, with good and bad arguments.
CREATE TABLE function_test (k int4, id int, flag bool);
INSERT INTO function_test SELECT (i * 7919) % 1000 - 500, i, i % 2 = 0 FROM generate_series(1, 1500) AS i;
CREATE INDEX function_test_k ON function_test USING gpu_kary (k);
INSERT INTO function_test SELECT (i * 7919) % 1000 - 500, i, i % 2 = 0 FROM generate_series(1501, 3000) AS i;
INSERT INTO function_test VALUES (NULL, 3001, true), (NULL, 3002, false), (-2147483648, 3003, true), (2147483647, 3004, false);
CREATE TABLE function_wide (k int8, id int);
CREATE INDEX function_wide_k ON function_wide USING gpu_kary (k DESC NULLS LAST);
INSERT INTO function_wide SELECT i % 100, i FROM generate_series(1, 1000) AS i;
INSERT INTO function_wide VALUES (NULL, 1001), (-9223372036854775808, 1002), (9223372036854775807, 1003);

-- gpu.count: both bounds belong to the range.
SELECT gpu.count('function_test_k', ARRAY[-10], ARRAY[9]) AS arrays, gpu.count('function_test_k', row(-10), row(9)) AS records;
SELECT gpu.count('function_test_k', ARRAY[7], ARRAY[7]) AS arrays, gpu.count('function_test_k', row(7), row(7)) AS records;
SELECT gpu.count('function_test_k', ARRAY[9], ARRAY[-10]) AS arrays, gpu.count('function_test_k', row(9), row(-10)) AS records;
SELECT gpu.count('function_test_k', ARRAY[500], ARRAY[2147483646]) AS nothing_there;
-- Open ends. Without any bound NULL keys count; with one they don't.
SELECT gpu.count('function_test_k', ARRAY[NULL::int4], ARRAY[-491]) AS arrays, gpu.count('function_test_k', row(NULL::int4), row(-491)) AS records;
SELECT gpu.count('function_test_k', ARRAY[490], ARRAY[NULL::int4]) AS arrays, gpu.count('function_test_k', row(490), row(NULL::int4)) AS records;
SELECT gpu.count('function_test_k', ARRAY[490], NULL) AS arrays, gpu.count('function_test_k', row(490), NULL) AS records;
SELECT gpu.count('function_test_k', NULL, ARRAY[-491]) AS arrays, gpu.count('function_test_k', NULL, row(-491)) AS records;
SELECT gpu.count('function_test_k', ARRAY[]::int4[], ARRAY[-491]) AS fewer_elements, gpu.count('function_test_k', row(), row(-491)) AS fewer_fields;
SELECT gpu.count('function_test_k', NULL::int4[], NULL::int4[]) AS arrays, gpu.count('function_test_k', NULL::record, NULL::record) AS records;
SELECT gpu.count('function_test_k', ARRAY[NULL::int4], ARRAY[NULL::int4]) AS arrays, gpu.count('function_test_k', row(NULL), row(NULL)) AS records;
SELECT gpu.count('function_test_k', ARRAY[-2147483648], ARRAY[2147483647]) AS all_but_nulls;
SELECT gpu.count('function_test_k', ARRAY[-2147483648], ARRAY[-2147483648]) AS low, gpu.count('function_test_k', ARRAY[2147483647], NULL) AS high;
SELECT gpu.count('function_wide_k', ARRAY[10::int8], ARRAY[19::int8]) AS arrays, gpu.count('function_wide_k', row(10::int8), row(19::int8)) AS records;
SELECT gpu.count('function_wide_k', NULL::int8[], NULL::int8[]) AS everything,
       gpu.count('function_wide_k', ARRAY['-9223372036854775808'::int8], ARRAY[9223372036854775807]) AS all_but_nulls,
       gpu.count('function_wide_k', ARRAY['-9223372036854775808'::int8], ARRAY['-9223372036854775808'::int8]) AS low,
       gpu.count('function_wide_k', ARRAY[9223372036854775807], NULL) AS high;
-- Bounds of the other integer types.
SELECT gpu.count('function_wide_k', ARRAY[10], ARRAY[19]) AS int4_for_int8;
SELECT gpu.count('function_test_k', ARRAY[-10::int8], ARRAY[9::int8]) AS int8_for_int4;
SELECT gpu.count('function_test_k', ARRAY[-10::int2], ARRAY[9::int2]) AS int2_for_int4;
SELECT gpu.count('function_test_k', row(-10::int8), row(9::int2)) AS mixed;
SELECT gpu.count('function_test_k', ARRAY[-4294967296], ARRAY[4294967296]) AS beyond_int4;
SELECT gpu.count('function_test_k', ARRAY[4294967296], NULL) AS above_int4, gpu.count('function_test_k', NULL, ARRAY[-4294967296]) AS below_int4;

-- gpu.lookup: positions in the array, whatever it holds.
SELECT ordinal, id, k FROM gpu.lookup('function_test_k', ARRAY[7, NULL, 7, 99999, 2147483647]) AS l
JOIN function_test AS t ON t.ctid = l.tid ORDER BY ordinal, id;
SELECT ordinal, id, k FROM gpu.lookup('function_wide_k', ARRAY[9223372036854775807, 5, '-9223372036854775808'::int8]) AS l
JOIN function_wide AS t ON t.ctid = l.tid WHERE id > 900 OR id < 10 ORDER BY ordinal, id;
SELECT count(*) FROM gpu.lookup('function_test_k', ARRAY[]::int4[]);
SELECT count(*) FROM gpu.lookup('function_test_k', NULL::int4[]);
SELECT count(*) FROM gpu.lookup('function_test_k', ARRAY[NULL::int4, NULL]);
SELECT count(*), count(DISTINCT ordinal), sum(ordinal) FROM gpu.lookup('function_test_k', ARRAY(SELECT i FROM generate_series(-600, 600) AS i));
SELECT ordinal, count(*) FROM gpu.lookup('function_test_k', ARRAY[3::int8, 4294967299, -9223372036854775807]) GROUP BY ordinal;
SELECT ordinal, count(*) FROM gpu.lookup('function_wide_k', ARRAY[3::int2, -3::int2]) GROUP BY ordinal;
SELECT ordinal, count(*) FROM gpu.lookup('function_test_k', ARRAY[[1, 2], [3, 4]]) GROUP BY ordinal ORDER BY ordinal;
SELECT ordinal, count(*) FROM gpu.lookup('function_test_k', '[5:6]={1,2}'::int4[]) GROUP BY ordinal ORDER BY ordinal;
-- It can be joined and limited.
SELECT count(*), sum(t.id) FROM gpu.lookup('function_test_k', ARRAY[1, 2, 3]) AS l, function_test AS t WHERE t.ctid = l.tid;
SELECT ordinal FROM gpu.lookup('function_test_k', ARRAY[1, 2, 3]) ORDER BY ordinal LIMIT 4;

-- Visible rows only: the transaction's own, and not what it deleted.
BEGIN;
DELETE FROM function_test WHERE k = 7 AND id < 2000;
INSERT INTO function_test VALUES (7, 5000, true);
SELECT gpu.count('function_test_k', ARRAY[7], ARRAY[7]);
SELECT ordinal, id FROM gpu.lookup('function_test_k', ARRAY[7]) AS l JOIN function_test AS t ON t.ctid = l.tid ORDER BY id;
ROLLBACK;
SELECT gpu.count('function_test_k', ARRAY[7], ARRAY[7]);
-- Rows of an updated chain are found at the version that is visible.
UPDATE function_test SET id = id + 100000 WHERE k = 8;
UPDATE function_test SET id = id - 100000 WHERE k = 8;
SELECT ordinal, id FROM gpu.lookup('function_test_k', ARRAY[8]) AS l JOIN function_test AS t ON t.ctid = l.tid ORDER BY id;
SELECT gpu.count('function_test_k', ARRAY[8], ARRAY[8]);
-- In a stable function and in a prepared statement.
CREATE FUNCTION function_stable(low int, high int) RETURNS bigint STABLE LANGUAGE sql AS
  $$ SELECT gpu.count('function_test_k', ARRAY[low], ARRAY[high]) $$;
SELECT function_stable(1, 4);
PREPARE function_prepared (int4[]) AS SELECT count(*) FROM gpu.lookup('function_test_k', $1);
EXECUTE function_prepared('{1,2,3}');
EXECUTE function_prepared(NULL);
DEALLOCATE function_prepared;
DROP FUNCTION function_stable;

-- A partial index counts its own rows.
CREATE INDEX function_partial ON function_test USING gpu_kary (k) WHERE flag;
SELECT gpu.count('function_partial', NULL::int4[], NULL::int4[]), gpu.count('function_partial', ARRAY[-10], ARRAY[9]);
SELECT count(*) FROM gpu.lookup('function_partial', ARRAY[7, 8]);
-- An expression's index is asked for the expression's values.
CREATE INDEX function_expression ON function_wide USING gpu_kary ((id % 7));
SELECT gpu.count('function_expression', ARRAY[6], ARRAY[6]), (SELECT count(*) FROM function_wide WHERE id % 7 = 6) AS wanted;

-- gpu.runs, gpu.merge, gpu.verify.
SELECT sum(entries) > 0 AS has_entries, sum(dead) AS dead, bool_and(pages > 0) AS has_pages, bool_and(bytes >= pages * 8000) AS bytes_fit,
       count(DISTINCT run_id) = count(*) AS ids_differ FROM gpu.runs('function_test_k');
DELETE FROM function_test WHERE k BETWEEN 100 AND 199;
VACUUM function_test;
SELECT count(*) > 0 AS merged, bool_and(milliseconds >= 0) AS took_time, bool_and(path = 'paged') AS by_path FROM gpu.merge('function_test_k');
SELECT count(*) AS runs, sum(dead) AS dead FROM gpu.runs('function_test_k');
SELECT gpu.count('function_test_k', NULL::int4[], NULL::int4[]);
SELECT * FROM gpu.verify('function_test_k');
SELECT * FROM gpu.verify('function_test_k', false);
SELECT * FROM gpu.verify('function_test_k', heap => true);
-- A second merge has nothing to do and is no error.
SELECT count(*) >= 0 AS done FROM gpu.merge('function_test_k');
SELECT count(*) AS runs FROM gpu.runs('function_test_k');

-- Wrong arguments.
CREATE INDEX function_btree ON function_test (id);
CREATE VIEW function_view AS SELECT * FROM function_test;
SELECT gpu.count('function_test', ARRAY[1], ARRAY[2]);
SELECT gpu.count('function_view', ARRAY[1], ARRAY[2]);
SELECT gpu.count('function_btree', ARRAY[1], ARRAY[2]);
SELECT gpu.count('function_absent', ARRAY[1], ARRAY[2]);
SELECT gpu.count(0, ARRAY[1], ARRAY[2]);
SELECT gpu.count(NULL, ARRAY[1], ARRAY[2]);
SELECT gpu.count('function_test_k', ARRAY['a'], ARRAY['b']);
SELECT gpu.count('function_test_k', ARRAY[1.5], ARRAY[2.5]);
SELECT gpu.count('function_test_k', row('a'::text), row(2));
SELECT gpu.count('function_test_k', row(1, 2), row(3, 4));
SELECT gpu.count('function_test_k', ARRAY[1, 2], ARRAY[3, 4]);
SELECT gpu.count('function_test_k', ARRAY[[1], [2]], ARRAY[[3], [4]]);
SELECT gpu.count('function_test_k', ARRAY[row(1)], ARRAY[row(2)]);
SELECT * FROM gpu.lookup('function_test', ARRAY[1]);
SELECT * FROM gpu.lookup('function_btree', ARRAY[1]);
SELECT * FROM gpu.lookup(NULL, ARRAY[1]);
SELECT * FROM gpu.lookup('function_test_k', ARRAY['a']);
SELECT * FROM gpu.lookup('function_test_k', ARRAY[true]);
-- Records are for keys of several columns.
SELECT * FROM gpu.lookup('function_test_k', ARRAY[row(7), row(8)]);
SELECT * FROM gpu.lookup('function_test_k', ARRAY[row(1, 2)]);
SELECT * FROM gpu.lookup('function_test_k', ARRAY[row('a'::text)]);
SELECT * FROM gpu.runs('function_test');
SELECT * FROM gpu.runs('function_btree');
SELECT * FROM gpu.runs(NULL);
SELECT * FROM gpu.merge('function_test');
SELECT * FROM gpu.merge('function_btree');
SELECT * FROM gpu.merge(NULL);
SELECT * FROM gpu.verify('function_test');
SELECT * FROM gpu.verify('function_btree');
SELECT * FROM gpu.verify(NULL);

-- A read-only transaction may call what only reads.
BEGIN READ ONLY;
SELECT gpu.count('function_test_k', ARRAY[7], ARRAY[7]);
SELECT count(*) FROM gpu.lookup('function_test_k', ARRAY[7]);
ROLLBACK;

-- Privileges: those of the table and the column, and ownership for merging.
CREATE ROLE regress_gpu_reader;
CREATE ROLE regress_gpu_stranger;
GRANT EXECUTE ON FUNCTION gpu.verify(regclass, bool) TO regress_gpu_reader, regress_gpu_stranger;
GRANT SELECT (k) ON function_test TO regress_gpu_reader;
SET ROLE regress_gpu_reader;
SELECT gpu.count('function_test_k', ARRAY[7], ARRAY[7]);
SELECT count(*) FROM gpu.lookup('function_test_k', ARRAY[7]);
SELECT count(*) >= 0 AS allowed FROM gpu.runs('function_test_k');
-- The partial index's predicate reads a column that was not granted.
SELECT gpu.count('function_partial', ARRAY[7], ARRAY[7]);
-- So does the other table's expression.
SELECT gpu.count('function_expression', ARRAY[6], ARRAY[6]);
SELECT gpu.count('function_wide_k', ARRAY[6], ARRAY[6]);
SELECT * FROM gpu.lookup('function_wide_k', ARRAY[6]);
SELECT * FROM gpu.merge('function_test_k');
SET ROLE regress_gpu_stranger;
SELECT gpu.count('function_test_k', ARRAY[7], ARRAY[7]);
SELECT * FROM gpu.lookup('function_test_k', ARRAY[7]);
SELECT * FROM gpu.verify('function_test_k');
SELECT * FROM gpu.merge('function_test_k');
RESET ROLE;
-- What a view's owner may do, the function inside a definer's function may too.
CREATE FUNCTION function_definer() RETURNS bigint SECURITY DEFINER LANGUAGE sql SET search_path = public, pg_temp AS
  $$ SELECT gpu.count('function_test_k', ARRAY[7], ARRAY[7]) $$;
SET ROLE regress_gpu_stranger;
SELECT function_definer();
RESET ROLE;
DROP FUNCTION function_definer;

-- Row security that applies to the caller: refused, for an index knows no policies.
GRANT SELECT ON function_test TO regress_gpu_reader;
ALTER TABLE function_test ENABLE ROW LEVEL SECURITY;
CREATE POLICY function_policy ON function_test FOR SELECT TO regress_gpu_reader USING (id < 1000);
SET ROLE regress_gpu_reader;
SELECT gpu.count('function_test_k', ARRAY[7], ARRAY[7]);
SELECT * FROM gpu.lookup('function_test_k', ARRAY[7]);
SET enable_seqscan = off;
SELECT count(*) FROM function_test WHERE k = 7;
RESET ROLE;
-- The owner is bound only when forced; a role that bypasses policies never is.
SELECT gpu.count('function_test_k', ARRAY[7], ARRAY[7]);
ALTER TABLE function_test OWNER TO regress_gpu_reader;
SET ROLE regress_gpu_reader;
SELECT gpu.count('function_test_k', ARRAY[7], ARRAY[7]);
SELECT count(*) >= 0 AS owner_may_merge FROM gpu.merge('function_test_k');
SELECT count(*) AS problems FROM gpu.verify('function_test_k');
ALTER TABLE function_test FORCE ROW LEVEL SECURITY;
SELECT gpu.count('function_test_k', ARRAY[7], ARRAY[7]);
RESET ROLE;
DROP VIEW function_view;
DROP TABLE function_test, function_wide;
REVOKE EXECUTE ON FUNCTION gpu.verify(regclass, bool) FROM regress_gpu_reader, regress_gpu_stranger;
DROP ROLE regress_gpu_reader, regress_gpu_stranger;
