-- Tables with the columns, keys and distributions that TPC-H's specification (revision 3) describes, at the scale factor :scale, about six million rows of
-- lineitem a unit, made from hashes of row numbers: equal on every machine. They are derived from TPC-H, and aren't its generator's: figures don't compare with
-- published ones. With less than 0.01 a part would have a supplier twice.
CREATE FUNCTION random_of(number int8, seed int8) RETURNS int8 LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashint8extended(number, seed) & 2147483647;

CREATE TABLE region (r_regionkey int PRIMARY KEY, r_name text, r_comment text);
INSERT INTO region SELECT i - 1, (ARRAY['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'])[i], 'region ' || i FROM generate_series(1, 5) AS i;
CREATE TABLE nation (n_nationkey int PRIMARY KEY, n_name text, n_regionkey int, n_comment text);
INSERT INTO nation SELECT ordinality - 1, name, region, 'nation ' || ordinality
FROM unnest('{ALGERIA,ARGENTINA,BRAZIL,CANADA,EGYPT,ETHIOPIA,FRANCE,GERMANY,INDIA,INDONESIA,IRAN,IRAQ,JAPAN,JORDAN,KENYA,MOROCCO,MOZAMBIQUE,PERU,CHINA,ROMANIA,SAUDI ARABIA,VIETNAM,RUSSIA,UNITED KINGDOM,UNITED STATES}'::text[],
            '{0,1,1,1,4,0,3,3,2,2,4,4,2,4,0,0,0,1,2,3,4,2,3,3,1}'::int[]) WITH ORDINALITY AS u (name, region, ordinality);

CREATE TABLE supplier AS
SELECT i::int AS s_suppkey, 'Supplier#' || lpad(i::text, 9, '0') AS s_name, 'address ' || random_of(i, 2) AS s_address, nation::int AS s_nationkey,
    10 + nation || '-' || lpad((random_of(i, 3) % 1000)::text, 3, '0') || '-' || lpad((random_of(i, 4) % 10000)::text, 4, '0') AS s_phone,
    ((random_of(i, 5) % 1099999 - 99999) / 100.0)::numeric(15,2) AS s_acctbal,
    CASE WHEN random_of(i, 6) % 2000 = 0 THEN 'even Customer wishes, Complaints' ELSE 'ideas ' || random_of(i, 7) % 1000 END AS s_comment
FROM generate_series(1, (10000 * :scale)::int8) AS i, LATERAL (SELECT random_of(i, 1) % 25) AS n (nation);
CREATE TABLE customer AS
SELECT i::int AS c_custkey, 'Customer#' || lpad(i::text, 9, '0') AS c_name, 'address ' || random_of(i, 12) AS c_address, nation::int AS c_nationkey,
    10 + nation || '-' || lpad((random_of(i, 13) % 1000)::text, 3, '0') || '-' || lpad((random_of(i, 14) % 10000)::text, 4, '0') AS c_phone,
    ((random_of(i, 15) % 1099999 - 99999) / 100.0)::numeric(15,2) AS c_acctbal,
    (ARRAY['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY'])[1 + random_of(i, 16) % 5] AS c_mktsegment, 'deposits ' || random_of(i, 17) % 1000 AS c_comment
FROM generate_series(1, (150000 * :scale)::int8) AS i, LATERAL (SELECT random_of(i, 11) % 25) AS n (nation);
CREATE TABLE part AS
SELECT i::int AS p_partkey,
    (SELECT string_agg((ARRAY['almond', 'antique', 'azure', 'beige', 'blush', 'brown', 'chiffon', 'coral', 'cream', 'drab', 'firebrick', 'forest', 'gainsboro', 'goldenrod',
                              'green', 'honeydew', 'indian', 'ivory', 'khaki', 'lemon', 'linen', 'maroon', 'midnight', 'navy', 'olive', 'peach', 'plum', 'puff', 'rose', 'salmon'])
                       [1 + random_of(i * 5 + w, 21) % 30], ' ' ORDER BY w) FROM generate_series(0, 4) AS w) AS p_name,
    'Manufacturer#' || m AS p_mfgr, 'Brand#' || m || 1 + random_of(i, 23) % 5 AS p_brand,
    (ARRAY['STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO'])[1 + random_of(i, 24) % 6] || ' ' ||
        (ARRAY['ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED'])[1 + random_of(i, 25) % 5] || ' ' ||
        (ARRAY['TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER'])[1 + random_of(i, 26) % 5] AS p_type,
    (1 + random_of(i, 27) % 50)::int AS p_size,
    (ARRAY['SM', 'LG', 'MED', 'JUMBO', 'WRAP'])[1 + random_of(i, 28) % 5] || ' ' || (ARRAY['CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM'])[1 + random_of(i, 29) % 8] AS p_container,
    ((90000 + i / 10 % 20001 + 100 * (i % 1000)) / 100.0)::numeric(15,2) AS p_retailprice, 'part ' || random_of(i, 30) % 1000 AS p_comment
FROM generate_series(1, (200000 * :scale)::int8) AS i, LATERAL (SELECT 1 + random_of(i, 22) % 5) AS v (m);
-- Each part has four suppliers; a line has one of these, too.
CREATE FUNCTION supplier_of(part int8, which int8, suppliers int8) RETURNS int8 LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (part + which * (suppliers / 4 + (part - 1) / suppliers)) % suppliers + 1;
CREATE TABLE partsupp AS
SELECT p::int AS ps_partkey, supplier_of(p, s, (10000 * :scale)::int8)::int AS ps_suppkey, (1 + random_of(p * 4 + s, 31) % 9999)::int AS ps_availqty,
    ((100 + random_of(p * 4 + s, 32) % 99901) / 100.0)::numeric(15,2) AS ps_supplycost, 'offer ' || random_of(p * 4 + s, 33) % 1000 AS ps_comment
