-- Rows of a statement that inserts many wait for each other before gpu_column has their entries (pg_gpu.insert_memory). Whoever would miss them has them
-- written: answers by the index are held against those without it, in the midst of statements, too.
SET search_path = public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE waiting (id int8, few int4, word text, amount numeric(10, 2), long text);
CREATE INDEX waiting_i ON waiting USING gpu_column (id, few, word, amount, long);
CREATE FUNCTION some_rows(first int, last int) RETURNS SETOF waiting LANGUAGE sql AS $$
    SELECT g, CASE WHEN g % 13 <> 0 THEN g % 7 END, CASE WHEN g % 17 <> 0 THEN 'word ' || g % 100 END, g % 1000 / 100.0, NULL
    FROM generate_series(first, last) AS g
$$;
-- One count by the index, one by the table.
CREATE FUNCTION by_index(name text DEFAULT 'waiting_i', condition text DEFAULT NULL) RETURNS int8 LANGUAGE sql AS $$ SELECT gpu.count(name::regclass, coalesce(condition, 'id IS NOT NULL')) $$;
CREATE FUNCTION by_table(name regclass DEFAULT 'waiting', condition text DEFAULT 'true') RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE n int8;
BEGIN
    PERFORM set_config('pg_gpu.enable_query', 'off', true), set_config('pg_gpu.enable_count_scan', 'off', true), set_config('enable_bitmapscan', 'off', true);
    EXECUTE format('SELECT count(*) FROM %s WHERE %s', name, condition) INTO n;
    PERFORM set_config('pg_gpu.enable_query', 'on', true), set_config('pg_gpu.enable_count_scan', 'on', true), set_config('enable_bitmapscan', 'on', true);
    RETURN n;
END $$;
CREATE FUNCTION state() RETURNS TABLE (rows int8, same bool, same_of_word bool, same_without bool, sound bool) LANGUAGE sql AS $$
    SELECT by_table(), by_index() = by_table(), by_index(condition => 'word = ''word 3''') = by_table(condition => 'word = ''word 3'''),
           by_index(condition => 'few IS NULL') = by_table(condition => 'few IS NULL'), NOT EXISTS (SELECT FROM gpu.verify('waiting_i', true))
$$;

-- All but the first rows become a run at the end of the statement.
INSERT INTO waiting SELECT * FROM some_rows(1, 5000);
SELECT entries FROM gpu.runs('waiting_i') ORDER BY 1;
SELECT * FROM state();
-- Few wait for the tail.
TRUNCATE waiting;
INSERT INTO waiting SELECT * FROM some_rows(1, 60);
SELECT entries FROM gpu.runs('waiting_i') ORDER BY 1;
SELECT * FROM state();
-- Without memory none wait.
TRUNCATE waiting;
SET pg_gpu.insert_memory = 0;
INSERT INTO waiting SELECT * FROM some_rows(1, 5000);
SELECT max(entries) < 4900 AS none_waited FROM gpu.runs('waiting_i');
-- With little of it they wait a while, and so do rows that are longer than a page.
SET pg_gpu.insert_memory = '200kB';
INSERT INTO waiting SELECT id, few, word, amount, CASE WHEN id % 1000 = 7 THEN repeat(md5(id::text), 1000) END FROM some_rows(5001, 15000);
INSERT INTO waiting SELECT id, few, word, amount, (SELECT string_agg(md5((id * 1000 + i)::text), '') FROM generate_series(1, 400) AS i) FROM some_rows(15001, 15100);
RESET pg_gpu.insert_memory;
SELECT * FROM state();
SELECT sum(length(long)), by_index(condition => 'long LIKE ''%a%''') = by_table(condition => 'long LIKE ''%a%''') AS same FROM waiting;

-- COPY, also where it is what loads the library.
TRUNCATE waiting;
\set program 'awk ''BEGIN { for (g = 1; g <= 5000; g++) printf "%d\\t%s\\tword %d\\t%.2f\\n", g, g % 13 ? g % 7 : "\\\\N", g % 100, g % 1000 / 100 }'''
\c
SET max_parallel_workers_per_gather = 0;
COPY waiting (id, few, word, amount) FROM PROGRAM :'program';
SELECT entries FROM gpu.runs('waiting_i') ORDER BY 1;
SELECT * FROM state();
COPY waiting (id, few, word, amount) FROM PROGRAM :'program' WHERE id % 2 = 0;
SELECT * FROM state();
-- What COPY FREEZE brings is all-visible at once.
BEGIN;
TRUNCATE waiting;
COPY waiting (id, few, word, amount) FROM PROGRAM :'program' (FREEZE);
SELECT * FROM state();
COMMIT;
SELECT * FROM state();

