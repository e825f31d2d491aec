# suite: check
# What a session hands to the server process of a large table's blocks is kept from one question to the next, and only groups of blocks
# that have changed are copied anew: its answers stay right under changes, for snapshots older than the last question's, and where work_mem
# has no room for what the session would know of all blocks. 175_block_facts.pl has the random changes.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Whose engine is asked: the device's where these tests are run for it.
my $path = ($ENV{PG_GPU_TEST_PATH} || '') eq 'cuda' ? 'cuda' : 'host';
my $node = new_node('primary', conf => qq{
shared_preload_libraries = 'pg_gpu'
autovacuum = off
wal_level = replica
pg_gpu.path = $path
pg_gpu.min_mirror_entries = 600
pg_gpu.wal_bytes_per_look = 1000000
});

# More than seven thousand blocks: a work_mem of 128 kB has no room for all that a session finds out of them, and one of 64 kB none for a
# copy either.
$node->safe_psql('postgres', q{CREATE TABLE wide (k int4, v int4, t text) WITH (fillfactor = 10);
INSERT INTO wide SELECT i, i % 100, repeat('x', 60) FROM generate_series(1, 52000) AS i;
CREATE INDEX wide_g ON wide USING gpu_grid (k, v);
CREATE INDEX wide_c ON wide USING gpu_column (k, v);
CREATE TABLE other (n int4)});
cmp_ok($node->safe_psql('postgres', q{SELECT pg_relation_size('wide') / 8192}), '>', 6900, 'the table has many blocks');

# How many rows the indexes count, and the table.
sub counts
{
	my ($session) = @_;
	$session->query_safe(q{SELECT concat_ws(' ', gpu.count('wide_g', ROW(NULL::int, 20), ROW(NULL::int, NULL::int)), gpu.count('wide_c', 'v >= 20'),
	(SELECT count(*) FROM wide WHERE v + 0 >= 20))});
}

sub are_right
{
	my ($session, $what) = @_;
	return like(counts($session), qr/^(\d+) \1 \1$/, $what);
}

my %work_mem = (roomy => '64MB', tight => '128kB', tighter => '64kB');
my %sessions = map { $_ => new_session($node) } keys %work_mem;
$sessions{$_}->query_safe("SET work_mem = '$work_mem{$_}'") foreach keys %work_mem;
sub all_are_right
{
	my ($what) = @_;
	are_right($sessions{$_}, "$what, $_, $_[0]") foreach sort keys %sessions;
}

# From the second question on nothing has to be found out again.
foreach my $round (1 .. 4)
{
	all_are_right("at first, round $round");
	$node->safe_psql('postgres', 'INSERT INTO other VALUES (1)');
}
foreach my $name ('roomy', 'tight')
{
	are_right($sessions{$name}, "at rest, $name");
	like($sessions{$name}->query_safe('SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT sum(v) FROM wide WHERE v >= 20'), qr/Heap Fetches: 0$/m, "no row is looked at, $name");
}
foreach my $change ('DELETE FROM wide WHERE k % 997 = 0', 'DELETE FROM wide WHERE k BETWEEN 5000 AND 5100', 'UPDATE wide SET v = v + 30 WHERE k % 501 = 0',
	q{UPDATE wide SET t = 'y' WHERE k % 333 = 0}, q{INSERT INTO wide SELECT i, i % 100, 'new' FROM generate_series(60001, 60500) AS i},
	'BEGIN; DELETE FROM wide WHERE k % 3 = 0; ROLLBACK', 'VACUUM wide', 'DELETE FROM wide WHERE k % 1001 = 0',
	'DELETE FROM wide WHERE k > 45000; VACUUM (INDEX_CLEANUP ON) wide',
	q{INSERT INTO wide SELECT i, i % 100, repeat('z', 60) FROM generate_series(45001, 54000) AS i}, 'DELETE FROM wide WHERE k % 50 = 7')
{
	$node->safe_psql('postgres', $change);
	all_are_right("$change, $_") foreach 'at once', 'again';
}

# A cursor's snapshot is older than that of the questions asked since, whose copies may rest on changes that it doesn't see.
foreach my $name (sort keys %sessions)
{
	my $session = $sessions{$name};
	$session->query_safe(q{BEGIN; DECLARE before CURSOR FOR SELECT gpu.count('wide_g', ROW(NULL::int, 20), ROW(NULL::int, NULL::int));
DECLARE before_column CURSOR FOR SELECT gpu.count('wide_c', 'v >= 20')});
	my $expected = $session->query_safe('SELECT count(*) FROM wide WHERE v + 0 >= 20');
	$node->safe_psql('postgres', 'DELETE FROM wide WHERE k IN (SELECT k FROM wide ORDER BY hashint4(k) LIMIT 400)');
	are_right($session, "after a change, $_, $name") foreach 1 .. 3;
	cmp_ok($session->query_safe('SELECT count(*) FROM wide WHERE v + 0 >= 20'), '<', $expected, "rows went, $name");
	is($session->query_safe('FETCH before'), $expected, "the older snapshot sees them, boxes, $name");
	is($session->query_safe('FETCH before_column'), $expected, "the older snapshot sees them, columns, $name");
	are_right($session, "a new one does not, $name");
	$session->query_safe('COMMIT');

	# What it writes itself.
	$session->query_safe('BEGIN; DELETE FROM wide WHERE k % 41 = 1');
	are_right($session, "own changes, $name");
	$session->query_safe('ROLLBACK');
	are_right($session, "own changes taken back, $name");
}

# A function of a value asks a question of its own between what is read of the blocks and the request. With a work_mem of 128 kB there is
# room for one of the two tables' pictures.
$node->safe_psql('postgres', q{CREATE TABLE nested (k int4, v int4, t text) WITH (fillfactor = 10);
INSERT INTO nested SELECT i, i % 100, repeat('x', 60) FROM generate_series(1, 52000) AS i;
CREATE INDEX nested_c ON nested USING gpu_column (k, v);
DELETE FROM nested WHERE k % 2 = 0;
CREATE FUNCTION asks(int4) RETURNS int4 IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM gpu.count('nested_c', 'v >= 20'); RETURN $1; END $$;
ANALYZE wide});
foreach my $name ('roomy', 'tight')
{
	my $expected = $sessions{$name}->query_safe('SELECT sum(v) FROM wide WHERE v + 0 >= 20');
	my $again = 'SELECT sum(asks(v)) FROM wide WHERE v >= 20';
	like($sessions{$name}->query_safe("EXPLAIN (COSTS OFF) $again"), qr/GpuAggregate/, "a question within another, $name");
	is($sessions{$name}->query_safe($again), $expected, "the same, $name, $_") foreach 1 .. 3;
}
cmp_ok($node->safe_psql('postgres', "SELECT sum(requests) FROM gpu.stat WHERE path = '$path' AND request IN ('count boxes', 'count rows')"), '>', 0, 'the server process has answered');
$_->quit foreach values %sessions;
$node->stop;
done_testing();
