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
sub make_tables
{
	my ($node) = @_;
	$node->safe_psql('postgres', q{CREATE TABLE one (k int4, t text) WITH (fillfactor = 50);
INSERT INTO one SELECT i, 'x' FROM generate_series(1, 5000) AS i;
ALTER TABLE one SET (fillfactor = 90);
CREATE INDEX one_c ON one USING gpu_column (k);
DELETE FROM one WHERE k % 10 = 0;
CREATE TABLE other (n int4)});
	return;
}
make_tables($primary);
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
sub another_transaction_ends { ($_[0] // $primary)->safe_psql('postgres', 'INSERT INTO other VALUES (1)') }

# Asks until WAL is followed: it is from the second question on, and then each page is looked at once.
sub follow
{
	my ($session, $wait, $node) = @_;
	foreach (1 .. 4)
	{
		answer($session);
		another_transaction_ends($node);
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

# ---- what can't be read, or not at once -----------------------------------------------------------------------------------

my $alone = new_node('alone', streaming => 1, checksums => 0, conf => q{
shared_preload_libraries = 'pg_gpu'
shared_buffers = 16MB
autovacuum = off
checkpoint_timeout = 1h
wal_writer_delay = 10s
pg_gpu.path = paged
pg_gpu.wal_bytes_per_look = 1000000
});
make_tables($alone);
$rows = 4500;
$session = new_session($alone);
$second = new_session($alone);
sub descriptors { return scalar(() = glob('/proc/' . $_[0]->query_safe('SELECT pg_backend_pid()') . '/fd/*')) }

# The next record is in a segment that has another one behind it, so that only readers ask for it.
sub take_segment_away
{
	my ($node) = @_;
	# The rest of a segment is less than is read at most.
	$node->safe_psql('postgres', 'INSERT INTO other SELECT generate_series(1, 2000)');
	follow($session, undef, $node);
	my $segment = $node->data_dir . '/pg_wal/' . $node->safe_psql('postgres', 'SELECT pg_walfile_name(pg_current_wal_lsn())');
	another_transaction_ends($node);
	$node->safe_psql('postgres', 'SELECT pg_switch_wal(); INSERT INTO other VALUES (2)');
	rename $segment, "$segment.aside" or die;
	return $segment;
}
my $segment = take_segment_away($alone);
$alone->safe_psql('postgres', 'DELETE FROM one WHERE k = 11');
$rows--;
my $open = descriptors($session);
is(answer($session), "looks $rows $rows", 'without a file of WAL pages are looked at');
another_transaction_ends($alone);
answer($session);
another_transaction_ends($alone);
is(answer($session), "reads $rows $rows", 'and it is followed from where it is there again');
cmp_ok(descriptors($session), '<=', $open, 'no file is left open');
rename "$segment.aside", $segment or die;

# A reading that takes long. Whoever waits for it can give up.
$segment = take_segment_away($alone);
$alone->safe_psql('postgres', 'DELETE FROM one WHERE k = 12');
$rows--;
system_or_bail('mkfifo', $segment);
chown((stat "$segment.aside")[4, 5], $segment) or die;
my $question = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off;
SELECT count(k) + 0 * sum(k) FROM one WHERE k BETWEEN 1 AND 1000000';
my $reading = start_sql($alone, $question);
my $reader_of_fifo = q{SELECT pid FROM pg_stat_activity WHERE application_name = 'victim' AND state = 'active'};
my ($tries, $place) = (0, '');
# The kernel says where a process waits, though not to everybody.
wait_until(sub {
	my $pid = $alone->safe_psql('postgres', $reader_of_fifo);
	$place = $pid ne '' && -r "/proc/$pid/wchan" ? slurp_file("/proc/$pid/wchan") : '';
	return $place =~ /fifo|partner/ || ($tries++ > 30 && $place !~ /[a-z]/);
});
SKIP:
{
	skip 'nobody says where processes wait', 2 unless $place =~ /[a-z]/;
	like($place, qr/fifo|partner/, 'one session opens the file');
	my (undef, undef, $message) = $alone->psql('postgres', "SET statement_timeout = '500ms'; $question");
	like($message, qr/canceling statement due to statement timeout/, 'one that waits for it is cancelled by its timeout');
}
# Opened for both it waits for nobody, and nobody who opens it later waits.
open(my $fifo, '+<', $segment) or die;
is(finish_sql($reading)->{out}, "$rows\n", 'the one that read has looked at pages in the end');
close $fifo;
unlink $segment;
rename "$segment.aside", $segment or die;
follow($session, undef, $alone);
is(answer($session), "reads $rows $rows", 'and WAL is followed again');

# Questions whose looks take less than reading all that has come reach its end after a while.
my $bytes = int(20_000 / $alone->safe_psql('postgres', q{SELECT pg_relation_size('one') / 8192})) + 1;
$session->query_safe("SET pg_gpu.wal_bytes_per_look = $bytes");
$alone->safe_psql('postgres', 'INSERT INTO other SELECT generate_series(1, 20000)');
is(answer($session), "looks $rows $rows", 'more has come than a question reads');
my $asked = 0;
do
{
	another_transaction_ends($alone);
	$asked++;
} while ($asked < 300 && answer($session) ne "reads $rows $rows");
cmp_ok($asked, '<', 300, 'several questions have read it');
cmp_ok($asked, '>', 2, 'and not the first ones');
another_transaction_ends($alone);
answer($session);
another_transaction_ends($alone);
is(answer($session), "reads $rows $rows", 'from then on it is read');
$session->query_safe('RESET pg_gpu.wal_bytes_per_look');

# A transaction that goes on for long, beside others. What it does at last isn't flushed, and is seen.
$writer = new_session($alone);
$writer->query_safe('SET synchronous_commit = off');
foreach my $key (13 .. 16)
{
	$writer->query_safe('BEGIN; INSERT INTO other VALUES (3)');
	$alone->safe_psql('postgres', q{DO $$ BEGIN FOR i IN 1 .. 30000 LOOP BEGIN INSERT INTO other VALUES (i); EXCEPTION WHEN others THEN RAISE; END; END LOOP; END $$})
	  if $key == 13;
	# Their commits are looked up once, when looks have taken as long.
	follow($session, undef, $alone) foreach 1 .. ($key == 13 ? 15 : 1);
	is(answer($session), "reads $rows $rows", "beside a long transaction no page is looked at, $key");
	$writer->query_safe("DELETE FROM one WHERE k = $key; COMMIT");
	$rows--;
	like(answer($session), qr/^\w+ $rows $rows$/, "its asynchronous commit is seen, $key");
}
another_transaction_ends($alone);
answer($session);
another_transaction_ends($alone);
is(answer($session), "reads $rows $rows", 'and read in the end');

# A snapshot lists 64 subtransactions of a session at most. One that knows of more has no list, though it counted those of
# the sessions before.
my $other_writer = new_session($alone);
my $from = 100;
foreach my $writers ([ $writer, $other_writer ], [ $other_writer, $writer ])
{
	my ($few, $many) = @$writers;
	foreach ([ $few, 20 ], [ $many, 150 ])
	{
		my ($by, $count) = @$_;
		$by->query_safe("BEGIN; DO \$\$ BEGIN FOR i IN 1 .. $count LOOP BEGIN DELETE FROM one WHERE k = $from + i; EXCEPTION WHEN others THEN RAISE; END; END LOOP; END \$\$");
		$from += $count;
	}
	foreach my $again (1, 2)
	{
		like(answer($session), qr/^\w+ $rows $rows$/, "beside more subtransactions than a snapshot lists, $again");
		another_transaction_ends($alone);
	}
	$_->query_safe('COMMIT') foreach $few, $many;
	$rows = $alone->safe_psql('postgres', 'SELECT count(*) FROM one');
	like(answer($session), qr/^\w+ $rows $rows$/, 'and they are seen once they are committed');
}
$other_writer->quit;
$_->quit foreach $session, $second, $writer;
$alone->stop;
done_testing();