-- UPDATE, MERGE, rows that come from the table itself.
UPDATE waiting SET word = 'word 3' WHERE id % 4 = 0;
SELECT * FROM state();
MERGE INTO waiting AS w USING some_rows(4000, 7000) AS s ON w.id = s.id WHEN MATCHED THEN UPDATE SET few = 100 WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.few, s.word, s.amount);
SELECT * FROM state();
SET enable_seqscan = off;
INSERT INTO waiting SELECT id + 100000, few, word, amount FROM waiting WHERE word = 'word 3' OR few = 100;
RESET enable_seqscan;
SELECT * FROM state();

-- Functions and triggers read in the midst of the statement, by the index: its first rows, those that wait, and rows that waited until others read.
CREATE TABLE seen (id int8, indexed int8, whole int8);
CREATE FUNCTION look(id int8) RETURNS int8 LANGUAGE plpgsql AS $$
BEGIN
    IF id % 500 = 0 THEN
        INSERT INTO seen VALUES (id, by_index(), by_table());
    END IF;
    RETURN id;
END $$;
TRUNCATE waiting;
INSERT INTO waiting SELECT look(id), few, word, amount FROM some_rows(1, 3000);
SELECT * FROM seen ORDER BY id;
TRUNCATE seen;
CREATE FUNCTION look_at_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM look(NEW.id); RETURN NEW; END $$;
CREATE TRIGGER before_row BEFORE INSERT ON waiting FOR EACH ROW EXECUTE FUNCTION look_at_row();
TRUNCATE waiting;
COPY waiting (id, few, word, amount) FROM PROGRAM :'program' WHERE id <= 2000;
SELECT * FROM seen ORDER BY id;
TRUNCATE seen;
DROP TRIGGER before_row ON waiting;
CREATE TRIGGER after_row AFTER INSERT ON waiting FOR EACH ROW EXECUTE FUNCTION look_at_row();
COPY waiting (id, few, word, amount) FROM PROGRAM :'program' WHERE id <= 1000;
SELECT * FROM seen ORDER BY id;
TRUNCATE seen;
DROP TRIGGER after_row ON waiting;
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON waiting DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION look_at_row();
TRUNCATE waiting;
BEGIN;
INSERT INTO waiting SELECT * FROM some_rows(1, 1000);
SELECT count(*) FROM seen;
COMMIT;
SELECT * FROM seen ORDER BY id;
TRUNCATE seen;
DROP TRIGGER at_commit ON waiting;
SELECT * FROM state();

-- Subtransactions in the midst of the statement, some of which are taken back, with rows of their own that wait. What comes later gets their TIDs.
CREATE FUNCTION add_some(id int8) RETURNS int8 LANGUAGE plpgsql AS $$
BEGIN
    IF id % 100 = 0 THEN
        INSERT INTO waiting SELECT * FROM some_rows((id * 1000)::int, (id * 1000)::int + 150);
        IF id % 200 = 0 THEN
            RAISE division_by_zero;
        END IF;
        -- An error while rows of the statement around it wait no more.
        PERFORM 1 / (id % 300)::int;
    END IF;
    RETURN id;
EXCEPTION WHEN division_by_zero THEN RETURN -id;
END $$;
TRUNCATE waiting;
INSERT INTO waiting SELECT add_some(id), few, word, amount FROM some_rows(1, 2000);
SELECT * FROM state();
SELECT count(*) FILTER (WHERE id < 0) AS taken_back, count(*) FILTER (WHERE id > 10000) AS kept FROM waiting;
CREATE FUNCTION add_some_for_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.id < 10000 THEN NEW.id := add_some(NEW.id); END IF; RETURN NEW; END $$;
CREATE TRIGGER before_row BEFORE INSERT ON waiting FOR EACH ROW EXECUTE FUNCTION add_some_for_row();
COPY waiting (id, few, word, amount) FROM PROGRAM :'program' WHERE id <= 1000;
DROP TRIGGER before_row ON waiting;
SELECT * FROM state();
VACUUM waiting;
INSERT INTO waiting SELECT * FROM some_rows(50001, 53000);
SELECT * FROM state();

