# suite: check
# Which blocks have changed again is read from WAL, where the library is preloaded: no page is looked at then, whoever's transactions have
# ended. Changes are seen nevertheless, also those of asynchronous commits, of prepared transactions and of the session's own, on a
# primary and a standby, across segments, checkpoints, new databases, promotion and a crash. 175_block_facts.pl has the random changes.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Hint bits that are logged would change pages. What a commit doesn't flush stays so for a while.
my $primary = new_node('primary', streaming => 1, checksums => 0, conf => q{
shared_preload_libraries = 'pg_gpu'
shared_buffers = 16MB
autovacuum = off
pg_gpu.path = paged
pg_gpu.wal_bytes_per_look = 1000000
max_prepared_transactions = 2
wal_log_hints = off
wal_writer_delay = 10s
});
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\n");
$standby->start;

# Half of each page is free, so that no reader rids it of dead rows, which would be a change as well.
$primary->safe_psql('postgres', q{CREATE TABLE one (k int4, t text) WITH (fillfactor = 50);
INSERT INTO one SELECT i, 'x' FROM generate_series(1, 5000) AS i;
ALTER TABLE one SET (fillfactor = 90);
CREATE INDEX one_c ON one USING gpu_column (k);
DELETE FROM one WHERE k % 10 = 0;
CREATE TABLE other (n int4)});
my $rows = 4500;

