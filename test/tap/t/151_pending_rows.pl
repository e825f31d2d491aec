# suite: check
# Rows of gpu_column wait for each other while their statement goes on (pg_gpu.insert_memory). It is cancelled, its session ends, the server crashes: while they
# wait, and while they are written. Others read, insert and vacuum beside it. Then prepared transactions, a standby, and the first copy of a subscription.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest::WaitingRows;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $node = new_node('waiting', streaming => 1, conf => "wal_level = logical\nmax_prepared_transactions = 5\nautovacuum = off\nrestart_after_crash = on\n");
$node->safe_psql('postgres', $waiting_table);
my $rows = 20_000;
my $series = "SELECT g, md5(g::text) FROM generate_series(1, $rows) AS g";

# Rows wait while their statement waits for the lock behind its last row, and are being written while it waits to make the file longer.
my %stands_still = (
	'while rows wait' => "INSERT INTO waiting $series WHERE g < $rows OR pg_advisory_xact_lock(1)::text IS NULL",
	'while they are written' => "LOAD 'pg_gpu_test'; SET pg_gpu_test.hold_extensions = 1; INSERT INTO waiting $series");
my $held = q{SELECT pid FROM pg_stat_activity WHERE application_name = 'victim' AND wait_event = 'advisory'};

foreach my $when (sort keys %stands_still)
{
	foreach my $end ('cancel', 'terminate', 'crash', 'commit')
	{
		my $what = "$end $when";
		$node->safe_psql('postgres', 'TRUNCATE waiting');
		$beside = 0;
		add_beside($node, 1000);
		my $holder = new_session($node);
		$holder->query_safe('SELECT pg_advisory_lock(1)');
		my $statement = start_sql($node, "LOAD 'pg_gpu'; BEGIN; $stands_still{$when}; COMMIT;");
		wait_until(sub { return sql_value($node, $held) ne '' }) or die "the statement doesn't stand still: $what";
		is(sql_value($node, "SELECT count(*) FROM gpu.runs('waiting_i') WHERE entries > 10000"), '0', "$what: they aren't written yet");
		# A reservation of pages that the file hasn't would outlive the statement, and others would meet it.
		is(reserved_pages($node, 'waiting_i'), '', "$what: nothing is reserved yet");
		add_beside($node, 1);
		add_beside($node, 700);
		has_rows($node, 0, "$what, beside it");
		$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) waiting') if $when eq 'while rows wait';
		check_sound($node, "$what: gpu.verify beside it", 'waiting_i');
		# One run is written at a time. Who comes second takes its turn, however short its patience with locks is.
		my $second;
		if ($end eq 'commit' && $when eq 'while they are written')
		{
			$second = start_sql($node, "LOAD 'pg_gpu'; SET lock_timeout = '20ms'; INSERT INTO waiting SELECT -g, md5(g::text) FROM generate_series(1, 5000) AS g");
			my $turn = q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'victim' AND wait_event_type = 'Extension'};
			ok(wait_until(sub { return sql_value($node, $turn) eq '1' || !$second->{handle}->pumpable }), "$what: another one takes its turn");
			$beside += 5000;
		}
		if ($end eq 'crash')
		{
			crash_cluster($node);
			finish_sql($statement);
			eval { $holder->quit };
			start_again($node, $what);
		}
		else
		{
			sql_value($node, $end eq 'commit' ? 'SELECT' : "SELECT pg_${end}_backend(pid) FROM ($held) AS s");
			$holder->quit if $end eq 'commit';
			my %expected = (cancel => '57014', terminate => '57P01', commit => '');
			is(finish_sql($statement)->{code}, $expected{$end}, "$what: the statement's end");
			$holder->quit if $end ne 'commit';
			is(finish_sql($second)->{code}, '', "$what: the other one") if $second;
		}
		my $many = $end eq 'commit' ? $rows - ($when eq 'while rows wait' ? 1 : 0) : 0;
		has_rows($node, $many, $what);
		# Their TIDs are given to others.
		$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) waiting');
		add_beside($node, 3000);
		has_rows($node, $many, "$what, and others came");
		check_sound($node, "$what: gpu.verify", 'waiting_i');
	}
}

# ---- prepared, and a crash between the statement and the end of its transaction ------------------------------

$node->safe_psql('postgres', 'TRUNCATE waiting');
$beside = 0;
$node->safe_psql('postgres', "LOAD 'pg_gpu'; BEGIN; INSERT INTO waiting $series; PREPARE TRANSACTION '$_'") foreach ('kept', 'undone');
add_beside($node, 1000);
my $open = new_session($node);
$open->query_safe("LOAD 'pg_gpu'; BEGIN; INSERT INTO waiting $series");
is(sql_value($node, "SELECT count(*) FROM gpu.runs('waiting_i') WHERE entries > 10000"), '3', 'rows are written before their transaction ends');
has_rows($node, 0, 'three transactions are open');
crash_cluster($node);
eval { $open->quit };
start_again($node, 'prepared transactions');
has_rows($node, 0, 'two are prepared');
$node->safe_psql('postgres', "COMMIT PREPARED 'kept'");
$node->safe_psql('postgres', "ROLLBACK PREPARED 'undone'");
has_rows($node, $rows, 'one is committed');
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) waiting');
add_beside($node, 3000);
has_rows($node, $rows, 'and others came');
check_sound($node, 'prepared: gpu.verify', 'waiting_i');

# ---- a standby ----------------------------------------------------------------------------------------------

$node->backup('standby');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'standby', has_streaming => 1);
$standby->start;
$open = new_session($node);
$open->query_safe("LOAD 'pg_gpu'; BEGIN; INSERT INTO waiting $series");
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
has_rows($standby, $rows, 'standby, before the commit');
$open->query_safe('COMMIT');
$open->quit;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
has_rows($standby, 2 * $rows, 'standby, behind the commit');

# ---- a subscription, which copies a table without a statement ------------------------------------------------

my $subscriber = new_node('subscriber', streaming => 1, conf => "wal_level = logical\n");
$subscriber->safe_psql('postgres', $waiting_table);
$node->safe_psql('postgres', 'CREATE PUBLICATION rows FOR TABLE waiting');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION rows CONNECTION '@{[ $node->connstr ]} dbname=postgres' PUBLICATION rows");
$subscriber->wait_for_subscription_sync($node, 'rows');
has_rows($subscriber, 2 * $rows, 'subscriber, the first copy');
is(sql_value($subscriber, "SELECT count(*) > 0 FROM gpu.runs('waiting_i') WHERE entries > 10000"), 't', 'its rows waited');
add_beside($node, 2000);
$node->wait_for_catchup('rows');
has_rows($subscriber, 2 * $rows, 'subscriber, changes');
check_sound($subscriber, 'subscriber: gpu.verify', 'waiting_i');

$subscriber->stop;
$standby->stop;
$node->stop;
done_testing();
