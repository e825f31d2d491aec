-- The Star Schema Benchmark's fact table at the scale factor :scale, about six million rows a unit, with the distributions of the
-- published generator (O'Neil, O'Neil, Chen, Revilak: The Star Schema Benchmark and Augmented Fact Table Indexing, 2009), made from hashes of row
-- numbers: equal on every machine.
CREATE FUNCTION random_of(number int8, seed int8) RETURNS int8 LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashint8extended(number, seed) & 2147483647;

-- Orders are a table, so that parallel workers can share them.
CREATE TABLE orders AS SELECT generate_series(1, (1500000 * :scale)::int8) AS o;
ANALYZE orders;

CREATE TABLE lineorder AS
SELECT o::int AS lo_orderkey, l::int2 AS lo_linenumber, (1 + random_of(o, 31) % (30000 * :scale)::int8)::int AS lo_custkey, part::int AS lo_partkey,
    (1 + random_of(line, 33) % (2000 * :scale)::int8)::int AS lo_suppkey, to_char(date '1992-01-01' + (random_of(o, 34) % 2406)::int, 'YYYYMMDD')::int AS lo_orderdate,
    (ARRAY['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECI', '5-LOW'])[1 + random_of(o, 35) % 5] AS lo_orderpriority, '0' AS lo_shippriority,
    quantity::int2 AS lo_quantity, (quantity * price)::int AS lo_extendedprice, discount::int2 AS lo_discount,
    (quantity * price * (100 - discount) / 100)::int AS lo_revenue, (price * 6 / 10)::int AS lo_supplycost, (random_of(line, 38) % 9)::int2 AS lo_tax,
    (ARRAY['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'])[1 + random_of(line, 39) % 7] AS lo_shipmode
FROM orders, LATERAL generate_series(1, 1 + random_of(o, 30) % 7) AS l,
    LATERAL (SELECT o * 8 + l) AS n (line),
    LATERAL (SELECT 1 + random_of(line, 32) % (200000 * floor(1 + log(2, greatest(:scale, 1))))::int8, 1 + random_of(line, 36) % 50, random_of(line, 37) % 11)
        AS v (part, quantity, discount),
    LATERAL (SELECT 90000 + part % 200000 / 10 + 100 * (part % 1000)) AS p (price);
DROP TABLE orders;

CREATE INDEX lineorder_columns ON lineorder USING gpu_column (lo_orderkey, lo_linenumber, lo_custkey, lo_partkey, lo_suppkey, lo_orderdate,
    lo_orderpriority, lo_quantity, lo_extendedprice, lo_discount, lo_revenue, lo_supplycost, lo_tax, lo_shipmode);
VACUUM (ANALYZE, FREEZE) lineorder;