-- Statements and transactions that fail or are taken back while rows wait.
INSERT INTO waiting SELECT id, 1 / (3000 - id)::int, word, amount FROM some_rows(1, 5000);
VACUUM waiting;
INSERT INTO waiting SELECT * FROM some_rows(60001, 63000);
SELECT * FROM state();
BEGIN;
INSERT INTO waiting SELECT * FROM some_rows(1, 3000);
SAVEPOINT s;
INSERT INTO waiting SELECT * FROM some_rows(3001, 6000);
ROLLBACK TO s;
INSERT INTO waiting SELECT * FROM some_rows(6001, 9000);
INSERT INTO waiting SELECT id, 1 / (8000 - id)::int, word, amount FROM some_rows(7000, 9000);
ROLLBACK TO s;
INSERT INTO waiting SELECT * FROM some_rows(9001, 9500);
SELECT * FROM state();
COMMIT;
VACUUM waiting;
INSERT INTO waiting SELECT * FROM some_rows(70001, 76000);
SELECT * FROM state();

-- A cursor sees what its snapshot sees.
BEGIN;
SET LOCAL enable_seqscan = off;
DECLARE older CURSOR FOR SELECT count(*) FROM waiting WHERE few = 3;
INSERT INTO waiting SELECT * FROM some_rows(80001, 83000);
DECLARE newer CURSOR FOR SELECT count(*) FROM waiting WHERE few = 3;
DELETE FROM waiting WHERE id > 80000;
FETCH older;
FETCH newer;
ROLLBACK;

-- Statements within statements that insert: what comes back of one that isn't read to its end, too.
TRUNCATE waiting;
WITH added AS (INSERT INTO waiting SELECT * FROM some_rows(1, 3000) RETURNING id) SELECT count(*), (SELECT count(*) FROM waiting) AS before FROM added;
SELECT * FROM state();
WITH added AS (INSERT INTO waiting SELECT * FROM some_rows(3001, 6000) RETURNING id) SELECT id FROM added LIMIT 2;
SELECT * FROM state();
CREATE FUNCTION add_and_count() RETURNS int8 LANGUAGE sql AS $$ INSERT INTO waiting SELECT * FROM some_rows(6001, 9000); SELECT by_index() $$;
SELECT add_and_count();

-- Rows of ON CONFLICT may be dead before their transaction ends, and never wait; not even those of a statement within one whose rows do.
CREATE UNIQUE INDEX waiting_id ON waiting (id);
TRUNCATE waiting;
INSERT INTO waiting SELECT * FROM some_rows(1, 3000) ON CONFLICT (id) DO UPDATE SET few = 1000;
SELECT max(entries) < 2900 AS none_waited FROM gpu.runs('waiting_i');
INSERT INTO waiting SELECT * FROM some_rows(2001, 5000) ON CONFLICT DO NOTHING;
SELECT * FROM state();
TRUNCATE waiting;
WITH added AS (INSERT INTO waiting SELECT * FROM some_rows(1, 3000) ON CONFLICT DO NOTHING RETURNING id) SELECT id FROM added LIMIT 1;
SELECT max(entries) < 2900 AS none_waited FROM gpu.runs('waiting_i');
TRUNCATE waiting;
CREATE FUNCTION add_without_conflict(id int8) RETURNS int8 LANGUAGE plpgsql AS $$
BEGIN
    IF id = 100 THEN
        WITH added AS (INSERT INTO waiting SELECT * FROM some_rows(1001, 4000) ON CONFLICT DO NOTHING RETURNING 1) SELECT 5000 INTO id FROM added LIMIT 1;
    END IF;
    RETURN id;
END $$;
INSERT INTO waiting SELECT add_without_conflict(id), few, word, amount FROM some_rows(1, 200);
SELECT max(entries) < 2900 AS none_waited FROM gpu.runs('waiting_i');
SELECT * FROM state();
DROP INDEX waiting_id;

