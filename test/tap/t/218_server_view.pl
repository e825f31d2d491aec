# suite: check
# gpu.server: one row, whether there is a server process or not. Looking at it starts nothing, and it tells what the
# supervisor and the server process have met.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $by_host = 'SET client_min_messages = error; SET pg_gpu.path = host;';
my $question = q{SELECT count(*) FROM gpu.lookup('t_k', ARRAY(SELECT g FROM generate_series(0, 2000) AS g))};

# Columns of the view's only row, with | between them.
sub server_view
{
	my ($node, $columns) = @_;
	return $node->safe_psql('postgres', "SELECT $columns FROM gpu.server");
}

# ---- none ---------------------------------------------------------------------------------------------------------

my $node = new_node('view', streaming => 1, conf => "pg_gpu.path = paged\npg_gpu.mirror = manual\n");
make_table($node, rows => 20_000, keys => 10_000);
is(server_view($node, 'count(*), max(state), max(reason)'), '1|not started|the first request that needs it starts it', 'before it is needed');
is(server_view($node, 'num_nulls(pid, started, version, host, cuda, host_memory_limit, connections, loads, last_error)'), 9, 'the rest is NULL');
is(supervisor_pid($node), 0, 'and nothing was started');

# ---- one ----------------------------------------------------------------------------------------------------------

$node->safe_psql('postgres', "$by_host $question");
my $server = wait_for_server($node);
is(server_view($node, 'state, reason IS NULL, pid, restarts, last_error IS NULL, loads'), "running|t|$server|0|t|0", 'it runs');
is(server_view($node, q{host, started BETWEEN now() - interval '1 hour' AND clock_timestamp(), version = extversion FROM pg_extension, LATERAL (SELECT * FROM gpu.server) s WHERE extname = 'pg_gpu' --}),
	'ready|t|t', 'with the processors, since a while, in this version');
is(server_view($node, q{CASE cuda WHEN 'absent' THEN cuda_reason IS NOT NULL AND device_memory_limit IS NULL ELSE cuda_reason IS NULL END}),
	't', 'without a device it says why');
is(server_view($node, 'connections >= 1, queued, transfer_memory_used <= transfer_memory_limit'), 't|0|t', 'sessions are counted');
$node->safe_psql('postgres', q{SET pg_gpu.path = host; SELECT gpu.load('t_k')});
is(server_view($node, 'loads, evictions, refusals, host_memory_used > 200000'), '1|0|0|t', 'a mirror was loaded');

# A limit below the mirror lets it go, and a load is refused.
$node->append_conf('postgresql.conf', "pg_gpu.host_memory_limit = 1MB\n");
make_table($node, rows => 200_000, keys => 100_000, name => 'big');
$node->reload;
ok(wait_until(sub { server_view($node, 'host_memory_limit') == 1048576 }), 'a limit is told');
like(query_error($node, q{SET pg_gpu.path = host; SELECT gpu.load('big_k')}), qr/cannot load index "big_k"/, 'beyond which nothing is loaded');
cmp_ok(server_view($node, 'refusals'), '>=', 1, 'which is counted');

# ---- what went wrong ------------------------------------------------------------------------------------------------

kill 'KILL', $server;
my $second = wait_for_server($node, $server);
is(server_view($node, 'state, pid, restarts, loads'), "running|$second|1|0", 'another one counts anew');
is(server_view($node, 'last_error'), "server process $server ended: it stopped by itself, signal 9 (Killed)", 'and the end of the first is known');
is(server_view($node, q{last_error_at BETWEEN now() - interval '1 hour' AND started}), 't', 'when, too');
$node->safe_psql('postgres', 'CREATE ROLE stranger; CREATE ROLE watcher IN ROLE pg_read_all_stats');
is($node->safe_psql('postgres', 'SET ROLE stranger; SELECT state, restarts, last_error IS NULL, last_error_at IS NULL FROM gpu.server'), 'running|1|t|t',
	'everybody sees that it runs');
is($node->safe_psql('postgres', 'SET ROLE watcher; SELECT last_error IS NOT NULL FROM gpu.server'), 't', 'and who may see all sees errors');

# A stopped process: the view waits no longer than a request does.
change_setting($node, 'pg_gpu.request_timeout', '500ms');
kill 'STOP', $second;
my $third;
ok(wait_until(sub { server_view($node, 'state') ne 'running' }), 'one that hangs is told from one that runs');
ok($third = wait_for_server($node, $second), 'it is replaced');
ok(wait_until(sub { server_view($node, 'state') eq 'running' }), 'the view sees the third');
change_setting($node, 'pg_gpu.request_timeout', '1min');
like(server_view($node, 'last_error'), qr/process $second ended: no answer to heartbeats/, 'and why the second ended');

# ---- off, and unable to start ---------------------------------------------------------------------------------------

$node->append_conf('postgresql.conf', "pg_gpu.server = off\n");
$node->reload;
ok(wait_until(sub { server_pid($node) == 0 }), 'switched off');
is(server_view($node, 'state, reason, pid IS NULL, restarts'), 'off|pg_gpu.server is off|t|2', 'it is off');
{
	local $ENV{PG_GPU_SERVER} = $node->data_dir . '/no_such_program';
	$node->append_conf('postgresql.conf', "pg_gpu.server = auto\nshared_preload_libraries = 'pg_gpu'\n");
	my $from = -s $node->logfile;
	$node->restart;
	ok(wait_for_log($node, qr/pg_gpu has no server process/, $from), 'a program that is not there');
	is(server_view($node, 'state, pid IS NULL, restarts'), 'down|t|0', 'leaves it down; a restart of PostgreSQL counts anew');
	like(server_view($node, 'last_error'), qr/could not start .*no_such_program": No such file/, 'for a reason that is told');
}
$node->restart;
ok(wait_for_server($node), 'with the program');
ok(wait_until(sub { server_view($node, 'state') eq 'running' }), 'it runs, started by a preloaded library');

# ---- a standby ------------------------------------------------------------------------------------------------------

$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('view_standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
ok(wait_for_server($standby), 'a standby has one of its own');
is(server_view($standby, 'pid = ' . server_pid($standby)), 't', 'which its view shows');
$standby->stop;

is(join("\n", grep { !/server process/ } split /\n/, bad_log_lines($node)), '', 'nothing died');
$node->stop;
done_testing();
