# suite: check
# gpu.load with parallel workers: what they copy is what the leader would have copied; a cancel, a failed worker and a
# failed server process end it, and nothing of it stays behind.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();
my $path = ($ENV{PG_GPU_TEST_PATH} // '') eq 'cuda' ? 'cuda' : 'host';
my $node = new_node('loading', conf => "max_parallel_maintenance_workers = 3\nmax_worker_processes = 16\nmax_parallel_workers = 8\nmin_parallel_index_scan_size = 8\npg_gpu.path = $path\npg_gpu.mirror = manual\n");
$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS pg_gpu');
# There are several chunks of pages, of which the last is not full, and a second run and a tail beside the large one.
$node->safe_psql('postgres', q{
CREATE TABLE big (k int8, v int);
INSERT INTO big SELECT (i * 7919) % 1000003, i FROM generate_series(1, 700000::bigint) AS i;
CREATE INDEX big_k ON big USING gpu_kary (k);
INSERT INTO big SELECT i, i FROM generate_series(1, 3000) AS i;
VACUUM big;
});
my $answers = q{SELECT count(*), sum(ordinal) FROM gpu.lookup('big_k', ARRAY(SELECT g * 3 FROM generate_series(1, 100000) AS g));
SELECT gpu.count('big_k', ARRAY[i], ARRAY[i + 70000]) FROM generate_series(-100000, 1000000, 50000) AS i};
my $right = sql_value($node, "SET pg_gpu.path = paged; $answers");

# The buffer is so small that the leader has to wait for the server process before all is copied.
sub load_with
{
	my ($workers) = @_;
	my ($out, $messages) = ('', '');
	my $status = $node->psql('postgres', "SET client_min_messages = debug1; SET max_parallel_maintenance_workers = $workers;
SET pg_gpu.session_transfer_memory = '2MB';
SELECT gpu.evict('big_k') IS NOT NULL; SELECT gpu.load('big_k')", stdout => \$out, stderr => \$messages);
	is($status, 0, "gpu.load with $workers workers") or diag($messages);
	my ($bytes) = $out =~ /(\d+)$/;
	my @copied = $messages =~ /a parallel worker copied (\d+) of \d+ chunks/g;
	return ($bytes, @copied);
}

my ($alone, @none) = load_with(0);
is(@none, 0, 'without workers there are none');
is(sql_value($node, $answers), $right, 'and answers are right');
my $helped = 0;
foreach my $round (1 .. rounds(3))
{
	my ($bytes, @copied) = load_with(3);
	is($bytes, $alone, 'workers load the same bytes');
	is(@copied, 3, 'three workers reach the transfer buffer');
	$helped += $_ foreach @copied;
	is(sql_value($node, $answers), $right, 'the same answers');
}
load_with(6);
is(sql_value($node, $answers), $right, 'so many workers that the leader only sends');
# The leader begins alone, and on an idle machine it may be through before the workers come.
ok(wait_until(sub {
	my (undef, @copied) = $helped > 0 ? () : load_with(3);
	$helped += $_ foreach @copied;
	return $helped > 0;
}), 'workers copied some of the pages');
is(sql_value($node, q{SELECT count(*) FROM gpu.verify('big_k')}), 0, 'the index is sound');

# ---- faults -------------------------------------------------------------------------------------------------------------

my $load = "SET client_min_messages = error; SELECT gpu.evict('big_k') IS NOT NULL; SELECT gpu.load('big_k') > 0";

# The server process stops answering in the middle of some load. The timeout is too long to end that, so the test does.
change_setting($node, 'pg_gpu.request_timeout', '100s');
my $server = wait_for_server($node);
sub start_stuck_load
{
	my $run = start_sql($node, q{DO $$ BEGIN LOOP
		PERFORM set_config('application_name', 'victim evicts', false); PERFORM gpu.evict('big_k');
		PERFORM set_config('application_name', 'victim', false); PERFORM gpu.load('big_k'); END LOOP; END $$});
	my ($leader, $hangs);
	my $backend = q{FROM pg_stat_activity WHERE application_name LIKE 'victim%' AND backend_type = 'client backend'};
	wait_until(sub { $leader = sql_value($node, "SELECT pid $backend") });
	while (1)
	{
		wait_until(sub { sql_value($node, "SELECT application_name $backend") eq 'victim' });
		kill 'STOP', $server;
		$hangs = wait_until(sub { sql_value($node, "SELECT count(*) $backend AND wait_event_type = 'Extension'") });
		# Eviction goes on without a server process, so it must be a load.
		last if !$hangs || sql_value($node, "SELECT application_name $backend") eq 'victim';
		kill 'CONT', $server;
	}
	return ($run, $leader, $hangs);
}
sub no_workers { return sql_value($node, q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'}) == 0; }

foreach my $how ('cancel', 'terminate', 'kill')
{
	my ($run, $leader, $hangs) = start_stuck_load();
	ok($leader && $hangs, 'a load hangs');
	if ($how eq 'kill') { kill 'KILL', $server; }
	else { sql_value($node, "SELECT pg_${how}_backend($leader)"); }
	my $end = finish_sql($run);
	is($end->{code}, { cancel => '57014', terminate => '57P01', kill => '55000' }->{$how}, "a $how ends it");
	ok(wait_until(\&no_workers), 'and its workers');
	kill 'CONT', $server;
	$server = wait_for_server($node, $server) if $how eq 'kill';
}
ok(wait_until(sub { sql($node, $load)->{code} eq '' }), 'afterwards an index can be loaded');
is(sql_value($node, $answers), $right, 'and answers are right');

# Merges, VACUUM and REINDEX go on beside loads.
my $clients = start_sql($node, q{DO $$ BEGIN FOR r IN 1 .. 12 LOOP
	INSERT INTO big SELECT i, i FROM generate_series(1, 4000) AS i; DELETE FROM big WHERE k BETWEEN r * 100 AND r * 100 + 50;
	PERFORM gpu.merge('big_k'); COMMIT; END LOOP; END $$});
foreach my $round (1 .. rounds(6))
{
	my $end = sql($node, $load);
	ok($end->{code} eq '' || $end->{code} eq '55000', 'a load beside merges ends well or says why') or diag($end->{err});
}
is(finish_sql($clients)->{code}, '', 'merges beside loads');
is(sql_value($node, "$load; $answers") =~ s/^t\nt\n//r, sql_value($node, "SET pg_gpu.path = paged; $answers"), 'the answers after them');
check_path($node);
is(bad_log_lines($node), '', 'the log has nothing that PostgreSQL must not say');

$node->stop;
done_testing();
