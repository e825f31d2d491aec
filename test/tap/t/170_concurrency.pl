# suite: check
# Each access method under many sessions at once, beside a standby that compares every replayed page with the primary's:
# writers, VACUUM, merges, and readers whose answers are compared with a sequential scan's under the same snapshot.
# Then the primary is killed, recovers and goes on. PG_GPU_TEST_SECONDS sets how long.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PgGpuTest::Method;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

fault_seed();

my $seconds = $ENV{PG_GPU_TEST_SECONDS} || few_or_many(1, rounds(2, 120));

sub try_method
{
	my ($method) = @_;
	my $name = $method->name;
	note $name;
	my $primary = new_node("${name}_primary", streaming => 1, conf => q{
wal_consistency_checking = 'all'
max_wal_size = 8GB
max_worker_processes = 12
synchronous_commit = off
autovacuum = on
autovacuum_naptime = 1s
autovacuum_vacuum_scale_factor = 0.01
autovacuum_vacuum_threshold = 50
autovacuum_vacuum_insert_threshold = 500
autovacuum_vacuum_cost_delay = 0
});
	$primary->backup('base');
	my $standby = PostgreSQL::Test::Cluster->new("${name}_standby");
	$standby->init_from_backup($primary, 'base', has_streaming => 1);
	$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\n");
	$standby->start;

	$method->make($primary);
	my @checks = ($method->check(0, 2), $method->check(0.1, 1), $method->verify(1));

	my ($writers, $readers, $far_readers);
	# On a busy machine clients may not finish one transaction in that time. Then they are given more.
	for (my $time = $seconds; $time <= $seconds * 64; $time *= 4)
	{
		$writers = start_clients($primary, $method->writes, clients => 4, seconds => $time);
		$readers = start_clients($primary, \@checks, clients => 2, seconds => $time);
		wait_for_standby($primary, $standby);
		$far_readers = start_clients($standby, \@checks, clients => 1, seconds => $time);
		finish_clients($_) foreach ($writers, $readers, $far_readers);
		my @runs = ($writers, $readers, $far_readers);
		last if client_errors(\@runs) ne '' || !grep { client_transactions([$_]) == 0 } @runs;
	}
	is(client_errors([$writers]), '', "$name: no errors among the writers");
	is(client_errors([$readers]), '', "$name: no wrong answers on the primary");
	is(client_errors([$far_readers]), '', "$name: no wrong answers on the standby");
	cmp_ok(client_transactions([$writers]), '>', 0, "$name: there was work going on");
	cmp_ok(client_transactions([$_]), '>', 0, "$name: questions were answered") foreach ($readers, $far_readers);

	check_path($_) foreach ($primary, $standby);

	# Replay stops for good at a page that differs.
	wait_for_standby($primary, $standby);
	is(bad_log_lines($standby, qr/inconsistent page/), '', "$name: replayed pages equal the primary's");
	my $bad = qr/deadlock|pg_gpu merge.*exited with exit code [^0]/;
	is(bad_log_lines($primary, $bad), '', "$name: no deadlock and no death in the log") or diag(bad_log_context($primary, $bad));
	$method->answers_right($primary, "$name, primary");
	$method->answers_right($standby, "$name, standby");

	my $before = next_transaction($primary);
	my $last = start_clients($primary, $method->writes, clients => 4);
	# On a busy machine clients take longer to begin than they are given below.
	wait_until(sub { next_transaction($primary) > $before + 20 }) or die "$name: the clients do not begin";
	usleep(random_int(200_000, 800_000));
	crash_cluster($primary);
	finish_clients($last);
	start_again($primary, "$name, after the crash");
	$method->answers_right($primary, "$name, after the crash");
	$standby->promote;
	$method->answers_right($standby, "$name, promoted");
	$writers = start_clients($standby, $method->writes, clients => 2, seconds => 1);
	finish_clients($writers);
	is(client_errors([$writers]), '', "$name: writes go on after the promotion");
	cmp_ok(client_transactions([$writers]), '>', 0, "$name: and get through");
	$method->answers_right($standby, "$name, after more writes");

	$standby->stop;
	$primary->stop;
	return;
}

# gpu_kary isn't among these, because 110_standby.pl tests its standbys.
try_method($_) foreach methods('grid', 'column', 'text');
done_testing();
