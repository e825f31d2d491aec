-- Tables that people join: :rows rides of taxis between zones on days with weather, as many items of orders of customers, and as many events of the sessions of
-- a site's users. No table has a key. The values are made from hashes of row numbers, so that every run has the same ones.
CREATE FUNCTION random_of(number int8, seed int8) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (hashint8extended(number, seed) & 2147483647) / 2147483648.0::float8;

CREATE TABLE row_numbers AS SELECT generate_series(1, (:rows)::int8) AS i;
ANALYZE row_numbers;

-- Zones 264 and 265 are unknown, and some rides have none.
CREATE TABLE zones AS
SELECT i::int2 AS id, (ARRAY['Bronx', 'Brooklyn', 'Manhattan', 'Queens', 'Staten Island', 'Airports'])[1 + floor(random_of(i, 1) * 6)::int] AS borough, 'zone ' || i AS zone,
    CASE WHEN random_of(i, 2) >= 0.1 THEN (ARRAY['yellow', 'green', 'both'])[1 + floor(random_of(i, 3) * 3)::int] END AS service
FROM generate_series(1, 263) AS i;
CREATE TABLE rides AS
SELECT i AS id, CASE WHEN random_of(i, 11) >= 0.01 THEN 1 + floor(random_of(i, 12) * random_of(i, 13) * 265) END::int2 AS pickup_zone,
    CASE WHEN random_of(i, 14) >= 0.02 THEN 1 + floor(random_of(i, 15) * 265) END::int2 AS dropoff_zone, date '2023-01-01' + floor(random_of(i, 16) * 365)::int AS day,
    timestamp '2023-01-01' + floor(random_of(i, 16) * 365)::int * interval '1 day' + floor(random_of(i, 17) * 86400) * interval '1 second' AS pickup,
    (CASE WHEN random_of(i, 18) >= 0.03 THEN random_of(i, 19) * 80 END)::numeric(10, 2) AS fare, round((random_of(i, 20) * 15)::numeric, 2) AS tip,
    CASE WHEN random_of(i, 21) >= 0.02 THEN random_of(i, 22) * 20 END AS distance, CASE WHEN random_of(i, 23) >= 0.01 THEN floor(random_of(i, 24) * (:rows) / 35) END::int AS driver,
    floor(random_of(i, 25) * 7)::int2 AS payment
FROM row_numbers;
-- Some days were not measured, and some twice.
CREATE TABLE weather AS
SELECT date '2023-01-01' + i AS day, random_of(i, 31) * 35 - 5 AS temperature, (CASE WHEN random_of(i, 32) < 0.4 THEN random_of(i, 33) * 30 ELSE 0 END)::numeric(5, 1) AS rain,
    (CASE WHEN random_of(i, 34) < 0.1 THEN random_of(i, 35) * 20 ELSE 0 END)::numeric(5, 1) AS snow, (ARRAY['park', 'airport'])[1 + (i % 37 = 0)::int] AS station
FROM generate_series(0, 364) AS i WHERE i % 53 <> 0;
INSERT INTO weather SELECT day, temperature + 1, rain, snow, 'airport' FROM weather WHERE extract(day FROM day) = 15;
CREATE TABLE holidays AS
SELECT * FROM (VALUES (date '2023-01-01', 'New Year'), ('2023-01-16', 'King'), ('2023-02-20', 'Presidents'), ('2023-05-29', 'Memorial'), ('2023-06-19', 'Juneteenth'), ('2023-07-04', 'Independence'),
    ('2023-09-04', 'Labor'), ('2023-10-09', 'Columbus'), ('2023-11-23', 'Thanksgiving'), ('2023-12-25', 'Christmas')) AS v (day, name);
