-- The Star Schema Benchmark's tables at the scale factor :scale, about six million facts a unit, with the distributions of the
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

CREATE TABLE nations (n int, nation text, region text);
INSERT INTO nations SELECT ordinality - 1, nation, (ARRAY['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'])[1 + region]
FROM unnest('{ALGERIA,ARGENTINA,BRAZIL,CANADA,EGYPT,ETHIOPIA,FRANCE,GERMANY,INDIA,INDONESIA,IRAN,IRAQ,JAPAN,JORDAN,KENYA,MOROCCO,MOZAMBIQUE,PERU,CHINA,ROMANIA,SAUDI ARABIA,VIETNAM,RUSSIA,UNITED KINGDOM,UNITED STATES}'::text[],
            '{0,1,1,1,4,0,3,3,2,2,4,4,2,4,0,0,0,1,2,3,4,2,3,3,1}'::int[]) WITH ORDINALITY AS u (nation, region, ordinality);
CREATE TABLE customer AS
SELECT i::int AS c_custkey, 'Customer#' || lpad(i::text, 9, '0') AS c_name, rpad(left(nation, 9), 9) || random_of(i, 2) % 10 AS c_city, nation AS c_nation, region AS c_region,
    (ARRAY['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY'])[1 + random_of(i, 3) % 5] AS c_mktsegment
FROM generate_series(1, (30000 * :scale)::int8) AS i JOIN nations ON n = random_of(i, 1) % 25;
CREATE TABLE supplier AS
SELECT i::int AS s_suppkey, 'Supplier#' || lpad(i::text, 9, '0') AS s_name, rpad(left(nation, 9), 9) || random_of(i, 12) % 10 AS s_city, nation AS s_nation, region AS s_region
FROM generate_series(1, (2000 * :scale)::int8) AS i JOIN nations ON n = random_of(i, 11) % 25;
CREATE TABLE part AS
SELECT i::int AS p_partkey, 'MFGR#' || m AS p_mfgr, 'MFGR#' || m || c AS p_category, 'MFGR#' || m || c || 1 + random_of(i, 23) % 40 AS p_brand1,
    (ARRAY['red', 'green', 'blue', 'ivory', 'navy', 'peach', 'plum', 'rose', 'sky', 'tan', 'wheat'])[1 + random_of(i, 24) % 11] AS p_color,
    (1 + random_of(i, 25) % 50)::int AS p_size
FROM generate_series(1, (200000 * floor(1 + log(2, greatest(:scale, 1))))::int8) AS i, LATERAL (SELECT 1 + random_of(i, 21) % 5, 1 + random_of(i, 22) % 5) AS v (m, c);
CREATE TABLE dates AS
SELECT to_char(d, 'YYYYMMDD')::int AS d_datekey, d::date AS d_date, extract(year FROM d)::int AS d_year, to_char(d, 'YYYYMM')::int AS d_yearmonthnum,
    to_char(d, 'MonYYYY') AS d_yearmonth, (extract(doy FROM d)::int - 1) / 7 + 1 AS d_weeknuminyear, to_char(d, 'FMMonth') AS d_month
FROM generate_series(timestamp '1992-01-01', timestamp '1998-12-31', '1 day') AS d;
DROP TABLE nations;
ALTER TABLE customer ADD PRIMARY KEY (c_custkey);
ALTER TABLE supplier ADD PRIMARY KEY (s_suppkey);
ALTER TABLE part ADD PRIMARY KEY (p_partkey);
ALTER TABLE dates ADD PRIMARY KEY (d_datekey);
CREATE INDEX customer_columns ON customer USING gpu_column (c_custkey, c_city, c_nation, c_region);
CREATE INDEX supplier_columns ON supplier USING gpu_column (s_suppkey, s_city, s_nation, s_region);
CREATE INDEX part_columns ON part USING gpu_column (p_partkey, p_mfgr, p_category, p_brand1);
CREATE INDEX dates_columns ON dates USING gpu_column (d_datekey, d_year, d_yearmonthnum, d_yearmonth, d_weeknuminyear);
VACUUM (ANALYZE, FREEZE) customer, supplier, part, dates;