# Whether a statement has looked at pages, and how many rows it found by the index, and by the table.
sub answer
{
	my ($session) = @_;
	my $looks = q{SELECT coalesce(sum(requests), 0) FROM gpu.stat WHERE request = 'block facts'};
	my $before = $session->query_safe($looks);
	my $count = $session->query_safe("SET pg_gpu.enable_aggregate = on; SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexscan = off;
SET enable_indexonlyscan = off; SELECT count(k) + 0 * sum(k) FROM one WHERE k BETWEEN 1 AND 1000000");
	my $looked = $session->query_safe($looks) > $before ? 'looks' : 'reads';
	my $expected = $session->query_safe('SET pg_gpu.enable_aggregate = off; SET pg_gpu.enable_count_scan = off; SET enable_seqscan = on;
SELECT count(*) FROM one WHERE k + 0 BETWEEN 1 AND 1000000');
	return "$looked $count $expected";
}

# One that has written nothing wouldn't be flushed.
sub another_transaction_ends { $primary->safe_psql('postgres', 'INSERT INTO other VALUES (1)') }

# Asks until WAL is followed: it is from the second question on, and then each page is looked at once.
sub follow
{
	my ($session, $wait) = @_;
	foreach (1 .. 4)
	{
		answer($session);
		another_transaction_ends();
		$wait->() if $wait;
	}
}

my $session = new_session($primary);
my $plan = $session->query_safe('SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT count(k) + 0 * sum(k) FROM one WHERE k BETWEEN 1 AND 1000000');
like($plan, qr/GpuAggregate/, 'the question is one for the index');
follow($session);
is(answer($session), "reads $rows $rows", 'no page is looked at after another transaction has ended');
another_transaction_ends();
my $second = new_session($primary);
is(answer($second), "reads $rows $rows", 'nor by a new session');

$session->query_safe('SET pg_gpu.wal_bytes_per_look = 0');
another_transaction_ends();
is(answer($session), "looks $rows $rows", 'without WAL they are');
$session->query_safe('RESET pg_gpu.wal_bytes_per_look');

sub change
{
	my ($sql, $added, $what) = @_;
	$primary->safe_psql('postgres', $sql);
	$rows += $added;
	like(answer($session), qr/^\w+ $rows $rows$/, $what);
	another_transaction_ends();
	is(answer($second), "reads $rows $rows", "$what, and no page is looked at again");
}
change('DELETE FROM one WHERE k BETWEEN 1 AND 9', -9, 'deleted rows');
change(q{INSERT INTO one SELECT i, 'y' FROM generate_series(5001, 5100) AS i}, 100, 'inserted rows');
change(q{UPDATE one SET t = 'z' WHERE k % 50 = 1}, 0, 'rows that moved');
change('UPDATE one SET k = k + 10000 WHERE k % 50 = 2', 0, 'rows whose keys changed');
# Nobody flushes it, so it is read once another transaction is.
$primary->safe_psql('postgres', 'BEGIN; DELETE FROM one WHERE k % 50 = 3; ROLLBACK');
foreach my $again (1, 2)
{
	like(answer($session), qr/^\w+ $rows $rows$/, "a transaction that was taken back, $again");
	another_transaction_ends();
}
is(answer($session), "reads $rows $rows", 'and was read');
change('BEGIN; SAVEPOINT s; DELETE FROM one WHERE k = 4003; ROLLBACK TO s; DELETE FROM one WHERE k IN (4001, 4005, 4006); COMMIT', -3, 'a savepoint');
change('DELETE FROM one WHERE k % 50 = 4', -$primary->safe_psql('postgres', 'SELECT count(*) FROM one WHERE k % 50 = 4'), 'many rows');
change('CHECKPOINT; SELECT pg_switch_wal(); DELETE FROM one WHERE k = 4011; CHECKPOINT', -1, 'another segment');
$primary->safe_psql('postgres', 'CREATE DATABASE other STRATEGY file_copy');
like(answer($session), qr/^\w+ $rows $rows$/, 'another database has come');
follow($session);
is(answer($session), "reads $rows $rows", 'and WAL is followed from there');

# What nobody has flushed can't be read, and is seen.
my $writer = new_session($primary);
$writer->query_safe('SET synchronous_commit = off');
foreach my $key (4021 .. 4026)
{
	$writer->query_safe("DELETE FROM one WHERE k = $key");
	$rows--;
	like(answer($session), qr/^\w+ $rows $rows$/, "an asynchronous commit, $key");
	like(answer($writer), qr/^\w+ $rows $rows$/, "the same, in its own session, $key");
}

# A transaction sees its own changes, and others don't.
$writer->query_safe('RESET synchronous_commit; BEGIN; DELETE FROM one WHERE k BETWEEN 4101 AND 4109');
my $own = $writer->query_safe('SELECT count(*) FROM one');
cmp_ok($own, '<', $rows, 'a transaction has deleted rows');
is(answer($writer) =~ s/^\w+ //r, "$own $own", 'and sees that');
like(answer($session), qr/^\w+ $rows $rows$/, 'others do not');
my $old = new_session($primary);
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
like(answer($old), qr/^\w+ $rows $rows$/, 'an older snapshot');
$writer->query_safe('COMMIT');
my $before = $rows;
$rows = $own;
like(answer($session), qr/^\w+ $rows $rows$/, 'until it commits');
like(answer($old), qr/^\w+ $before $before$/, 'the older snapshot sees what it did');
$old->query_safe('COMMIT');
like(answer($old), qr/^\w+ $rows $rows$/, 'and the next one what is new');
$primary->safe_psql('postgres', "BEGIN; DELETE FROM one WHERE k BETWEEN 4111 AND 4119; PREPARE TRANSACTION 'kept'");
like(answer($session), qr/^\w+ $rows $rows$/, 'a prepared transaction');
$primary->safe_psql('postgres', "COMMIT PREPARED 'kept'");
$rows = $primary->safe_psql('postgres', 'SELECT count(*) FROM one');
like(answer($session), qr/^\w+ $rows $rows$/, 'has committed');

# VACUUM, and a file that is cut off and grows.
$primary->safe_psql('postgres', 'DELETE FROM one WHERE k > 3000; VACUUM (INDEX_CLEANUP ON) one');
$rows = $primary->safe_psql('postgres', 'SELECT count(*) FROM one');
like(answer($session), qr/^\w+ $rows $rows$/, 'a table that was cut off');
$primary->safe_psql('postgres', q{INSERT INTO one SELECT i, 'again' FROM generate_series(3001, 5000) AS i; DELETE FROM one WHERE k % 7 = 0});
$rows = $primary->safe_psql('postgres', 'SELECT count(*) FROM one');
like(answer($session), qr/^\w+ $rows $rows$/, 'and has grown, ' . $_) foreach 1, 2;

# On a standby what is replayed is read.
$primary->wait_for_catchup($standby);
my $reader = new_session($standby);
follow($reader, sub { $primary->wait_for_catchup($standby) });
is(answer($reader), "reads $rows $rows", 'standby: no page is looked at');
foreach my $key (1011, 1012, 1013)
{
	$primary->safe_psql('postgres', "DELETE FROM one WHERE k = $key");
	$primary->wait_for_catchup($standby);
	$rows = $primary->safe_psql('postgres', 'SELECT count(*) FROM one');
	like(answer($reader), qr/^\w+ $rows $rows$/, "standby: a deleted row, $key");
}
$_->quit foreach $session, $second, $writer, $old;
$primary->stop('immediate');
$standby->promote;
like(answer($reader), qr/^\w+ $rows $rows$/, 'a session that goes on after promotion');
$standby->safe_psql('postgres', 'DELETE FROM one WHERE k BETWEEN 1101 AND 1109');
$rows = $standby->safe_psql('postgres', 'SELECT count(*) FROM one');
like(answer($reader), qr/^\w+ $rows $rows$/, 'sees what changes from then on, ' . $_) foreach 1, 2;
$reader->quit;
$standby->stop('immediate');
$standby->start;
$reader = new_session($standby);
like(answer($reader), qr/^\w+ $rows $rows$/, 'after a crash, ' . $_) foreach 1, 2;
$reader->quit;
$standby->stop;
done_testing();
