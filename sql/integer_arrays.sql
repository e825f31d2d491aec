-- = ANY of arrays of each integer type, for columns of each: elements beyond the column's type, its ends, NULLs, duplicates, none at all.
CREATE TABLE integer_arrays (s int2, i int4, b int8);
INSERT INTO integer_arrays SELECT (n % 200 - 100)::int2, (n * 7919 % 100003)::int4, n * 4294967311::int8 FROM generate_series(-2000, 2000) AS n;
INSERT INTO integer_arrays VALUES (-32768, -2147483648, -9223372036854775808), (32767, 2147483647, 9223372036854775807), (0, 0, 0), (NULL, NULL, NULL);
CREATE INDEX integer_arrays_s ON integer_arrays USING gpu_kary (s);
CREATE INDEX integer_arrays_i ON integer_arrays USING gpu_kary (i);
CREATE INDEX integer_arrays_b ON integer_arrays USING gpu_kary (b);
INSERT INTO integer_arrays VALUES (-32768, -2147483648, -9223372036854775808), (7, 7, 7);
VACUUM ANALYZE integer_arrays;
CREATE FUNCTION compare_arrays(OUT compared int, OUT matching bigint, OUT different text) LANGUAGE plpgsql AS $$
DECLARE
  of_column text;
  elements text;
  scanned bigint;
  sought bigint;
BEGIN
  compared := 0;
  matching := 0;
  FOREACH elements IN ARRAY array_cat(ARRAY[
      $a$'{}'::int2[]$a$, $a$'{NULL}'::int2[]$a$, $a$'{NULL,-32768,32767,7,7,NULL,-100}'::int2[]$a$, $a$'{-2147483648,2147483647,-32769,32768,-32768,32767,0,NULL}'::int4[]$a$,
      $a$'{-9223372036854775808,9223372036854775807,-2147483649,2147483648,-2147483648,2147483647,-32769,32768,5,5}'::int8[]$a$, $a$'{{1,2},{-9223372036854775808,7}}'::int8[]$a$],
    -- So many that they are sorted by digits, with elements that the columns can't have.
    (SELECT ARRAY[quote_literal(array_agg((n % 40000)::int2)::text) || '::int2[]', quote_literal(array_agg((n * 65536)::int4)::text) || '::int4[]', quote_literal(array_agg(n * 4294967311::int8)::text) || '::int8[]',
        quote_literal(array_agg(CASE WHEN n % 3 > 0 THEN n::int8 * n * n * 1000 END)::text) || '::int8[]'] FROM generate_series(-2000, 2000) AS n)) LOOP
    FOREACH of_column IN ARRAY ARRAY['s', 'i', 'b'] LOOP
      SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off;
      EXECUTE format('SELECT count(*) FROM integer_arrays WHERE %I = ANY (%s)', of_column, elements) INTO scanned;
      SET enable_seqscan = off; SET enable_indexscan = on; SET enable_bitmapscan = on;
      EXECUTE format('SELECT count(*) FROM integer_arrays WHERE %I = ANY (%s)', of_column, elements) INTO sought;
      compared := compared + 1;
      matching := matching + sought;
      IF scanned <> sought THEN
        different := concat_ws('; ', different, format('%s = ANY (%s): %s, not %s', of_column, left(elements, 100), sought, scanned));
      END IF;
    END LOOP;
  END LOOP;
END $$;
SELECT * FROM compare_arrays();
RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan;
DROP FUNCTION compare_arrays;
DROP TABLE integer_arrays;
