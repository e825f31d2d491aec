-- CREATE INDEX ... USING gpu_column: encodings, sizes, options, what is refused.
SET pg_gpu.enable_query = off;
SET search_path = public;
CREATE TABLE column_build (id int4, few int2, wide int8, float float8, dates date, texts text, names name, uuids uuid,
                           numerics numeric(10, 2), flags bool, arrays int[]);
INSERT INTO column_build
SELECT g, g % 7, g * 1000003::int8 * 1000003, sqrt(g), '2020-01-01'::date + g % 365, 'text ' || g % 100, 'name' || g % 3,
       md5((g % 50)::text)::uuid, g % 33 / 4.0, g % 2 = 0, ARRAY[g % 4, NULL]
FROM generate_series(1, 20000) AS g;
VACUUM ANALYZE column_build;
CREATE INDEX column_build_i ON column_build USING gpu_column (id, few, wide, float, dates, texts, names, uuids, numerics, flags, arrays);
SELECT * FROM gpu.verify('column_build_i');
SELECT column_name, encoding, distinct_values, bits FROM gpu.columns('column_build_i');
SELECT entries, dead FROM gpu.runs('column_build_i');
-- A fraction of the table.
SELECT pg_relation_size('column_build_i') < pg_relation_size('column_build') * 0.4 AS is_small;

-- Expressions, predicates, NULLs only, nothing at all, 32 columns.
CREATE INDEX column_build_e ON column_build USING gpu_column ((id % 10), upper(texts)) WHERE few > 2;
SELECT column_name, encoding, distinct_values FROM gpu.columns('column_build_e');
SELECT gpu.count('column_build_e', 'id % 10 = 3 AND upper(texts) LIKE ''TEXT 1%'''),
       (SELECT count(*) FROM column_build WHERE id % 10 = 3 AND upper(texts) LIKE 'TEXT 1%' AND few > 2);
CREATE TABLE column_nothing (a int4, b text);
CREATE INDEX column_nothing_i ON column_nothing USING gpu_column (a, b);
SELECT * FROM gpu.columns('column_nothing_i');
SELECT * FROM gpu.summary('column_nothing_i', 'b');
SELECT bin, count FROM gpu.histogram('column_nothing_i', 'a', 2);
INSERT INTO column_nothing SELECT NULL, NULL FROM generate_series(1, 3000);
REINDEX INDEX column_nothing_i;
SELECT column_name, encoding, distinct_values, bits FROM gpu.columns('column_nothing_i');
SELECT * FROM gpu.verify('column_nothing_i');
DO $$
BEGIN
    EXECUTE 'CREATE TABLE column_many (' || (SELECT string_agg(format('c%s int4', i), ', ') FROM generate_series(1, 32) AS i) || ')';
    EXECUTE 'INSERT INTO column_many SELECT ' || (SELECT string_agg(format('g %% (%s + 2)', i), ', ') FROM generate_series(1, 32) AS i)
        || ' FROM generate_series(1, 1000) AS g';
    EXECUTE 'CREATE INDEX column_many_i ON column_many USING gpu_column (' || (SELECT string_agg(format('c%s', i), ', ') FROM generate_series(1, 32) AS i) || ')';
END
$$;
SELECT count(*), min(distinct_values), max(distinct_values) FROM gpu.columns('column_many_i');
SELECT gpu.count('column_many_i', 'c1 = 0 AND c32 = 5'), (SELECT count(*) FROM column_many WHERE c1 = 0 AND c32 = 5);
SELECT * FROM gpu.verify('column_many_i');

-- Codes of every width.
DO $$
BEGIN
    FOR half IN 0 .. 1 LOOP
        EXECUTE format('CREATE TABLE column_width_%s AS SELECT ', half)
            || (SELECT string_agg(format('((g * 2654435761 * 11400714819323::numeric) %% (2::numeric ^ %s) - 2::numeric ^ 63 * %s)::int8 AS b%s', b, (b = 64)::int, b), ', ')
                FROM generate_series(1 + 32 * half, 32 + 32 * half) AS b)
            || ' FROM generate_series(1, 3000) AS g';
        EXECUTE format('CREATE INDEX column_width_%s_i ON column_width_%1$s USING gpu_column (', half)
            || (SELECT string_agg('b' || b, ', ') FROM generate_series(1 + 32 * half, 32 + 32 * half) AS b) || ')';
    END LOOP;
