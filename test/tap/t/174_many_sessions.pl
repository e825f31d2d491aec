# suite: check
# Many sessions at once: writers, readers whose answers are compared inside the server, vacuum, merges, indexes
# built and dropped concurrently, cursors held open across all of it. No error but the expected ones, no
# deadlock, no wrong answer. PG_GPU_TEST_SECONDS sets how long.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $seconds = $ENV{PG_GPU_TEST_SECONDS} || few_or_many(3, rounds(5, 120));

my $node = new_node('busy', conf => qq{
shared_buffers = 32MB
max_worker_processes = 12
synchronous_commit = off
autovacuum = on
autovacuum_naptime = 1s
autovacuum_vacuum_scale_factor = 0.01
autovacuum_vacuum_threshold = 50
autovacuum_vacuum_insert_threshold = 500
autovacuum_vacuum_insert_scale_factor = 0.01
autovacuum_vacuum_cost_delay = 0
});
make_table($node, rows => 20_000, with => 'WITH (fanout = 4)');
make_table($node, rows => 2_000, name => 'narrow', type => 'int4', with => 'WITH (fanout = 2)');

# A second table of which indexes come and go. Its gpu_kary indexes are named other_*; whichever the planner
# takes, the answer must be right.
make_table($node, rows => 5_000, name => 'other');
$node->safe_psql('postgres', q{
CREATE INDEX other_again ON other USING gpu_kary (k DESC NULLS LAST) WITH (fanout = 3);

CREATE FUNCTION faults.check_any(p_low bigint, p_high bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	question text := format('SELECT count(*) || '':'' || coalesce(sum(hashint8extended(id, k) >> 8), 0)
		FROM other WHERE k BETWEEN %s AND %s', p_low, p_high);
	expected text := faults.by_seq(question);
BEGIN
	PERFORM faults.must_equal(question, expected, faults.by_bitmap(question, 'other_'));
	PERFORM faults.must_equal(question, expected, faults.by_index(question, 'other_'));
	RETURN 'same';
END $$;
});

my $variables = "\\set low random(0, 100000)\n\\set high :low + random(0, 9000)\n";

# A cursor that looks at part of its rows, waits, goes back, and must find the count it began with.
my $cursors = $variables . q{BEGIN ISOLATION LEVEL REPEATABLE READ;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SET LOCAL enable_sort = off;
DO $$
DECLARE
	c refcursor;
	expected bigint;
	seen bigint := 0;
	previous bigint;
	key bigint;
BEGIN
	SELECT count(*) INTO expected FROM t WHERE k BETWEEN 20000 AND 60000;
	OPEN c SCROLL FOR SELECT k FROM t WHERE k BETWEEN 20000 AND 60000 ORDER BY k;
	LOOP
		FETCH c INTO key;
		EXIT WHEN NOT FOUND;
		seen := seen + 1;
		IF key < previous THEN
			RAISE EXCEPTION 'cursor: % after %', key, previous USING ERRCODE = 'WRONG';
		END IF;
		previous := key;
		IF seen % 2000 = 0 THEN
			PERFORM pg_sleep(0.05);
		END IF;
	END LOOP;
	IF seen <> expected THEN
		RAISE EXCEPTION 'cursor forward: % rows of %', seen, expected USING ERRCODE = 'WRONG';
	END IF;
	PERFORM pg_sleep(0.1);
	LOOP
		FETCH PRIOR FROM c INTO key;
		EXIT WHEN NOT FOUND;
		seen := seen - 1;
		IF key > previous THEN
			RAISE EXCEPTION 'cursor backward: % after %', key, previous USING ERRCODE = 'WRONG';
		END IF;
		previous := key;
		IF seen % 2000 = 0 THEN
			PERFORM pg_sleep(0.05);
		END IF;
	END LOOP;
	IF seen <> 0 THEN
		RAISE EXCEPTION 'cursor backward: % rows too few', seen USING ERRCODE = 'WRONG';
	END IF;
END $$;
COMMIT;
};

# The rows of a key only ever move between two keys, so any snapshot sees their number unchanged. Serializable
# transactions that would break this fail, and are tried again.
$node->safe_psql('postgres', q{
CREATE TABLE pairs (id bigserial, k int8);
INSERT INTO pairs (k) SELECT i % 20 FROM generate_series(1, 2000) AS i;
CREATE INDEX pairs_k ON pairs USING gpu_kary (k) WITH (fanout = 2);
});
my $moves = q{\set from random(0, 9)
BEGIN ISOLATION LEVEL SERIALIZABLE;
SET LOCAL enable_seqscan = off;
UPDATE pairs SET k = 19 - k WHERE ctid = ANY (ARRAY(SELECT ctid FROM pairs WHERE k IN (:from, 19 - :from) LIMIT 5));
COMMIT;
};
my $counts = q{\set from random(0, 9)
BEGIN ISOLATION LEVEL SERIALIZABLE;
SET LOCAL enable_seqscan = off;
SELECT faults.must_equal('pairs', '200', (count(*))::text) FROM pairs WHERE k IN (:from, 19 - :from);
SELECT faults.must_equal('pairs', '200', (gpu.count('pairs_k', ARRAY[:from::int8], ARRAY[:from::int8])
	+ gpu.count('pairs_k', ARRAY[19 - :from::int8], ARRAY[19 - :from::int8]))::text);
COMMIT;
};

# There is one row a key, which is updated without end and never in place. Its entries move from the tail into a run
# with every seal, and whoever looks it up must find exactly one row at any moment.
$node->safe_psql('postgres', q{
CREATE TABLE single (id int, k int8, changes int);
INSERT INTO single SELECT i, i, 0 FROM generate_series(1, 50) AS i;
CREATE INDEX single_k ON single USING gpu_kary (k);
CREATE INDEX single_changes ON single (changes);
CREATE FUNCTION faults.only_one(p_count bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF p_count <> 1 THEN
		RAISE EXCEPTION '% rows instead of one', p_count USING ERRCODE = 'WRONG';
	END IF;
END $$;
});
my $change_one = "\\set key random(1, 50)\nUPDATE single SET changes = changes + 1 WHERE k = :key;\n";
my $find_one = "\\set key random(1, 50)\nSELECT faults.only_one(count(*)) FROM single WHERE k = :key;\n";
my $count_one = "\\set key random(1, 50)\nSELECT faults.only_one(gpu.count('single_k', ARRAY[:key::int8], ARRAY[:key::int8]));\n";

my %mix = (insert => 4, insert_one => 6, abort => 2, savepoint => 1, delete => 3, update => 3, merge => 1, vacuum => 1,
	check => 3, slow_check => 1);
my $pairs_maintenance = [ [ "VACUUM (INDEX_CLEANUP ON) pairs;\n", 2 ], [ "SELECT count(*) FROM gpu.merge('pairs_k');\n", 1 ] ];
my @runs = (
	start_clients($node, workload('t', %mix), clients => 4, seconds => $seconds),
	start_clients($node, workload('narrow', %mix), clients => 3, seconds => $seconds),
	start_clients($node, [ [ $cursors, 1 ] ], clients => 1, seconds => $seconds),
	start_clients($node, workload('other', insert => 3, insert_one => 3, delete => 2, update => 2, abort => 1),
		clients => 2, seconds => $seconds),
	start_clients($node, [ [ $variables . "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT faults.check_any(:low, :high);\nCOMMIT;\n", 1 ] ],
		clients => 1, seconds => $seconds),
	start_clients($node, [ [ $moves, 2 ], [ $counts, 2 ] ], clients => 3, seconds => $seconds, tries => 1000),
	start_clients($node, $pairs_maintenance, clients => 1, seconds => $seconds),
	start_clients($node, [ [ $change_one, 1 ] ], clients => 2, seconds => $seconds),
	start_clients($node, [ [ $find_one, 2 ], [ $count_one, 1 ] ], clients => 2, seconds => $seconds,
		options => '-c enable_seqscan=off'),);

# Only one session at a time may build indexes of a table concurrently.
my $builder = start_clients($node, [ [ q{CREATE INDEX CONCURRENTLY other_new ON other USING gpu_kary (k) WITH (fanout = 2);
SELECT count(*) FROM gpu.verify('other_new', true);
REINDEX INDEX CONCURRENTLY other_again;
SELECT faults.must_equal('other_new', '0', count(*)::text) FROM gpu.verify('other_new', true);
SELECT faults.must_equal('other_again', '0', count(*)::text) FROM gpu.verify('other_again', true);
DROP INDEX CONCURRENTLY other_new;
VACUUM (INDEX_CLEANUP ON) other;
}, 1 ] ], clients => 1, seconds => $seconds);
push @runs, $builder;

finish_clients($_) foreach @runs;

is(client_errors(\@runs), '', 'no errors and no wrong answers');
foreach my $number (0 .. $#runs)
{
	cmp_ok(client_transactions([ $runs[$number] ]), '>', 0, "clients $number had work going");
}
is(bad_log_lines($node, qr/deadlock|pg_gpu merge.*exited with exit code [^0]/), '',
	'no deadlock and no death in the log');

check_sound($node, 'gpu.verify finds nothing in other_again', 'other_again');
$node->safe_psql('postgres', 'DROP INDEX other_again; DROP INDEX IF EXISTS other_new');
foreach my $table ('t', 'narrow', 'other', 'pairs')
{
	check_usable($node, $table, 'at the end');
	$node->safe_psql('postgres', "VACUUM (INDEX_CLEANUP ON) $table");
	check_sound($node, "after VACUUM: gpu.verify finds nothing in ${table}_k", "${table}_k");
	$node->safe_psql('postgres', "SELECT count(*) FROM gpu.merge('${table}_k')");
	check_usable($node, $table, 'merged');
}

$node->stop;
done_testing();
