# suite: check
# old_snapshot_threshold: VACUUM may remove rows that an old snapshot still wants.
# Whoever then reads through the index with that snapshot must get the error that
# a scan of the table gives, and never a smaller answer. (Servers from 17 on have
# no such setting.)
#
# A short run uses threshold 0, which is for tests: the error comes after five
# seconds, though nothing is removed. A long run (PG_GPU_TEST_ROUNDS > 1) uses one
# minute and waits until VACUUM has really removed rows.

use strict;
use warnings;

use Test::More;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use PgGpuTest;

my $long = test_rounds() > 1;
my $node = new_cluster('main', start => 0);
plan skip_all => 'this server has no old_snapshot_threshold' if $node->pg_version >= 17;
$node->append_conf('postgresql.conf', 'old_snapshot_threshold = ' . ($long ? '1min' : '0') . "\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pg_gpu;
CREATE TABLE aged (k int4, id int);
INSERT INTO aged SELECT i % 1000, i FROM generate_series(1, 3000) AS i;
CREATE INDEX aged_k ON aged USING gpu_kary (k);
INSERT INTO aged SELECT i % 1000, i FROM generate_series(3001, 5000) AS i;
CREATE TABLE quiet (k int4, id int);
INSERT INTO quiet SELECT i % 1000, i FROM generate_series(1, 3000) AS i;
CREATE INDEX quiet_k ON quiet USING gpu_kary (k);
CREATE TABLE young (k int4, id int) WITH (autovacuum_enabled = off);
INSERT INTO young SELECT i % 1000, i FROM generate_series(1, 3000) AS i;
CREATE INDEX young_k ON young USING gpu_kary (k);
SQL
$node->safe_psql('postgres', "VACUUM ANALYZE $_") for 'aged', 'quiet', 'young';

# Ways to count the rows with keys 100..199, of which the table has 500.
my %way = (
	'a sequential scan' => {
		set => 'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off',
		sql => 'SELECT count(id) FROM TABLE WHERE k BETWEEN 100 AND 199'
	},
	'an index scan' => {
		set => 'SET enable_seqscan = off; SET enable_bitmapscan = off',
		sql => 'SELECT count(id) FROM TABLE WHERE k BETWEEN 100 AND 199',
		node => 'Index Scan'
	},
	'an index-only scan' => {
		set => 'SET enable_seqscan = off; SET enable_bitmapscan = off',
		sql => 'SELECT count(*) FROM TABLE WHERE k BETWEEN 100 AND 199',
		node => 'Index Only Scan'
	},
	'a bitmap scan' => {
		set => 'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off',
		sql => 'SELECT count(id) FROM TABLE WHERE k BETWEEN 100 AND 199',
		node => 'Bitmap Index Scan'
	},
	'gpu.count' => {
		set => 'SELECT 1',
		sql => "SELECT gpu.count('TABLE_k', ARRAY[100], ARRAY[199])"
	},
	'gpu.lookup' => {
		set => 'SELECT 1',
		sql => "SELECT count(*) FROM gpu.lookup('TABLE_k', ARRAY(SELECT generate_series(100, 199)))"
	});

# Opens a snapshot in every session.
my %session = map { $_ => new_session($node) } keys %way;
$session{$_}->query_safe($way{$_}{set}) for keys %way;

sub open_snapshots
{
	$session{$_}->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1') for sort keys %way;
	return;
}

sub question
{
	my ($name, $table) = @_;
	my $sql = $way{$name}{sql};
	$sql =~ s/TABLE/$table/g;
	return $sql;
}

# Returns how many entries of the runs are live, as far as VACUUM knows.
sub live_entries
{
	return $node->safe_psql('postgres', "SELECT sum(entries - dead) FROM gpu.runs('aged_k')");
}

# Makes the old snapshots older than the threshold allows; in a long run it waits until VACUUM has removed entries.
# Every poll takes a snapshot, by which the server knows which transactions ended when.
sub grow_old
{
	my $before = live_entries();
	if (!$long)
	{
		sleep 6;
		$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) aged');
		return;
	}
	for (1 .. 80)
	{
		$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) aged');
		return if live_entries() < $before;
		sleep 5;
	}
	die 'VACUUM never removed a row that an old snapshot wanted';
}