END
$$;
SELECT encoding, count(*), min(bits), max(bits), count(DISTINCT bits) FROM gpu.columns('column_width_0_i') GROUP BY 1 ORDER BY 1;
SELECT encoding, count(*), min(bits), max(bits), count(DISTINCT bits) FROM gpu.columns('column_width_1_i') GROUP BY 1 ORDER BY 1;
SELECT * FROM gpu.verify('column_width_0_i');
SELECT * FROM gpu.verify('column_width_1_i');
SELECT gpu.count('column_width_1_i', 'b64 > 0 AND b63 > 4611686018427387904'), (SELECT count(*) FROM column_width_1 WHERE b64 > 0 AND b63 > 4611686018427387904);
DROP TABLE column_width_0, column_width_1;

-- More than maintenance_work_mem: parts go to temporary files.
SET maintenance_work_mem = '1MB';
CREATE TABLE column_parts AS
SELECT g AS k, md5(g::text) AS t, CASE WHEN g % 3 = 0 THEN g * 0.25 END AS d FROM generate_series(1, 60000) AS g;
VACUUM ANALYZE column_parts;
CREATE INDEX column_parts_i ON column_parts USING gpu_column (k, t, d);
SELECT * FROM gpu.verify('column_parts_i');
SELECT column_name, encoding, distinct_values FROM gpu.columns('column_parts_i');
SELECT gpu.count('column_parts_i', 't < ''4'' AND d IS NOT NULL'), (SELECT count(*) FROM column_parts WHERE t < '4' AND d IS NOT NULL);
-- Participants that each see some of the table.
SET max_parallel_maintenance_workers = 2;
SET min_parallel_table_scan_size = 0;
ALTER TABLE column_parts SET (parallel_workers = 2);
DROP INDEX column_parts_i;
CREATE INDEX column_parts_i ON column_parts USING gpu_column (k, t, d);
RESET maintenance_work_mem;
SELECT * FROM gpu.verify('column_parts_i');
SELECT column_name, encoding, distinct_values FROM gpu.columns('column_parts_i');
SELECT gpu.count('column_parts_i', 't < ''4'' AND d IS NOT NULL');
REINDEX INDEX CONCURRENTLY column_parts_i;
SELECT * FROM gpu.verify('column_parts_i');
RESET max_parallel_maintenance_workers;
RESET min_parallel_table_scan_size;

-- Kinds of tables.
CREATE TEMP TABLE column_temporary AS SELECT g AS k FROM generate_series(1, 3000) AS g;
CREATE INDEX column_temporary_i ON column_temporary USING gpu_column (k);
INSERT INTO column_temporary SELECT g FROM generate_series(1, 3000) AS g;
SELECT gpu.count('column_temporary_i', 'k <= 10');
CREATE UNLOGGED TABLE column_unlogged AS SELECT g AS k FROM generate_series(1, 3000) AS g;
CREATE INDEX CONCURRENTLY column_unlogged_i ON column_unlogged USING gpu_column (k);
TRUNCATE column_unlogged;
INSERT INTO column_unlogged SELECT g FROM generate_series(1, 3000) AS g;
SELECT gpu.count('column_unlogged_i', 'k <= 10');
SELECT * FROM gpu.verify('column_unlogged_i');
CREATE TABLE column_partitioned (k int4, t text) PARTITION BY RANGE (k);
CREATE TABLE column_partition PARTITION OF column_partitioned FOR VALUES FROM (0) TO (100);
CREATE INDEX column_partitioned_i ON column_partitioned USING gpu_column (k, t);
INSERT INTO column_partitioned SELECT g % 100, g FROM generate_series(1, 2000) AS g;
SELECT gpu.count('column_partition_k_t_idx', 'k < 3 AND t LIKE ''1%''');
SELECT gpu.count('column_partitioned_i', 'k < 3');
ALTER TABLE column_partitioned RENAME COLUMN t TO renamed;
SELECT column_name FROM gpu.columns('column_partition_k_t_idx');
SELECT gpu.count('column_partition_k_t_idx', 'k < 3 AND renamed LIKE ''1%''');


