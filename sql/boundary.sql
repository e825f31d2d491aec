-- Sizes around what fits a page: of the tail, of a sealed page, of a run's page.
-- Each size is reached twice: row by row into an empty index, and by CREATE INDEX;
-- then every answer is reckoned without a table, because keys are 1..n.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE FUNCTION boundary_check(type_name text, columns text, n int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  create_index constant text := format('CREATE INDEX boundary_test_k ON boundary_test USING gpu_kary (%s)', columns);
  -- What is looked up: values, or records.
  key constant text := CASE columns WHEN 'k' THEN 'i::' || type_name ELSE format('row(i::%s, 7)', type_name) END;
  how text;
  found bigint;
  wanted bigint;
  keys bigint[];
BEGIN
  FOREACH how IN ARRAY ARRAY['inserted', 'built', 'inserted after a build'] LOOP
    EXECUTE format('CREATE TABLE boundary_test (k %s, c int4 DEFAULT 7)', type_name);
    IF how = 'inserted' THEN
      EXECUTE create_index;
    ELSIF how = 'inserted after a build' THEN
      INSERT INTO boundary_test VALUES (0);
      EXECUTE create_index;
      DELETE FROM boundary_test;
    END IF;
    -- Downwards, so that the order of arrival isn't the order of keys.
    INSERT INTO boundary_test SELECT n + 1 - i FROM generate_series(1, n) AS i;
    IF how = 'built' THEN
      EXECUTE create_index;
    END IF;

    EXECUTE 'SELECT array_agg(k) FROM (SELECT k FROM boundary_test ORDER BY k) AS o' INTO keys;
    IF keys IS DISTINCT FROM (SELECT array_agg(i::bigint) FROM generate_series(1, n) AS i) THEN
      RETURN NEXT format('%s (%s), %s rows %s: the order is wrong', type_name, columns, n, how);
    END IF;
    EXECUTE 'SELECT array_agg(k) FROM (SELECT k FROM boundary_test WHERE k >= 1 ORDER BY k DESC) AS o' INTO keys;
    IF keys IS DISTINCT FROM (SELECT array_agg(n + 1 - i::bigint) FROM generate_series(1, n) AS i) THEN
      RETURN NEXT format('%s (%s), %s rows %s: the reverse order is wrong', type_name, columns, n, how);
    END IF;
    -- One by one those at both ends, and some between; gpu.lookup below finds all.
    FOR wanted, found IN EXECUTE
      'SELECT (i BETWEEN 1 AND $1)::int, (SELECT count(*) FROM boundary_test WHERE k = i)'
      ' FROM generate_series(0, $1 + 1) AS i WHERE i < 3 OR i > $1 - 3 OR i % 13 = $1 % 13' USING n LOOP
      IF found <> wanted THEN
        RETURN NEXT format('%s (%s), %s rows %s: %s rows of a key instead of %s', type_name, columns, n, how, found, wanted);
      END IF;
    END LOOP;
    EXECUTE format('SELECT gpu.count(%1$L, ARRAY[2::%2$s], ARRAY[%3$s::%2$s])', 'boundary_test_k', type_name, n) INTO found;
    IF found <> greatest(n - 1, 0) THEN
      RETURN NEXT format('%s (%s), %s rows %s: gpu.count says %s', type_name, columns, n, how, found);
    END IF;
    EXECUTE format('SELECT count(*) FROM gpu.lookup(%1$L, ARRAY(SELECT %2$s FROM generate_series(-1, %3$s + 2) AS i))',
                   'boundary_test_k', key, n) INTO found;
    IF found <> n THEN
      RETURN NEXT format('%s (%s), %s rows %s: gpu.lookup finds %s', type_name, columns, n, how, found);
    END IF;
    SELECT count(*) FROM gpu.verify('boundary_test_k') INTO found;
    IF found <> 0 THEN
      RETURN NEXT format('%s (%s), %s rows %s: gpu.verify has %s complaints', type_name, columns, n, how, found);
    END IF;
    DROP TABLE boundary_test;
  END LOOP;
END
$$;
-- No row is good; the count says how many sizes were tried.
SELECT c.* FROM (VALUES
    ('int4', 'k', ARRAY[0, 1, 2, 3, 677, 678, 679, 680, 681, 813, 814, 815, 816, 817, 1357, 1358, 1359, 1628, 1629, 1630, 1631, 1632]),
    ('int8', 'k', ARRAY[0, 1, 2, 3, 507, 508, 509, 510, 511, 512, 580, 581, 582, 583, 584, 585, 1017, 1018, 1019, 1020,
                        1161, 1162, 1163, 1164, 1165, 1166, 1167, 1168]),
    ('int8', 'k, c', ARRAY[0, 1, 2, 3, 405, 406, 407, 408, 409, 450, 451, 452, 453, 454, 813, 814, 815, 903, 904, 905, 1220, 1221, 1222])
  ) AS t(type_name, columns, sizes), unnest(sizes) AS n, boundary_check(type_name, columns, n) AS c;
DROP FUNCTION boundary_check;

-- Equal keys over many pages of many runs, and their neighbours.
CREATE TABLE boundary_equal (k int4, id int);
CREATE INDEX boundary_equal_k ON boundary_equal USING gpu_kary (k) WITH (fanout = 2);
INSERT INTO boundary_equal SELECT CASE WHEN i % 1000 = 0 THEN i / 1000 ELSE 100 END, i FROM generate_series(1, 12000) AS i;
SELECT count(*), sum(id) FROM boundary_equal WHERE k = 100;
SELECT count(*), min(k), max(k) FROM boundary_equal WHERE k < 100;
SELECT count(*) FROM boundary_equal WHERE k > 100;
SELECT count(*) FROM boundary_equal WHERE k >= 100;
SELECT count(*), count(DISTINCT tid) FROM gpu.lookup('boundary_equal_k', ARRAY[100]);
SELECT count(*) > 0 AS merged FROM gpu.merge('boundary_equal_k');
SELECT count(*) AS runs FROM gpu.runs('boundary_equal_k');
SELECT count(*), sum(id) FROM boundary_equal WHERE k = 100;
SELECT count(*), min(k), max(k) FROM boundary_equal WHERE k < 100;
SELECT count(*), count(DISTINCT tid) FROM gpu.lookup('boundary_equal_k', ARRAY[100]);
SELECT * FROM gpu.verify('boundary_equal_k');

-- All fan-outs hold the same rows.
CREATE TABLE boundary_fanout (k int8);
CREATE INDEX boundary_fanout_2 ON boundary_fanout USING gpu_kary (k) WITH (fanout = 2);
CREATE INDEX boundary_fanout_3 ON boundary_fanout USING gpu_kary (k) WITH (fanout = 3);
CREATE INDEX boundary_fanout_16 ON boundary_fanout USING gpu_kary (k);
CREATE INDEX boundary_fanout_64 ON boundary_fanout USING gpu_kary (k) WITH (fanout = 64);
INSERT INTO boundary_fanout SELECT (i * 7919) % 20011 FROM generate_series(1, 40022) AS i;
ALTER INDEX boundary_fanout_2 SET (fanout = 9);
ALTER INDEX boundary_fanout_64 SET (fanout = 2);
INSERT INTO boundary_fanout SELECT i FROM generate_series(1, 5000) AS i;
SELECT index, gpu.count(index::regclass, ARRAY[1000::int8], ARRAY[6000::int8]) AS found,
       (SELECT count(*) FROM gpu.verify(index::regclass)) AS problems
FROM unnest(ARRAY['boundary_fanout_2', 'boundary_fanout_3', 'boundary_fanout_16', 'boundary_fanout_64']) AS index;
DROP TABLE boundary_equal, boundary_fanout;
