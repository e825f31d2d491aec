-- The text search configuration of a gpu_text index: what keeps it from being dropped, and what happens as it is renamed.
SET client_min_messages = warning;
CREATE SCHEMA app;
CREATE TEXT SEARCH CONFIGURATION app.mine (COPY = english);
CREATE TEXT SEARCH CONFIGURATION app.other (COPY = simple);
CREATE TABLE note (id int, body text);
INSERT INTO note SELECT g, CASE WHEN g % 10 = 0 THEN 'running dogs ' ELSE 'cats ' END || g FROM generate_series(1, 300) AS g;
CREATE FUNCTION configuration_dependencies(index regclass) RETURNS SETOF regconfig LANGUAGE sql AS
$$SELECT DISTINCT refobjid::regconfig FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = index AND refclassid = 'pg_ts_config'::regclass ORDER BY 1$$;
SET enable_seqscan = off;

-- An index depends on the configuration of its expression, and on that of its option.
CREATE INDEX note_expression ON note USING gpu_text (to_tsvector('app.mine', body));
DROP TEXT SEARCH CONFIGURATION app.mine;
REINDEX INDEX note_expression;
DROP TEXT SEARCH CONFIGURATION app.mine;
DROP INDEX note_expression;
CREATE INDEX note_option ON note USING gpu_text (body) WITH (configuration = 'app.mine');
DROP TEXT SEARCH CONFIGURATION app.mine;
REINDEX INDEX CONCURRENTLY note_option;
VACUUM FULL note;
DROP TEXT SEARCH CONFIGURATION app.mine;
-- An index on both.
CREATE INDEX note_both ON note USING gpu_text ((ts_headline('app.other', body, 'dogs'))) WITH (configuration = 'app.mine');
REINDEX TABLE note;
SELECT * FROM configuration_dependencies('note_both');
DROP INDEX note_both;
-- Another one is depended on from when it is named, and the one that the words were made by still is.
ALTER INDEX note_option SET (configuration = 'app.other');
DROP TEXT SEARCH CONFIGURATION app.mine;
DROP TEXT SEARCH CONFIGURATION app.other;
SELECT count(*) FROM note WHERE body @@@ 'dog';
REINDEX INDEX CONCURRENTLY note_option;
SELECT count(*) FROM note WHERE body @@@ 'dog';
DROP TEXT SEARCH CONFIGURATION app.other;
ALTER INDEX note_option SET (configuration = 'app.mine', k1 = 1.5);
REINDEX INDEX note_option;
SELECT count(*) FROM note WHERE body @@@ 'dog';
SELECT * FROM configuration_dependencies('note_option');
-- Other options leave it alone; without one it is `simple`, on which nothing needs to depend.
ALTER INDEX note_option SET (k1 = 1.2);
ALTER INDEX note_option RESET (k1);
CREATE INDEX note_default ON note USING gpu_text (body) WHERE id > 1000;
SELECT count(*) FROM configuration_dependencies('note_default');
-- CASCADE takes the index along.
BEGIN;
DROP TEXT SEARCH CONFIGURATION app.mine CASCADE;
SELECT to_regclass('note_option');
ROLLBACK;
-- The index of a partitioned table, which isn't built.
CREATE TABLE part (id int, body text) PARTITION BY RANGE (id);
CREATE TEXT SEARCH CONFIGURATION app.parts (COPY = english);
CREATE INDEX part_body ON part USING gpu_text (body) WITH (configuration = 'app.parts');
DROP TEXT SEARCH CONFIGURATION app.parts;
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (1000);
INSERT INTO part SELECT id, body FROM note WHERE id < 1000;
-- No such configuration.
CREATE INDEX ON note USING gpu_text (body) WITH (configuration = 'app.none');
CREATE INDEX ON note USING gpu_text (body) WITH (configuration = 'none.mine');
ALTER INDEX note_option SET (configuration = 'mine');

-- A schema is renamed, and a configuration, and moved: the options follow, and all goes on.
CREATE FUNCTION configuration_options() RETURNS TABLE (index name, options text[]) LANGUAGE sql AS
$$SELECT relname, reloptions FROM pg_class WHERE relname IN ('note_option', 'part_body', 'part1_body_idx') ORDER BY 1$$;
CREATE FUNCTION configuration_differences() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    t text;
    by_index int[];
    by_rows int[];
