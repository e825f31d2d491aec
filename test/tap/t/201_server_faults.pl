# Whatever happens to the server process while eight sessions work with it, every statement gives the right answer, and
# PostgreSQL doesn't restart because of it.

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
use Time::HiRes qw(time usleep);

fault_seed();

my $seconds = rounds(3, 60);

my $node = new_node('faults', conf => "pg_gpu.request_timeout = 300ms\nmax_worker_processes = 16\n");
make_table($node, rows => 30_000, with => 'WITH (fanout = 4)');
make_table($node, rows => 2_000, name => 'narrow', type => 'int4', with => 'WITH (fanout = 2)');

my %mix = (insert => 4, insert_one => 4, abort => 1, savepoint => 2, delete => 3, update => 3, vacuum => 2, merge => 1,
	check => 6);

my %load = (
	start => sub { map { start_clients($node, workload($_, %mix), clients => 4, seconds => $seconds, options => HOST) } ('t', 'narrow') },
	seconds => $seconds,
	loaded => 't_k',
	check => sub {
		my ($name) = @_;
		check_sound($node, "$name: gpu.verify finds nothing in ${_}_k", "${_}_k") foreach ('t', 'narrow');
		check_answers($node, $_, $name) foreach ('t', 'narrow');
	});
my $reloads = 0;

under_load($node, 'nothing', \%load, sub { });
under_load($node, 'killed', \%load, sub { my $pid = server_pid($node); kill 'KILL', $pid if $pid; });
under_load($node, 'stopped', \%load, sub { my $pid = server_pid($node); kill 'STOP', $pid if $pid; });
under_load($node, 'stopped for a moment', \%load, sub {
	my $pid = server_pid($node);
	if ($pid) { kill 'STOP', $pid; usleep(100_000); kill 'CONT', $pid; }
});
under_load($node, 'socket removed', \%load, sub { unlink $node->data_dir . '/' . SOCKET; });
under_load($node, 'supervisor terminated', \%load, sub { my $pid = supervisor_pid($node); kill 'TERM', $pid if $pid; });
under_load($node, 'little memory', \%load, sub { set_host_limit($node, $reloads++ % 2 ? '1MB' : 0) },
	settle => sub { set_host_limit($node, 0) });
under_load($node, 'evictions', \%load, sub { sql($node, "SELECT gpu.evict('t_k'), gpu.evict('narrow_k')") });

# Sessions that end in the middle of a request: terminated ones, cancelled ones.
sub end_a_client
{
	my ($function) = @_;
	sql($node, "SELECT $function(pid) FROM pg_stat_activity WHERE application_name = 'clients' AND state = 'active'
		ORDER BY random() LIMIT 1");
	return;
}
under_load($node, 'cancelled', \%load, sub { end_a_client('pg_cancel_backend') }, errors => [qr/canceling statement due to user request/, qr/canceling autovacuum/]);
my @short;
under_load($node, 'terminated', \%load, sub {
	push @short, start_clients($node, workload('t', check => 1), clients => 2, seconds => 2, options => HOST);
	usleep(random_int(20_000, 200_000));
	end_a_client('pg_terminate_backend');
}, errors => [qr/terminating connection/, qr/connection to server was lost/, qr/server closed the connection/]);
finish_clients($_) foreach @short;

# A backend killed while it uses the server process restarts PostgreSQL, as ever, and nothing else comes of it.
$node->append_conf('postgresql.conf', "restart_after_crash = on\n");
$node->restart;
sql_value($node, "SET pg_gpu.path = host; SELECT gpu.load('t_k')");
foreach my $round (1 .. rounds(2))
{
	my $run = start_clients($node, workload('t', %mix), clients => 4, options => HOST);
	usleep(random_int(300_000, 900_000));
	my $pid = sql_value($node, q{SELECT coalesce((SELECT pid FROM pg_stat_activity
		WHERE application_name = 'clients' AND state = 'active' LIMIT 1), 0)});
	my $server = server_pid($node);
	crash_backend($node, $pid) if $pid;
	finish_clients($run);
	is(client_errors([$run]), '', "crash $round: no statement was answered wrongly before");
	ok(!$pid || wait_gone($server), "crash $round: the server process ended with PostgreSQL");
	check_sound($node, "crash $round: gpu.verify finds nothing", 't_k');
	local $ENV{PGOPTIONS} = HOST;
	check_answers($node, 't', "crash $round, from mirrors");
}

check_usable($node, 't', 'at the end');
$node->stop;
done_testing();