FROM generate_series(1, (200000 * :scale)::int8) AS p, generate_series(0, 3) AS s;

CREATE TABLE line AS
SELECT o::int AS l_orderkey, part::int AS l_partkey, supplier_of(part, random_of(line, 42) % 4, (10000 * :scale)::int8)::int AS l_suppkey, l::int AS l_linenumber,
    quantity::numeric(15,2) AS l_quantity, ((quantity * (90000 + part / 10 % 20001 + 100 * (part % 1000))) / 100.0)::numeric(15,2) AS l_extendedprice,
    ((random_of(line, 44) % 11) / 100.0)::numeric(15,2) AS l_discount, ((random_of(line, 45) % 9) / 100.0)::numeric(15,2) AS l_tax,
    ordered AS o_orderdate, ordered + (1 + random_of(line, 46) % 121)::int AS l_shipdate, ordered + (30 + random_of(line, 47) % 61)::int AS l_commitdate,
    (1 + random_of(line, 48) % 30)::int AS days,
    (ARRAY['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'])[1 + random_of(line, 49) % 4] AS l_shipinstruct,
    (ARRAY['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'])[1 + random_of(line, 50) % 7] AS l_shipmode, 'line ' || random_of(line, 51) % 1000 AS l_comment
FROM generate_series(1, (1500000 * :scale)::int8) AS o, LATERAL generate_series(1, 1 + random_of(o, 40) % 7) AS l,
    LATERAL (SELECT o * 8 + l) AS n (line),
    LATERAL (SELECT 1 + random_of(line, 41) % (200000 * :scale)::int8, 1 + random_of(line, 43) % 50, date '1992-01-01' + (random_of(o, 52) % 2406)::int) AS v (part, quantity, ordered);
CREATE TABLE lineitem AS
SELECT l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax,
    CASE WHEN l_shipdate + days > date '1995-06-17' THEN 'N' WHEN random_of(l_orderkey * 8 + l_linenumber, 53) % 2 = 0 THEN 'R' ELSE 'A' END AS l_returnflag,
    CASE WHEN l_shipdate > date '1995-06-17' THEN 'O' ELSE 'F' END AS l_linestatus, l_shipdate, l_commitdate, l_shipdate + days AS l_receiptdate,
    l_shipinstruct, l_shipmode, l_comment
FROM line;
-- A third of the customers have no orders.
CREATE TABLE orders AS
SELECT l_orderkey AS o_orderkey, (3 * (random_of(l_orderkey, 61) % (50000 * :scale)::int8) + 1 + random_of(l_orderkey, 62) % 2)::int AS o_custkey,
    CASE WHEN min(l_shipdate) > date '1995-06-17' THEN 'O' WHEN max(l_shipdate) <= date '1995-06-17' THEN 'F' ELSE 'P' END AS o_orderstatus,
    sum(l_extendedprice * (1 + l_tax) * (1 - l_discount))::numeric(15,2) AS o_totalprice, min(o_orderdate) AS o_orderdate,
    (ARRAY['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'])[1 + random_of(l_orderkey, 63) % 5] AS o_orderpriority,
    'Clerk#' || lpad((1 + random_of(l_orderkey, 64) % greatest((1000 * :scale)::int8, 1))::text, 9, '0') AS o_clerk, 0 AS o_shippriority,
    CASE WHEN random_of(l_orderkey, 65) % 80 = 0 THEN 'some special packages, requests ' ELSE 'instructions ' END || random_of(l_orderkey, 66) % 1000 AS o_comment
FROM line GROUP BY l_orderkey;
DROP TABLE line;

ALTER TABLE supplier ADD PRIMARY KEY (s_suppkey);
ALTER TABLE customer ADD PRIMARY KEY (c_custkey);
ALTER TABLE part ADD PRIMARY KEY (p_partkey);
ALTER TABLE partsupp ADD PRIMARY KEY (ps_partkey, ps_suppkey);
ALTER TABLE orders ADD PRIMARY KEY (o_orderkey);
ALTER TABLE lineitem ADD PRIMARY KEY (l_orderkey, l_linenumber);
-- As on most such databases: without them PostgreSQL's own plans of some statements go through lineitem for each part.
CREATE INDEX ON lineitem (l_partkey, l_suppkey);
CREATE INDEX ON orders (o_custkey);
CREATE INDEX region_columns ON region USING gpu_column (r_regionkey, r_name);
CREATE INDEX nation_columns ON nation USING gpu_column (n_nationkey, n_name, n_regionkey);
CREATE INDEX supplier_columns ON supplier USING gpu_column (s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment);
CREATE INDEX customer_columns ON customer USING gpu_column (c_custkey, c_name, c_address, c_nationkey, c_phone, c_acctbal, c_mktsegment, c_comment);
CREATE INDEX part_columns ON part USING gpu_column (p_partkey, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice);
CREATE INDEX partsupp_columns ON partsupp USING gpu_column (ps_partkey, ps_suppkey, ps_availqty, ps_supplycost);
CREATE INDEX orders_columns ON orders USING gpu_column (o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment);
CREATE INDEX lineitem_columns ON lineitem USING gpu_column (l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax,
    l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode);
VACUUM (ANALYZE, FREEZE) region, nation, supplier, customer, part, partsupp, orders, lineitem;
