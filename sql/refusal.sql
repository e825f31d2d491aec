-- What gpu_kary doesn't do, and how it says so.
\set VERBOSITY default
CREATE TABLE refusal_test (k int4, l int8, s int2, t text, n numeric, b bool, i inet);

CREATE UNIQUE INDEX ON refusal_test USING gpu_kary (k);
CREATE INDEX ON refusal_test USING gpu_kary (k) INCLUDE (l);
-- Three hashes.
CREATE INDEX ON refusal_test USING gpu_kary (t, i, (t || i));
-- More than 16 bytes of columns.
CREATE INDEX ON refusal_test USING gpu_kary (l, k, s, b, (l + 1));
CREATE INDEX ON refusal_test USING gpu_kary (l, (l + 1), b);
CREATE INDEX ON refusal_test USING gpu_kary (k gpu.int8_ops);
CREATE INDEX ON refusal_test USING gpu_kary (l gpu.int4_ops);
CREATE INDEX ON refusal_test USING gpu_kary (k COLLATE "C");

-- An index can't order the table or stand for a key.
CREATE INDEX refusal_k ON refusal_test USING gpu_kary (k);
CLUSTER refusal_test USING refusal_k;
ALTER TABLE refusal_test CLUSTER ON refusal_k;
ALTER TABLE refusal_test ADD CONSTRAINT refusal_key UNIQUE USING INDEX refusal_k;
ALTER TABLE refusal_test REPLICA IDENTITY USING INDEX refusal_k;
INSERT INTO refusal_test (k) VALUES (1) ON CONFLICT (k) DO NOTHING;

-- Options.
CREATE INDEX ON refusal_test USING gpu_kary (k) WITH (fanout = 1);
CREATE INDEX ON refusal_test USING gpu_kary (k) WITH (fanout = 65);
CREATE INDEX ON refusal_test USING gpu_kary (k) WITH (fanout = many);
CREATE INDEX ON refusal_test USING gpu_kary (k) WITH (fillfactor = 70);
ALTER INDEX refusal_k SET (fanout = 0);
ALTER INDEX refusal_k SET (fanout = 64);
ALTER INDEX refusal_k SET (bogus = 1);
SELECT reloptions FROM pg_class WHERE oid = 'refusal_k'::regclass;
ALTER INDEX refusal_k RESET (fanout);
SELECT reloptions FROM pg_class WHERE oid = 'refusal_k'::regclass;

-- Exclusion constraints need what the access method offers: its own operators.
ALTER TABLE refusal_test ADD CONSTRAINT refusal_exclusion EXCLUDE USING gpu_kary (k WITH <>);
DROP TABLE refusal_test;
