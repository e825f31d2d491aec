-- Trips of taxis: :rows rows without a key, with the kinds of columns that people keep: timestamps with and without a zone, numerics with and without a
-- declared scale, floats, strings, NULLs. The values are made from hashes of row numbers, so that every run has the same ones.
CREATE FUNCTION random_of(number int8, seed int8) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (hashint8extended(number, seed) & 2147483647) / 2147483648.0::float8;

CREATE TABLE row_numbers AS SELECT generate_series(1, (:rows)::int8) AS i;
ANALYZE row_numbers;
CREATE TABLE trips AS
SELECT i AS id, timestamptz '2023-01-01 00:00+00' + make_interval(secs => floor(random_of(i, 1) * 31536000)) AS pickup,
    timestamp '2023-01-01' + make_interval(secs => random_of(i, 2) * 31536000) AS dropped, date '2023-01-01' + floor(random_of(i, 3) * 365)::int AS day,
    (CASE WHEN random_of(i, 4) >= 0.03 THEN random_of(i, 5) * 80 END)::numeric(10, 2) AS fare, round((random_of(i, 6) * 15)::numeric, 2) AS tip,
    CASE WHEN random_of(i, 7) >= 0.02 THEN random_of(i, 8) * 20 END AS distance, (random_of(i, 9) * random_of(i, 10) * 100)::float4 AS speed,
    floor(random_of(i, 11) * 6)::int2 AS passengers, (ARRAY['card', 'cash', 'app', 'voucher', NULL])[1 + floor(random_of(i, 12) * 4.4)::int] AS payment,
    ('zone ' || floor(random_of(i, 13) * random_of(i, 14) * 260))::varchar(20) AS zone, floor(random_of(i, 15) * 50000)::int AS driver,
    floor(random_of(i, 16) * 1e12)::int8 AS meter, random_of(i, 17) < 0.3 AS shared
FROM row_numbers;
DROP TABLE row_numbers;
CREATE INDEX trips_columns ON trips USING gpu_column (id, pickup, dropped, day, fare, tip, distance, speed, passengers, payment, zone, driver, meter, shared);
VACUUM (ANALYZE) trips;
