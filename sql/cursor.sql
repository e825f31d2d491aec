-- Cursors: both directions, over the ends, held over the transaction's end.
CREATE TABLE cursor_test (k int4, id int);
INSERT INTO cursor_test SELECT (i * 7) % 30, i FROM generate_series(1, 30) AS i;
CREATE INDEX cursor_test_k ON cursor_test USING gpu_kary (k);
INSERT INTO cursor_test VALUES (5, 31), (5, 32), (NULL, 33);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SET enable_indexonlyscan = off;

BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k FROM cursor_test ORDER BY k;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH 1 FROM c;
FETCH LAST FROM c;
FETCH NEXT FROM c;
FETCH NEXT FROM c;
FETCH PRIOR FROM c;
FETCH PRIOR FROM c;
FETCH FIRST FROM c;
FETCH PRIOR FROM c;
FETCH NEXT FROM c;
FETCH ABSOLUTE 7 FROM c;
FETCH RELATIVE 2 FROM c;
FETCH RELATIVE -3 FROM c;
FETCH ABSOLUTE -2 FROM c;
MOVE FORWARD ALL FROM c;
FETCH BACKWARD 4 FROM c;
MOVE BACKWARD ALL FROM c;
FETCH FORWARD 4 FROM c;
-- What is written now doesn't reach an open cursor.
INSERT INTO cursor_test SELECT 4, 100 + i FROM generate_series(1, 1500) AS i;
DELETE FROM cursor_test WHERE k = 6;
FETCH 7 FROM c;
FETCH BACKWARD 8 FROM c;
COMMIT;

-- Ranges and arrays end where they should, in both directions.
DELETE FROM cursor_test WHERE id > 100;
BEGIN;
DECLARE r SCROLL CURSOR FOR SELECT k FROM cursor_test WHERE k BETWEEN 3 AND 7 ORDER BY k;
FETCH ALL FROM r;
FETCH BACKWARD ALL FROM r;
FETCH 2 FROM r;
DECLARE a SCROLL CURSOR FOR SELECT k FROM cursor_test WHERE k = ANY ('{9,5,40,2,5,-1}') ORDER BY k;
FETCH ALL FROM a;
FETCH BACKWARD ALL FROM a;
FETCH 3 FROM a;
FETCH BACKWARD 1 FROM a;
FETCH 1 FROM a;
DECLARE d SCROLL CURSOR FOR SELECT k FROM cursor_test WHERE k < 4 ORDER BY k DESC;
FETCH 2 FROM d;
FETCH BACKWARD 1 FROM d;
FETCH ALL FROM d;
FETCH BACKWARD 2 FROM d;
DECLARE n SCROLL CURSOR FOR SELECT id FROM cursor_test WHERE k IS NULL;
FETCH ALL FROM n;
FETCH BACKWARD ALL FROM n;
DECLARE e SCROLL CURSOR FOR SELECT k FROM cursor_test WHERE k > 100 ORDER BY k;
FETCH 1 FROM e;
FETCH BACKWARD 1 FROM e;
COMMIT;

-- Index-only cursors.
VACUUM cursor_test;
SET enable_indexonlyscan = on;
BEGIN;
EXPLAIN (COSTS OFF) DECLARE o SCROLL CURSOR FOR SELECT k FROM cursor_test WHERE k < 6 ORDER BY k;
DECLARE o SCROLL CURSOR FOR SELECT k FROM cursor_test WHERE k < 6 ORDER BY k;
FETCH ALL FROM o;
FETCH BACKWARD 3 FROM o;
FETCH 2 FROM o;
DELETE FROM cursor_test WHERE k = 3;
FETCH BACKWARD ALL FROM o;
FETCH ALL FROM o;
ROLLBACK;

-- Held over the commit, and over what comes after it.
BEGIN;
DECLARE h SCROLL CURSOR WITH HOLD FOR SELECT k FROM cursor_test WHERE k < 6 ORDER BY k;
FETCH 2 FROM h;
COMMIT;
DELETE FROM cursor_test WHERE k < 6;
VACUUM cursor_test;
INSERT INTO cursor_test SELECT i, 0 FROM generate_series(0, 4) AS i;
FETCH ALL FROM h;
FETCH BACKWARD ALL FROM h;
CLOSE h;

-- A savepoint rolled back under an open cursor.
BEGIN;
DECLARE s SCROLL CURSOR FOR SELECT k, id FROM cursor_test WHERE k BETWEEN 6 AND 9 ORDER BY k;
FETCH 1 FROM s;
SAVEPOINT one;
FETCH 1 FROM s;
UPDATE cursor_test SET k = 8 WHERE k = 9;
ROLLBACK TO one;
FETCH 1 FROM s;
FETCH BACKWARD 2 FROM s;
COMMIT;

-- Positioned update and delete.
SET enable_indexonlyscan = off;
BEGIN;
DECLARE w CURSOR FOR SELECT k, id FROM cursor_test WHERE k IN (10, 20) ORDER BY k FOR UPDATE;
FETCH 1 FROM w;
UPDATE cursor_test SET k = 11 WHERE CURRENT OF w;
FETCH 1 FROM w;
DELETE FROM cursor_test WHERE CURRENT OF w;
COMMIT;
SELECT k, id FROM cursor_test WHERE k IN (10, 11, 20) ORDER BY k, id;
DROP TABLE cursor_test;

-- Backward over many runs and pages: the same rows as forward, from any place.
CREATE TABLE cursor_large (k int8, id int);
CREATE INDEX cursor_large_k ON cursor_large USING gpu_kary (k) WITH (fanout = 3);
INSERT INTO cursor_large SELECT (i * 7919) % 1000, i FROM generate_series(1, 5000) AS i;
BEGIN;
EXPLAIN (COSTS OFF) DECLARE l SCROLL CURSOR FOR SELECT k FROM cursor_large ORDER BY k;
DECLARE l SCROLL CURSOR FOR SELECT k FROM cursor_large ORDER BY k;
FETCH ABSOLUTE 2500 FROM l;
FETCH RELATIVE 1 FROM l;
FETCH BACKWARD 3 FROM l;
MOVE 2502 FROM l;
FETCH 2 FROM l;
MOVE BACKWARD 4999 FROM l;
FETCH BACKWARD 2 FROM l;
COMMIT;
DROP TABLE cursor_large;