CREATE TABLE payments AS SELECT i::int2 AS code, (ARRAY['card', 'cash', 'no charge', 'dispute', 'voucher'])[1 + i] AS name FROM generate_series(0, 4) AS i;
CREATE TABLE drivers AS
SELECT i::int AS id, 'driver ' || i AS name, date '2010-01-01' + floor(random_of(i, 41) * 4500)::int AS hired, (1 + floor(random_of(i, 42) * 263))::int2 AS home_zone,
    CASE WHEN random_of(i, 43) >= 0.05 THEN random_of(i, 44) * 5 END AS rating
FROM generate_series(0, ((:rows) / 40)::int8) AS i;

CREATE TABLE customers AS
SELECT i::int AS id, 'customer ' || i AS name, (ARRAY['DE', 'FR', 'GB', 'IT', 'NL', 'PL', 'US', NULL])[1 + floor(random_of(i, 51) * 8)::int] AS country,
    (ARRAY['private', 'business', 'school'])[1 + floor(random_of(i, 52) * 3)::int] AS segment, date '2022-01-01' + floor(random_of(i, 53) * 700)::int AS joined,
    CASE WHEN random_of(i, 54) < 0.3 THEN floor(random_of(i, 55) * random_of(i, 56) * (:rows) / 20) END::int AS referrer
FROM generate_series(1, ((:rows) / 20)::int8) AS i;
-- A third of the customers have no orders.
CREATE TABLE orders AS
SELECT i AS id, CASE WHEN random_of(i, 61) >= 0.02 THEN floor(random_of(i, 62) * (:rows) / 30) END::int AS customer,
    timestamp '2023-01-01' + floor(random_of(i, 63) * 31536000) * interval '1 second' AS ordered, (ARRAY['done', 'done', 'done', 'sent', 'open', 'cancelled'])[1 + floor(random_of(i, 64) * 6)::int] AS status,
    CASE WHEN random_of(i, 65) < 0.25 THEN 'CODE' || floor(random_of(i, 66) * 55) END AS coupon
FROM generate_series(1, ((:rows) / 4)::int8) AS i;
CREATE TABLE items AS
SELECT floor(random_of(i, 71) * (:rows) / 4)::int8 AS order_id, floor(random_of(i, 72) * random_of(i, 73) * 5000)::int AS product, (1 + floor(random_of(i, 74) * 10))::int AS quantity,
    (1 + random_of(i, 75) * 200)::numeric(10, 2) AS price, (floor(random_of(i, 76) * 11) / 100)::numeric(4, 2) AS discount
FROM row_numbers;
CREATE TABLE products AS
SELECT i AS id, 'product ' || i AS name, (1 + floor(random_of(i, 81) * 60))::int2 AS category, (1 + random_of(i, 82) * 90)::numeric(10, 2) AS cost, floor(random_of(i, 83) * 300)::int AS supplier
FROM generate_series(0, 4799) AS i;
CREATE TABLE categories AS SELECT i::int2 AS id, 'category ' || i AS name, CASE WHEN i > 10 THEN 1 + i % 10 END::int2 AS parent FROM generate_series(1, 58) AS i;
CREATE TABLE coupons AS SELECT 'CODE' || i AS code, (5 + i % 30)::numeric(4, 1) AS percent FROM generate_series(0, 49) AS i;
-- What comes back is of an order's items, now and then in two parcels.
CREATE TABLE returns AS
SELECT order_id, product, date '2023-01-10' + floor(random_of(product, 91) * 380)::int AS returned, (ARRAY['damaged', 'late', 'wrong', 'unwanted'])[1 + floor(random_of(order_id, 92) * 4)::int] AS reason,
    (price * quantity)::numeric(12, 2) AS refund
FROM items WHERE random_of(order_id, 93) < 0.05 AND order_id % 3 > 0;
INSERT INTO returns SELECT order_id, product, returned + 5, 'second parcel', 1 FROM returns WHERE order_id % 17 = 0;