-- The index goes, or is built anew, in the transaction of the statement.
BEGIN;
INSERT INTO waiting SELECT * FROM some_rows(10001, 13000);
REINDEX INDEX waiting_i;
INSERT INTO waiting SELECT * FROM some_rows(13001, 16000);
SELECT * FROM state();
TRUNCATE waiting;
INSERT INTO waiting SELECT * FROM some_rows(1, 3000);
SELECT * FROM state();
DROP INDEX waiting_i;
INSERT INTO waiting SELECT * FROM some_rows(3001, 6000);
ROLLBACK;
SELECT * FROM state();
BEGIN;
INSERT INTO waiting SELECT * FROM some_rows(10001, 13000);
DROP INDEX waiting_i;
CREATE INDEX waiting_i ON waiting USING gpu_column (id, few, word, amount, long);
COMMIT;
SELECT * FROM state();

-- Two indexes of a table, expressions and a condition, tables of other kinds.
CREATE INDEX waiting_part ON waiting USING gpu_column (id, (id % 5), upper(word)) WHERE few > 2;
TRUNCATE waiting;
INSERT INTO waiting SELECT * FROM some_rows(1, 5000);
SELECT * FROM state();
SELECT by_index('waiting_part') = by_table(condition => 'few > 2') AS same, count(*) AS problems FROM gpu.verify('waiting_part', true);
CREATE TEMPORARY TABLE waiting_temporary (LIKE waiting) ON COMMIT DELETE ROWS;
CREATE INDEX waiting_temporary_i ON waiting_temporary USING gpu_column (id, word);
CREATE UNLOGGED TABLE waiting_unlogged (LIKE waiting);
CREATE INDEX waiting_unlogged_i ON waiting_unlogged USING gpu_column (id, word);
BEGIN;
INSERT INTO waiting_temporary SELECT * FROM some_rows(1, 3000);
INSERT INTO waiting_unlogged SELECT * FROM some_rows(1, 3000);
SELECT by_index('waiting_temporary_i'), by_index('waiting_unlogged_i');
COMMIT;
INSERT INTO waiting_temporary SELECT * FROM some_rows(1, 3000);
SELECT by_index('waiting_temporary_i'), by_index('waiting_unlogged_i'), count(*) AS problems FROM gpu.verify('waiting_unlogged_i', true);

-- Rows of many partitions wait in the memory of one.
CREATE TABLE parts (LIKE waiting) PARTITION BY HASH (id);
DO $$ BEGIN FOR i IN 0 .. 19 LOOP EXECUTE format('CREATE TABLE parts_%s PARTITION OF parts FOR VALUES WITH (MODULUS 20, REMAINDER %1$s)', i); END LOOP; END $$;
CREATE INDEX parts_i ON parts USING gpu_column (id, few, word);
SET pg_gpu.insert_memory = '1MB';
INSERT INTO parts SELECT * FROM some_rows(1, 20000);
COPY parts (id, few, word, amount) FROM PROGRAM :'program';
UPDATE parts SET id = id + 1 WHERE id % 3 = 0;
RESET pg_gpu.insert_memory;
SELECT sum(by_index(indexrelid::regclass::text)), bool_and(by_index(indexrelid::regclass::text) = by_table(indrelid::regclass)) AS same,
       sum((SELECT count(*) FROM gpu.verify(indexrelid::regclass, true))) AS problems
FROM pg_index JOIN pg_inherits ON inhrelid = indexrelid WHERE inhparent = 'parts_i'::regclass;

DROP TABLE parts, waiting_temporary, waiting_unlogged, seen;
DROP FUNCTION state, by_index, by_table, look, look_at_row, add_some, add_some_for_row, add_and_count, add_without_conflict;
DROP TABLE waiting CASCADE;

-- ---- beside an index whose merges begin subtransactions, which have the rows that wait written
CREATE TABLE waiting_beside (k int8, v int4, w int2);
CREATE INDEX waiting_beside_k ON waiting_beside USING gpu_kary (k);
CREATE INDEX waiting_beside_v ON waiting_beside USING gpu_column (v, w);
INSERT INTO waiting_beside SELECT g * 7919 % 1000003, g, g % 10 FROM generate_series(1, 100000) AS g;
SELECT count(*) < 50 AS merged FROM gpu.runs('waiting_beside_v');
SELECT * FROM gpu.verify('waiting_beside_v');
DROP TABLE waiting_beside;
