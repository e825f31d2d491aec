# gpu_grid: whatever happens to the server process while sessions load points and ask for boxes, every statement gives the
# right answer, and PostgreSQL doesn't restart because of it.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest::Method::Grid;
use PgGpuTest::Server;
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

fault_seed();

my $seconds = rounds(3, 60);

my $node = new_node('faults', conf => "pg_gpu.request_timeout = 300ms\nmax_worker_processes = 16\n");
make_grid($node);

my $scripts = [ @{ grid_writes() }, grid_check(0, 12) ];
my %load = (
	start => sub { start_clients($node, $scripts, clients => 6, seconds => $seconds, options => HOST) },
	seconds => $seconds,
	loaded => 'grid_kl',
	check => sub { check_grid_answers($node, $_[0], options => HOST) });
my $reloads = 0;

under_load($node, 'killed', \%load, sub { my $pid = server_pid($node); kill 'KILL', $pid if $pid; });
under_load($node, 'stopped', \%load, sub { my $pid = server_pid($node); kill 'STOP', $pid if $pid; });
under_load($node, 'little memory', \%load, sub { set_host_limit($node, $reloads++ % 2 ? '1MB' : 0) },
	settle => sub { set_host_limit($node, 0) });
under_load($node, 'evictions', \%load, sub { sql($node, "SELECT gpu.evict('grid_kl'), gpu.evict('grid_p')") });
under_load($node, 'cancelled', \%load, sub {
	sql($node, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'clients' AND state = 'active'
		ORDER BY random() LIMIT 1");
}, errors => [qr/canceling statement due to user request/, qr/canceling autovacuum/]);

# Nothing of what the clients loaded is left in the making, and what is there answers.
is(sql_value($node, "SET pg_gpu.path = host; SELECT gpu.load('grid_kl') IS NOT NULL AND gpu.load('grid_p') IS NOT NULL"), 't', 'both load');
my $asked = "SELECT requests FROM gpu.stat WHERE path = 'host' AND request = 'count boxes'";
sql_value($node, 'SELECT gpu.stat_reset()');
is(sql_value($node, "SET pg_gpu.path = host; SELECT gpu.count('grid_kl', row(0, 0), row(5000, 50)) > 0"), 't', 'a count');
cmp_ok(sql_value($node, $asked), '>', 0, 'which the host engine answered');
$node->stop;
done_testing();
