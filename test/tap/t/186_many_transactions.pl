# suite: check
# Readers that tell each other which blocks have changed, beside transactions of all kinds at once: with subtransactions, more
# of them than a snapshot lists, rolled back in part, committed asynchronously, prepared, or long. Each reader compares answers of indexes
# with a sequential scan's in one snapshot. PG_GPU_TEST_SECONDS sets how long.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();
my $seconds = $ENV{PG_GPU_TEST_SECONDS} || few_or_many(6, rounds(10, 120));
my $path = $ENV{PG_GPU_TEST_PATH} // 'paged';
my $node = new_node('transactions', streaming => 1, conf => qq{
shared_preload_libraries = 'pg_gpu'
autovacuum = on
autovacuum_naptime = 5s
max_prepared_transactions = 2
wal_writer_delay = 10s
pg_gpu.path = $path
pg_gpu.request_timeout = 60s
});
$node->safe_psql('postgres', q{
CREATE TABLE one (k int4, v int4, t text) WITH (fillfactor = 70);
INSERT INTO one SELECT i, i % 100, repeat('x', 40) FROM generate_series(1, 20000) AS i;
CREATE INDEX one_column ON one USING gpu_column (k, v);
CREATE INDEX one_grid ON one USING gpu_grid (k, v);
CREATE PROCEDURE write_something() LANGUAGE plpgsql AS $$
DECLARE
	first int;
	width int;
BEGIN
	PERFORM set_config('synchronous_commit', CASE WHEN random() < 0.6 THEN 'off' ELSE 'on' END, true);
	FOR part IN 1 .. 1 + (random() * 3)::int LOOP
		BEGIN
			first := (random() * 20000)::int;
			width := (random() * 20)::int;
			CASE (random() * 3.99)::int
				WHEN 0 THEN INSERT INTO one SELECT first, i % 100, 'new' FROM generate_series(1, width) AS i;
				WHEN 1 THEN UPDATE one SET v = (v + 7) % 100 WHERE ctid IN (SELECT ctid FROM one WHERE k BETWEEN first AND first + width FOR UPDATE SKIP LOCKED);
				WHEN 2 THEN DELETE FROM one WHERE ctid IN (SELECT ctid FROM one WHERE k BETWEEN first AND first + width / 2 FOR UPDATE SKIP LOCKED);
				ELSE UPDATE one SET t = t || 'y' WHERE ctid IN (SELECT ctid FROM one WHERE k BETWEEN first AND first + width FOR UPDATE SKIP LOCKED);
			END CASE;
			IF random() < 0.3 THEN
				RAISE EXCEPTION 'taken back' USING ERRCODE = 'PGGPU';
			END IF;
		EXCEPTION WHEN SQLSTATE 'PGGPU' THEN NULL;
		END;
	END LOOP;
	-- More subtransactions than a snapshot lists of a session.
	IF random() < 0.05 THEN
		FOR part IN 1 .. 80 LOOP
			BEGIN
				INSERT INTO one VALUES (part, 5, 'many');
			EXCEPTION WHEN SQLSTATE 'PGGPU' THEN NULL;
			END;
		END LOOP;
		PERFORM pg_sleep(0.05);
	END IF;
	IF random() < 0.03 THEN
		PERFORM pg_sleep(random() * 2);
	END IF;
	IF random() < 0.1 THEN
		ROLLBACK;
	END IF;
END $$;
});
my $writing = 'CALL write_something();';
my $preparing = q{\set first random(1, 20000)
BEGIN;
SET LOCAL synchronous_commit = off;
UPDATE one SET v = (v + 3) % 100 WHERE ctid IN (SELECT ctid FROM one WHERE k BETWEEN :first AND :first + 9 FOR UPDATE SKIP LOCKED);
PREPARE TRANSACTION 'prepared';
\sleep 20 ms
\set kind random(0, 2)
\if :kind = 0
ROLLBACK PREPARED 'prepared';
\else
COMMIT PREPARED 'prepared';
\endif
};
my $reading = q{\set least random(0, 60)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET LOCAL enable_bitmapscan = off;
SET LOCAL enable_indexscan = off;
SET LOCAL enable_indexonlyscan = off;
SELECT gpu.count('one_column', 'v >= ' || :least) AS by_column, gpu.count('one_grid', ROW(NULL::int, :least), ROW(NULL::int, NULL::int)) AS by_grid,
	(SELECT count(*) FROM one WHERE v + 0 >= :least) AS by_scan \gset
SET LOCAL enable_seqscan = off;
SELECT count(k) + 0 * sum(k) AS by_node FROM one WHERE k BETWEEN 1 AND 1000000 \gset
SET LOCAL pg_gpu.enable_query = off;
SET LOCAL pg_gpu.enable_count_scan = off;
SET LOCAL enable_seqscan = on;
SELECT count(*) AS all_by_scan FROM one WHERE k + 0 BETWEEN 1 AND 1000000 \gset
DO $$ BEGIN IF :by_column <> :by_scan OR :by_grid <> :by_scan OR :by_node <> :all_by_scan THEN
	RAISE EXCEPTION 'v >= :least: :by_column :by_grid :by_scan, all: :by_node :all_by_scan'; END IF; END $$;
COMMIT;
};
my @readers = (start_clients($node, [ [ $reading, 1 ] ], clients => 3, seconds => $seconds));
my @writers = map { start_clients($node, [ [ $_->[0], 1 ] ], clients => $_->[1], seconds => $seconds) } [ $writing, 3 ], [ $preparing, 1 ];
finish_clients($_) foreach @readers, @writers;
is(client_errors(\@readers), '', 'readers find what a sequential scan finds');
cmp_ok(client_transactions(\@readers), '>', 2 * $seconds, 'and asked');
is(client_errors(\@writers, qr/could not serialize/), '', 'writers meet no error');
cmp_ok(client_transactions(\@writers), '>', 2 * $seconds, 'and wrote');
is(bad_log_lines($node), '', 'nobody died');
is(sql_value($node, qq{SELECT string_agg(problem, ' ') FROM (SELECT problem FROM gpu.verify('one_column') UNION ALL SELECT problem FROM gpu.verify('one_grid')) AS found}), '',
	'the indexes are sound');
$node->stop;
done_testing();