-- HOT chains' rows are out of order on their pages.
CREATE TABLE column_hot (k int4, v int4) WITH (fillfactor = 50);
INSERT INTO column_hot SELECT g, g FROM generate_series(1, 2000) AS g;
UPDATE column_hot SET v = -v WHERE k % 3 = 0;
CREATE INDEX column_hot_i ON column_hot USING gpu_column (k, v);
SELECT * FROM gpu.verify('column_hot_i');
SELECT gpu.count('column_hot_i', 'v < 0'), (SELECT count(*) FROM column_hot WHERE v < 0);

-- Values that a page doesn't hold, stored elsewhere and compressed.
CREATE TABLE column_long (k int4, t text);
CREATE INDEX column_long_i ON column_long USING gpu_column (k, t);
SET pg_gpu.insert_memory = 0;
INSERT INTO column_long SELECT g, (SELECT string_agg(md5((g * 1000 + i)::text), '') FROM generate_series(1, 400) AS i) FROM generate_series(1, 5) AS g;
INSERT INTO column_long SELECT g, repeat('x', 100000 + g) FROM generate_series(1, 3) AS g;
INSERT INTO column_long SELECT g, 'short' FROM generate_series(1, 3000) AS g;
RESET pg_gpu.insert_memory;
SELECT * FROM gpu.verify('column_long_i');
SELECT gpu.count('column_long_i', 't LIKE ''xx%'''), gpu.count('column_long_i', 't > ''short'''), gpu.count('column_long_i', 'k = 2');
SELECT entries FROM gpu.merge('column_long_i') WHERE step = 'merge runs';
SELECT * FROM gpu.verify('column_long_i');
SELECT length(value), left(value, 5) = 'xxxxx' AS x, count FROM gpu.dictionary('column_long_i', 't') ORDER BY 1, 3;

-- Small runs take many times the pages of a large one: VACUUM merges them, though none of their entries is dead.
CREATE TABLE column_small_runs (k int8, v int8) WITH (autovacuum_enabled = off);
INSERT INTO column_small_runs SELECT g, g * 7919 % 1000003 FROM generate_series(1, 60000) AS g;
CREATE INDEX column_small_runs_i ON column_small_runs USING gpu_column (k, v);
INSERT INTO column_small_runs SELECT g, g * 7919 % 1000003 FROM generate_series(60001, 65000) AS g;
INSERT INTO column_small_runs SELECT g, g * 7919 % 1000003 FROM generate_series(65001, 70000) AS g;
INSERT INTO column_small_runs SELECT g, g * 7919 % 1000003 FROM generate_series(70001, 75000) AS g;
INSERT INTO column_small_runs SELECT g, g * 7919 % 1000003 FROM generate_series(75001, 80000) AS g;
SELECT entries, pages FROM gpu.runs('column_small_runs_i') ORDER BY entries;
VACUUM column_small_runs;
SELECT entries, pages FROM gpu.runs('column_small_runs_i') ORDER BY entries;
SELECT * FROM gpu.verify('column_small_runs_i');

-- What is refused.
CREATE INDEX ON column_build USING gpu_column (few) INCLUDE (id);
CREATE UNIQUE INDEX ON column_build USING gpu_column (few);
CREATE TABLE column_refused (p point, j json);
CREATE INDEX ON column_refused USING gpu_column (p);
CREATE INDEX ON column_refused USING gpu_column (j);
CREATE INDEX ON column_refused USING gpu_column ((j::text));
CREATE INDEX column_options ON column_build USING gpu_column (few) WITH (fanout = 4);
CREATE INDEX ON column_build USING gpu_column (few) WITH (bucket = 4);
SELECT gpu.load('column_build_i') > 0 AS loaded;
SELECT gpu.evict('column_build_i') > 0 AS evicted;
SELECT * FROM gpu.lookup('column_build_i', ARRAY[1]);
SELECT * FROM gpu.search('column_build_i', 'a');
SELECT * FROM gpu.columns('column_build');
DROP TABLE column_temporary, column_unlogged, column_partitioned, column_build, column_nothing, column_many, column_parts, column_hot, column_long, column_small_runs, column_refused;
