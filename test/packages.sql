-- What an installed package must do: all access methods, from pages and through the server process. See every_method.sql.
\i every_method.sql
SELECT every.insert(1, 50000);
VACUUM ANALYZE every.item;
SET pg_gpu.path = paged;
DO $$ BEGIN ASSERT NOT EXISTS (SELECT FROM every.differences()), (SELECT string_agg(d, E'\n') FROM every.differences() AS d); END $$;
SET pg_gpu.path = host;
SELECT gpu.load('every.item_kary');
DO $$ BEGIN ASSERT NOT EXISTS (SELECT FROM every.differences()), (SELECT string_agg(d, E'\n') FROM every.differences() AS d); END $$;
-- Without a device, one NOTICE says so and the pages answer.
SET pg_gpu.path = cuda;
DO $$ BEGIN ASSERT NOT EXISTS (SELECT FROM every.differences()), (SELECT string_agg(d, E'\n') FROM every.differences() AS d); END $$;
SET pg_gpu.path = host;
SELECT gpu.count('every.item_kary', ARRAY[1000::int8], ARRAY[20000::int8]);
DO $$ BEGIN ASSERT (SELECT sum(requests) > 0 FROM gpu.stat WHERE path = 'host'), 'the server process has answered nothing'; END $$;
DROP EXTENSION pg_gpu CASCADE;