CREATE TABLE users AS
SELECT i::int AS id, (ARRAY['DE', 'FR', 'GB', 'IT', 'NL', 'PL', 'US'])[1 + floor(random_of(i, 101) * 7)::int] AS country, (ARRAY['free', 'basic', 'pro'])[1 + floor(random_of(i, 102) * random_of(i, 103) * 3)::int] AS plan,
    date '2023-01-01' + floor(random_of(i, 104) * 365)::int AS signed_up
FROM generate_series(1, ((:rows) / 50)::int8) AS i;
-- A fifth of the sessions are of nobody who is known.
CREATE TABLE sessions AS
SELECT i AS id, CASE WHEN random_of(i, 111) >= 0.2 THEN 1 + floor(random_of(i, 112) * random_of(i, 113) * (:rows) / 50) END::int AS user_id,
    timestamp '2023-01-01' + floor(random_of(i, 114) * 31536000) * interval '1 second' AS started, (ARRAY['phone', 'desktop', 'tablet'])[1 + floor(random_of(i, 115) * random_of(i, 116) * 3)::int] AS device,
    (ARRAY['search', 'mail', 'advert', 'friend', 'direct'])[1 + floor(random_of(i, 117) * 5)::int] AS source
FROM generate_series(1, ((:rows) / 5)::int8) AS i;
CREATE TABLE events AS
SELECT (1 + floor(random_of(i, 121) * (:rows) / 4.5))::int8 AS session_id, timestamp '2023-01-01' + floor(random_of(i, 122) * 31536000) * interval '1 second' AS moment,
    (ARRAY['view', 'view', 'view', 'view', 'search', 'search', 'cart', 'purchase'])[1 + floor(random_of(i, 123) * 8)::int] AS kind, '/page/' || floor(random_of(i, 124) * random_of(i, 125) * 400) AS page,
    CASE WHEN random_of(i, 126) < 0.5 THEN floor(random_of(i, 127) * 1000) / 4 END AS value
FROM row_numbers;
CREATE TABLE campaigns AS
SELECT (ARRAY['search', 'mail', 'advert', 'friend'])[1 + i % 4] AS source, 'campaign ' || i AS campaign, (1000 + i * 37.5)::numeric(12, 2) AS cost, date '2023-01-01' + i * 9 AS since, date '2023-01-01' + i * 9 + 20 AS until
FROM generate_series(0, 39) AS i;
DROP TABLE row_numbers;

CREATE INDEX zones_columns ON zones USING gpu_column (id, borough, zone, service);
CREATE INDEX rides_columns ON rides USING gpu_column (id, pickup_zone, dropoff_zone, day, pickup, fare, tip, distance, driver, payment);
CREATE INDEX weather_columns ON weather USING gpu_column (day, temperature, rain, snow, station);
CREATE INDEX holidays_columns ON holidays USING gpu_column (day, name);
CREATE INDEX payments_columns ON payments USING gpu_column (code, name);
CREATE INDEX drivers_columns ON drivers USING gpu_column (id, name, hired, home_zone, rating);
CREATE INDEX customers_columns ON customers USING gpu_column (id, name, country, segment, joined, referrer);
CREATE INDEX orders_columns ON orders USING gpu_column (id, customer, ordered, status, coupon);
CREATE INDEX items_columns ON items USING gpu_column (order_id, product, quantity, price, discount);
CREATE INDEX products_columns ON products USING gpu_column (id, name, category, cost, supplier);
CREATE INDEX categories_columns ON categories USING gpu_column (id, name, parent);
CREATE INDEX coupons_columns ON coupons USING gpu_column (code, percent);
CREATE INDEX returns_columns ON returns USING gpu_column (order_id, product, returned, reason, refund);
CREATE INDEX users_columns ON users USING gpu_column (id, country, plan, signed_up);
CREATE INDEX sessions_columns ON sessions USING gpu_column (id, user_id, started, device, source);
CREATE INDEX events_columns ON events USING gpu_column (session_id, moment, kind, page, value);
CREATE INDEX campaigns_columns ON campaigns USING gpu_column (source, campaign, cost, since, until);
VACUUM (ANALYZE);