BEGIN
    FOREACH t IN ARRAY ARRAY['note', 'part'] LOOP
        EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %I WHERE body @@@ ''dog''', t) INTO by_index;
        EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %I WHERE to_tsvector(''english'', body) @@ ''dog''', t) INTO by_rows;
        IF by_index IS DISTINCT FROM by_rows OR by_index IS NULL THEN RETURN NEXT t; END IF;
    END LOOP;
    RETURN QUERY SELECT problem FROM gpu.verify('note_option') UNION ALL SELECT problem FROM gpu.verify('part1_body_idx');
END $$;
ALTER SCHEMA app RENAME TO application;
SELECT * FROM configuration_options();
SELECT * FROM configuration_differences();
INSERT INTO note VALUES (901, 'a new dog');
DELETE FROM note WHERE id = 100;
VACUUM note;
SELECT * FROM configuration_differences();
ALTER TEXT SEARCH CONFIGURATION application.mine RENAME TO "Ours";
SELECT * FROM configuration_options();
SELECT * FROM configuration_differences();
REINDEX INDEX note_option;
SELECT * FROM configuration_differences();
CREATE SCHEMA elsewhere;
ALTER TEXT SEARCH CONFIGURATION application."Ours" SET SCHEMA elsewhere;
ALTER TEXT SEARCH CONFIGURATION application.parts SET SCHEMA elsewhere;
SELECT * FROM configuration_options();
REINDEX TABLE CONCURRENTLY note;
REINDEX TABLE CONCURRENTLY part;
INSERT INTO part VALUES (901, 'a new dog');
ALTER TEXT SEARCH CONFIGURATION elsewhere."Ours" RENAME TO mine;
ALTER TEXT SEARCH CONFIGURATION elsewhere.parts RENAME TO "of parts";
SELECT * FROM configuration_options();
SELECT * FROM configuration_differences();
CREATE TABLE part2 PARTITION OF part FOR VALUES FROM (1000) TO (2000);
SELECT reloptions FROM pg_class WHERE relname = 'part2_body_idx';
-- What is undone.
BEGIN;
ALTER SCHEMA elsewhere RENAME TO nowhere;
SELECT * FROM configuration_options();
SELECT * FROM configuration_differences();
ROLLBACK;
SELECT * FROM configuration_options();
SELECT * FROM configuration_differences();

-- Its name is given to another configuration: the index means what it has meant.
ALTER TEXT SEARCH CONFIGURATION elsewhere.mine RENAME TO old;
CREATE TEXT SEARCH CONFIGURATION elsewhere.mine (COPY = simple);
SELECT * FROM configuration_differences();
REINDEX INDEX note_option;
SELECT * FROM configuration_differences();
ALTER INDEX note_option SET (configuration = 'elsewhere.mine');
CREATE INDEX note_new ON note USING gpu_text (body) WITH (configuration = 'elsewhere.mine');
DROP INDEX note_option;
SELECT count(*) FROM note WHERE body @@@ 'dog';
SELECT count(*) FROM note WHERE body @@@ 'dogs';
DROP INDEX note_new;

-- Words made by one configuration, the option names another, and the first is renamed.
CREATE INDEX note_option ON note USING gpu_text (body) WITH (configuration = 'elsewhere.old');
ALTER INDEX note_option SET (configuration = 'elsewhere.mine');
ALTER TEXT SEARCH CONFIGURATION elsewhere.old RENAME TO older;
SELECT * FROM configuration_options();
SELECT * FROM configuration_differences();
ALTER SCHEMA elsewhere RENAME TO app;
SELECT * FROM configuration_options();
SELECT * FROM configuration_differences();

-- Who may not see the schema searches and inserts all the same.
CREATE ROLE text_configuration_user;
GRANT SELECT, INSERT ON note TO text_configuration_user;
SET ROLE text_configuration_user;
INSERT INTO note VALUES (902, 'another dog');
SELECT count(*) FROM note WHERE body @@@ 'dog';
RESET ROLE;
SELECT * FROM configuration_differences();

-- The trigger's function isn't called by hand.
SELECT gpu.configuration_renamed();
DROP TABLE note, part;
DROP SCHEMA app CASCADE;
DROP SCHEMA application CASCADE;
DROP ROLE text_configuration_user;
DROP FUNCTION configuration_dependencies, configuration_options, configuration_differences;
