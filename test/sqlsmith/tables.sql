-- What sqlsmith's statements run against: small tables with indexes of all four kinds, some of whose rows are
-- in runs, some in tails, some dead.
CREATE EXTENSION pg_gpu;
CREATE ROLE smith LOGIN;
GRANT CREATE ON SCHEMA public TO smith;
SET ROLE smith;

CREATE TABLE keys (a int, b bigint, c timestamptz, d uuid, e text, f float8, g numeric, h bool);
INSERT INTO keys
SELECT i % 97, i * 7919::bigint, timestamptz '2026-01-01' + i * interval '1 minute', md5(i::text)::uuid, 'key ' || i % 53,
       CASE i % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN 'Infinity' ELSE i / 7.0 END, i / 3.0, i % 2 = 0
FROM generate_series(1, 4000) i;
CREATE INDEX keys_a ON keys USING gpu_kary (a);
CREATE INDEX keys_b_h ON keys USING gpu_kary (b, h);
CREATE INDEX keys_c ON keys USING gpu_kary (c) WHERE a > 10;
CREATE INDEX keys_d ON keys USING gpu_kary (d);
CREATE INDEX keys_e ON keys USING gpu_kary (e gpu.hash_ops);
CREATE INDEX keys_f ON keys USING gpu_kary (f);

CREATE TABLE places (x float8, y float4, z int, p point, t date);
INSERT INTO places SELECT i % 61 / 3.0, i % 89, i % 13, point(i % 61, i % 89), date '2026-01-01' + i % 365 FROM generate_series(1, 4000) i;
CREATE INDEX places_xyz ON places USING gpu_grid (x, y, z);
CREATE INDEX places_p ON places USING gpu_grid (p);
CREATE INDEX places_zt ON places USING gpu_grid (z, t);

CREATE TABLE sales (n int, price numeric, shop text, day date, amount float8, kind "char", marks int[]);
INSERT INTO sales SELECT i, i % 101, 'shop ' || i % 7, date '2026-01-01' + i % 365, i / 11.0, 'a', ARRAY[i % 3, i % 5] FROM generate_series(1, 4000) i;
CREATE INDEX sales_columns ON sales USING gpu_column (n, price, shop, day, amount, kind, marks);

CREATE TABLE docs (id int, body text, tsv tsvector GENERATED ALWAYS AS (to_tsvector('simple', body)) STORED);
INSERT INTO docs SELECT i, (SELECT string_agg('w' || (i * j) % 211, ' ') FROM generate_series(1, 3 + i % 30) j) FROM generate_series(1, 2000) i;
CREATE INDEX docs_tsv ON docs USING gpu_text (tsv);
CREATE INDEX docs_body ON docs USING gpu_text (to_tsvector('simple', body)) WITH (codec = rice);

-- Every part has something in it.
INSERT INTO keys (a, b, c) SELECT i, i, now() FROM generate_series(1, 50) i;
INSERT INTO places (y, z) SELECT i, i FROM generate_series(1, 50) i;
INSERT INTO sales (amount) SELECT 'NaN' FROM generate_series(1, 50) i;
INSERT INTO docs (id, body) SELECT i, CASE WHEN i % 5 > 0 THEN 'w1 new ' || i END FROM generate_series(1, 50) i;
DELETE FROM keys WHERE b % 11 = 0;
DELETE FROM places WHERE z = 4;
DELETE FROM sales WHERE n % 17 = 0;
DELETE FROM docs WHERE id % 13 = 0;
RESET ROLE;
VACUUM ANALYZE;
SET ROLE smith;
UPDATE keys SET a = a + 1 WHERE a = 5;
UPDATE sales SET price = -1 WHERE price = 7;
