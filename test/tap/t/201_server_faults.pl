# suite: check
# Whatever happens to the server process while sessions work with it, every statement gives the right answer, and PostgreSQL
# doesn't restart because of it: for each access method.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use List::Util qw(shuffle);
use PgGpuTest;
use PgGpuTest::Faults;
use PgGpuTest::Method;
use PgGpuTest::Server;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

fault_seed();

# A short run disturbs in all ways within one round, a long one in each way by itself.
my $each = test_rounds() > 1;
my $seconds = few_or_many(1, rounds(2, 60));
my $reloads = 0;

# What is done to the server process, by name. It may be stopped, since it shares no lock with PostgreSQL, and nobody
# may be held up by that beyond pg_gpu.request_timeout.
my %disturbances = (
	killed => sub { my ($node) = @_; my $pid = server_pid($node); kill 'KILL', $pid if $pid; },
	stopped => sub { my ($node) = @_; my $pid = server_pid($node); kill 'STOP', $pid if $pid; },
	'stopped for a moment' => sub {
		my ($node) = @_;
		my $pid = server_pid($node);
		if ($pid) { kill 'STOP', $pid; usleep(100_000); kill 'CONT', $pid; }
	},
	'little memory' => sub { set_host_limit($_[0], $reloads++ % 2 ? '1MB' : 0) },
	evictions => sub { my ($node, $method) = @_; sql($node, 'SELECT ' . join ', ', map { "gpu.evict('$_')" } $method->indexes) },);
# Disturbances that have nothing to do with an access method are tried on one.
my %of_kary = (
	nothing => sub { },
	'socket removed' => sub { unlink $_[0]->data_dir . '/' . SOCKET; },
	'supervisor terminated' => sub { my $pid = supervisor_pid($_[0]); kill 'TERM', $pid if $pid; },);

# Ends sessions in the middle of a request, some by termination and some by a cancel.
sub end_a_client
{
	my ($node, $function) = @_;
	sql($node, "SELECT $function(pid) FROM pg_stat_activity WHERE application_name = 'clients' AND state = 'active'
		ORDER BY random() LIMIT 1");
	return;
}

sub try_method
{
	my ($method) = @_;
	my $name = $method->name;
	my $is_kary = $name eq 'gpu_kary';
	my $node = new_node($name, conf => "pg_gpu.request_timeout = 300ms\nmax_worker_processes = 16\npg_gpu.server_threads = 8\n");
	$method->make($node);
	my $scripts = [ @{ $method->writes }, $method->check(0, 12) ];
	my ($loaded) = $method->indexes;
	my %load = (
		start => sub { start_clients($node, $scripts, clients => 6, seconds => $_[0], options => HOST) },
		seconds => $seconds,
		loaded => $loaded,
		check => sub { $method->answers_right($node, $_[0], options => HOST) });
	my %all = (%disturbances, $is_kary ? %of_kary : ());
	my @settle = (settle => sub { set_host_limit($node, 0) });
	if ($each)
	{
		under_load($node, "$name, $_", \%load, sub { $all{$_}->($node, $method) }, @settle) foreach sort keys %all;
	}
	else
	{
		# Each disturbance comes at least once, in a random order.
		my @next;
		under_load($node, "$name, disturbed", \%load, sub {
			@next = shuffle(sort keys %all) unless @next;
			$all{ shift @next }->($node, $method);
		}, @settle, times => scalar keys %all, seconds => $is_kary ? $seconds : 1);
	}
	under_load($node, "$name, cancelled", \%load, sub { end_a_client($node, 'pg_cancel_backend') },
		errors => [ qr/canceling statement due to user request/, qr/canceling autovacuum/ ], seconds => few_or_many(1, $seconds));

	# Nothing of what the clients loaded is left in the making, and what is loaded answers. From here on no answer is given up because
	# the machine is busy.
	change_setting($node, 'pg_gpu.request_timeout', '1min');
	is(sql_value($node, 'SET pg_gpu.path = host; SELECT ' . join ' AND ', map { "gpu.load('$_') IS NOT NULL" } $method->indexes), 't',
		"$name: the indexes load");
	my $request = $method->request;
	sql_value($node, 'SELECT gpu.stat_reset()');
	is(sql_value($node, "SET pg_gpu.path = host; SELECT @{[$method->count]} > 0"), 't', "$name: an answer");
	cmp_ok(sql_value($node, "SELECT requests FROM gpu.stat WHERE path = 'host' AND request = '$request'"), '>', 0,
		"$name: which the host engine gave");
	end_backends($node, $method, \%load) if $is_kary;
	$node->stop;
	return;
}

# Ends sessions by termination or by signal 9.
sub end_backends
{
	my ($node, $method, $load) = @_;
	my @short;
	under_load($node, 'terminated', $load, sub {
		push @short, start_clients($node, [ $method->check(0, 1) ], clients => 2, seconds => 2, options => HOST);
		usleep(random_int(20_000, 200_000));
		end_a_client($node, 'pg_terminate_backend');
	}, errors => [ qr/terminating connection/, qr/connection to server was lost/, qr/server closed the connection/ ],
		seconds => few_or_many(1, $seconds));
	finish_clients($_) foreach @short;

	# A backend that is killed while it uses the server process restarts PostgreSQL, as any other does, and nothing else
	# comes of it.
	$node->append_conf('postgresql.conf', "restart_after_crash = on\n");
	$node->restart;
	sql_value($node, "SET pg_gpu.path = host; SELECT gpu.load('t_k')");
	foreach my $round (1 .. rounds(1))
	{
		my $before = next_transaction($node);
		my $run = start_clients($node, [ @{ $method->writes }, $method->check(0, 12) ], clients => 4, options => HOST);
		wait_until(sub { next_transaction($node) > $before + 10 }) or die 'the clients do not begin';
		usleep(random_int(100_000, 500_000));
		my $pid = sql_value($node, q{SELECT coalesce((SELECT pid FROM pg_stat_activity
			WHERE application_name = 'clients' AND state = 'active' LIMIT 1), 0)});
		my $server = server_pid($node);
		crash_backend($node, $pid) if $pid;
		finish_clients($run);
		is(client_errors([$run]), '', "crash $round: no statement was answered wrongly before");
		ok(!$pid || wait_gone($server), "crash $round: the server process ended with PostgreSQL");
		$method->answers_right($node, "crash $round, from mirrors", options => HOST);
	}
	check_usable($node, $_, 'at the end') foreach ('t', 'narrow');
	return;
}

try_method($_) foreach methods();
done_testing();