# Asks every session. Where rows were removed the error is the only right answer; otherwise the old count is right as
# well, where the way met no page newer than its snapshot.
sub ask_all
{
	my ($what, $answer, $table, $nobody_answers) = @_;
	for my $name (sort keys %way)
	{
		my ($count) = $session{$name}->query(question($name, $table));
		my $error = $session{$name}{stderr};
		$session{$name}{stderr} = '';
		my $refused = $error =~ /ERROR:  snapshot too old/;
		my $must_refuse = $long || $nobody_answers || $name eq 'a sequential scan';
		ok($refused || (!$must_refuse && $error eq '' && $count eq $answer), "$name $what")
		  or diag("count '$count', error '$error'");
		$session{$name}->query('ROLLBACK');
	}
	return;
}

open_snapshots();
for my $name (sort keys %way)
{
	is($session{$name}->query_safe(question($name, 'aged')), '500', "$name counts while nothing has changed");
	uses_index($session{$name}, question($name, 'aged'), 'aged_k', $way{$name}{node}, "$name is what it says")
	  if $way{$name}{node};
}
$node->safe_psql('postgres', 'DELETE FROM aged WHERE k BETWEEN 100 AND 149');
grow_old();
ask_all('is right or refuses after a deletion', '500', 'aged');
is($session{$_}->query_safe(question($_, 'aged')), '250', "$_ counts with a new snapshot") for sort keys %way;

# These cursors took their views of the index before. Each has read the first leaf page.
my %cursor = (kary => [ 'k', 'k >= 0 ORDER BY k' ], grid => [ 'k, id', 'k >= 0 AND id >= 0' ]);
for my $method (sort keys %cursor)
{
	my ($columns, $condition) = @{$cursor{$method}};
	$node->safe_psql('postgres', "CREATE TABLE $method (k int4, id int);
		INSERT INTO $method SELECT i, i FROM generate_series(1, 20000) AS i;
		CREATE INDEX ${method}_k ON $method USING gpu_$method ($columns)");
	$node->safe_psql('postgres', "VACUUM ANALYZE $method");
	my $cursor = new_session($node);
	$cursor->query_safe('SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off; SET enable_sort = off');
	my $query = "SELECT k, ctid FROM $method WHERE $condition";
	$cursor->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; DECLARE c CURSOR FOR $query");
	uses_index($cursor, $query, "${method}_k", 'Index Scan', "a cursor of $method");
	$cursor->query_safe('MOVE 10 FROM c');
	$node->safe_psql('postgres', "DELETE FROM $method WHERE k % 3 = 0");
	if ($long)
	{
		my $live = sub { return $node->safe_psql('postgres', "SELECT sum(entries - dead) FROM gpu.runs('${method}_k')") };
		my $before = $live->();
		for (1 .. 80)
		{
			$node->safe_psql('postgres', "VACUUM (INDEX_CLEANUP ON) $method");
			last if $live->() < $before;
			sleep 5;
		}
	}
	else
	{
		sleep 6;
		$node->safe_psql('postgres', "VACUUM (INDEX_CLEANUP ON) $method");
	}
	$cursor->query('MOVE ALL FROM c');
	like($cursor->{stderr}, qr/ERROR:  snapshot too old/, "a cursor of $method refuses");
	$cursor->{stderr} = '';
	$cursor->query('ROLLBACK');
	$cursor->quit;
}

# A merge moves the entries to other pages, and the old ones are used again.
open_snapshots();
$node->safe_psql('postgres', 'DELETE FROM aged WHERE k BETWEEN 150 AND 159');
grow_old();
$node->safe_psql('postgres', "SELECT count(*) FROM gpu.merge('aged_k')");
$node->safe_psql('postgres', 'INSERT INTO aged SELECT 5000 + i, i FROM generate_series(1, 3000) AS i');
ask_all('is right or refuses after a merge', '250', 'aged');

# These rows are only in the tail. VACUUM marks them all-visible, though the old snapshots must not see them, and leaves
# the index as it is.
open_snapshots();
$node->safe_psql('postgres', 'INSERT INTO young SELECT 150, -i FROM generate_series(1, 5) AS i');
for (1 .. ($long ? 80 : 1))
{
	sleep($long ? 5 : 6);
	$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP OFF) young');
	last if $node->safe_psql('postgres', "SELECT relallvisible = relpages FROM pg_class WHERE relname = 'young'") eq 't';
}
ask_all('refuses where the tail is newer', '300', 'young', 1);

# A table where nothing happened must be as readable as ever.
open_snapshots();
$node->safe_psql('postgres', "INSERT INTO aged VALUES (-$_, 0)") for 1 .. 3;
for my $name (sort keys %way)
{
	is($session{$name}->query_safe(question($name, 'quiet')), '300', "$name reads an unchanged table with an old snapshot");
	$session{$name}->query('ROLLBACK');
	$session{$name}->quit;
}
check_sound($node, 'the index is sound', 'aged_k');
$node->stop;
done_testing();
