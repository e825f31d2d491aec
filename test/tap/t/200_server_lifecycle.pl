# suite: check
# The supervisor and the server process: starting with PostgreSQL and on first use, restarting with back-off, ending
# with PostgreSQL in every way it can end, and everything that can keep a server process from being there. What a
# statement answers never depends on it.

use strict;
use warnings FATAL => 'all';

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $by_host = "SET client_min_messages = error; SET pg_gpu.path = host;";
my $question = q{SELECT count(*) FROM gpu.lookup('t_k', ARRAY(SELECT g FROM generate_series(0, 2000) AS g))};

sub right_answer
{
	my ($node) = @_;
	return sql_value($node, 'SELECT count(*) FROM t WHERE k BETWEEN 0 AND 2000');
}

sub answers_right
{
	my ($node, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(sql_value($node, "$by_host $question"), right_answer($node), "$name: the answer is right");
}

# ---- on first use -------------------------------------------------------------------------------------------------

my $node = new_node('lifecycle', conf => "pg_gpu.path = paged\n");
make_table($node, rows => 20_000, keys => 10_000);
is(supervisor_pid($node), 0, 'nothing is started before it is needed');
answers_right($node, 'on first use');
my $server = wait_for_server($node);
ok($server, 'a server process runs');
answers_right($node, 'with it');
cmp_ok(answers_by($node, $question, path => 'host'), '>', 0, 'which answers');
is(answers_by($node, $question, path => 'paged'), 0, 'unless it is not asked');
is(log_count($node, qr/LOG:  pg_gpu server process $server started/), 1, 'its start is one line of the log');

# Only its owner may use the socket.
my $socket = $node->data_dir . '/' . SOCKET;
is((stat $socket)[2] & 077, 0, 'the socket is for its owner alone');

# ---- killed, stopped, bereft of its socket --------------------------------------------------------------------------

my $from = -s $node->logfile;
kill 'KILL', $server;
my $second = wait_for_server($node, $server);
ok($second && $second != $server, 'a killed server process is replaced');
is(log_count($node, qr/pg_gpu server process $server ended: it stopped by itself, signal 9/, $from), 1, 'the log tells why');
answers_right($node, 'with the second');

$from = -s $node->logfile;
change_setting($node, 'pg_gpu.request_timeout', '500ms');
kill 'STOP', $second;
answers_right($node, 'with a stopped one');
my $third = wait_for_server($node, $second);
ok($third, 'a stopped server process is replaced');
change_setting($node, 'pg_gpu.request_timeout', '1min');
is(log_count($node, qr/pg_gpu server process $second ended: no answer to heartbeats, signal 9/, $from),
	1, 'the log tells that it was stopped');
answers_right($node, 'with the third');

$from = -s $node->logfile;
unlink $socket or die "no socket: $!";
answers_right($node, 'without a socket');
my $fourth = wait_for_server($node, $third);
ok($fourth && -S $socket, 'a server process whose socket was removed is replaced');
is(log_count($node, qr/process $third ended: its socket was removed/, $from), 1, 'the log tells about the socket');

# Each start after a short life comes later than the one before.
$from = -s $node->logfile;
my $pid = $fourth;
foreach (1 .. 3)
{
	kill 'KILL', $pid;
	$pid = wait_for_server($node, $pid);
}
my @delays = read_log($node, $from) =~ /it is restarted in (\d+) ms/g;
is(scalar @delays, 3, 'three restarts');
cmp_ok($delays[1], '>', $delays[0], 'the second waited for longer than the first');
cmp_ok($delays[2], '>', $delays[1], 'and the third for longer than that');

# ---- settings -------------------------------------------------------------------------------------------------------

$from = -s $node->logfile;
$node->append_conf('postgresql.conf', "pg_gpu.host_memory_limit = 4MB\n");
$node->reload;
my $refusal = '';
ok(wait_until(sub { $refusal = query_error($node, q{SET pg_gpu.path = host; SELECT gpu.load('big_k')}); $refusal =~ /cannot load|does not exist/ }),
	'a session sees the server');
make_table($node, rows => 600_000, keys => 600_000, name => 'big');
ok(wait_until(sub { query_error($node, q{SET pg_gpu.path = host; SELECT gpu.evict('big_k'), gpu.load('big_k')}) =~ /cannot load index "big_k".*Of the index.s \d+ kB, \d+ kB are not loaded\.\nHINT:  Raise/s }),
	'a new memory limit is handed on by a reload');
is($pid, server_pid($node), 'without a restart');
is(sql_value($node, "$by_host SELECT count(*) FROM gpu.lookup('big_k', ARRAY[1, 2, 3])"),
	sql_value($node, 'SELECT count(*) FROM big WHERE k IN (1, 2, 3)'), 'an index beyond the limit is answered from pages');
$node->append_conf('postgresql.conf', "pg_gpu.host_memory_limit = 0\npg_gpu.server_threads = 2\n");
$node->reload;
ok($pid = wait_for_server($node, $pid), 'other threads need a restart');
is(log_count($node, qr/ended: pg_gpu.server_threads was changed/, $from), 1, 'which the log explains');
cmp_ok(sql_value($node, q{SET pg_gpu.path = host; SELECT gpu.load('big_k')}), '>', 600_000 * 10, 'and then there is room');

# ---- the supervisor is ended ----------------------------------------------------------------------------------------

$from = -s $node->logfile;
my $supervisor = supervisor_pid($node);
kill 'TERM', $supervisor;
ok(wait_gone($supervisor, $pid), 'a supervisor that is terminated ends, and the server process with it');
is(log_count($node, qr/pg_gpu server process $pid stopped with its supervisor/, $from), 1, 'and says so');
answers_right($node, 'without a supervisor');
ok($pid = wait_for_server($node, $pid), 'the next request starts another');
isnt(supervisor_pid($node), $supervisor, 'under a new supervisor');

# Of two supervisors the lock lets only one live.
$node->safe_psql('postgres', 'SELECT 1');
my @asking = map { start_sql($node, "$by_host $question") } (1 .. 8);
kill 'TERM', supervisor_pid($node);
my @more = map { start_sql($node, "$by_host $question") } (1 .. 8);
is(join('', map { finish_sql($_)->{code} } (@asking, @more)), '', 'sessions that all start one get their answers');
ok(wait_for_server($node, $pid), 'and there is one');
is(scalar(grep { $_ ne '' } map { -S $_ ? $_ : '' } glob($node->data_dir . '/pgsql_tmp.pg_gpu.socket*')), 1, 'one socket');

# ---- PostgreSQL ends ------------------------------------------------------------------------------------------------

foreach my $mode ('fast', 'immediate', 'smart')
{
	$pid = wait_for_server($node);
	answers_right($node, "before a $mode shutdown");
	$supervisor = supervisor_pid($node);
	$node->stop($mode);
	ok(wait_gone($pid, $supervisor), "$mode shutdown: the server process ends with PostgreSQL");
	$node->start;
	answers_right($node, "after a $mode shutdown");
}

# A backend that crashes ends the supervisor, too, and mirrors end with it.
$node->append_conf('postgresql.conf', "restart_after_crash = on\n");
$node->restart;
sql_value($node, q{SET pg_gpu.path = host; SELECT gpu.load('t_k')});
$pid = wait_for_server($node);
cmp_ok(mirrors($node), '>', 0, 'there are mirrors');
my $victim = start_sql($node, 'SELECT pg_sleep(100)');
my $backend;
wait_until(sub { $backend = sql_value($node, q{SELECT pid FROM pg_stat_activity WHERE application_name = 'victim'}) });
crash_backend($node, $backend);
finish_sql($victim);
ok(wait_gone($pid), 'the server process ends when PostgreSQL restarts after a crash');
answers_right($node, 'after the crash');
my $after = wait_for_server($node, $pid);
ok($after, 'another one is there');

crash_cluster($node);
ok(wait_gone($after), 'it does not outlive PostgreSQL killed with signal 9');
$node->start;
answers_right($node, 'after that');

# ---- preloaded ------------------------------------------------------------------------------------------------------

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_gpu'\n");
$node->restart;
ok(wait_for_server($node), 'preloaded, it starts with PostgreSQL');
answers_right($node, 'preloaded');
is(join("\n", grep { !/\(PID $backend\) was terminated by signal 9/ } split /\n/, bad_log_lines($node)), '', 'nothing else died');
$node->stop;

# ---- nothing to start -----------------------------------------------------------------------------------------------

# A request waits so long for a server process that doesn't come.
$node->append_conf('postgresql.conf', "pg_gpu.request_timeout = 500ms\n");
{
	my $program = $node->data_dir . '/no_such_program';
	local $ENV{PG_GPU_SERVER} = $program;
	$from = -s $node->logfile;
	$node->start;
	ok(wait_for_log($node, qr/pg_gpu has no server process: could not start .*no_such_program/, $from), 'a missing executable is told');
	answers_right($node, 'no executable');
	answers_right($node, 'no executable, again');
	is(sql_value($node, q{SELECT count(*) FROM gpu.mirrors}), 0, 'gpu.mirrors is empty');
	like(query_error($node, q{SET pg_gpu.path = host; SELECT gpu.load('t_k')}), qr/cannot load index "t_k".*no server process/s,
		'gpu.load says what is missing');
	is(query_error($node, q{SELECT gpu.evict('t_k')}), '', 'gpu.evict has nothing to do');
	symlink(server_with(''), $program) or die "$program: $!";
	ok(wait_for_server($node), 'it is tried again, and there is one');
	is(log_count($node, qr/pg_gpu has no server process/, $from), 1, 'that there was none was told once');
	$node->stop;
}

# One that takes long to start is given the time.
{
	my $program = $node->data_dir . '/slow_program';
	append_to_file($program, "#!/bin/sh\nsleep 3\nexec '" . server_with('') . "' \"\$@\"\n");
	chmod 0755, $program or die "$program: $!";
	local $ENV{PG_GPU_SERVER} = $program;
	$from = -s $node->logfile;
	$node->start;
	ok(wait_until(sub { sql_value($node, 'SELECT host FROM gpu.server') eq 'ready' }), 'a process that starts slowly is there in the end');
	is(log_count($node, qr/pg_gpu server process \d+ ended/, $from), 0, 'and was not ended before');
	$node->stop;
}

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', undef);
$node->append_conf('postgresql.conf', "max_worker_processes = 0\n");
$node->start;
$from = -s $node->logfile;
answers_right($node, 'no free worker slot');
cmp_ok(log_count($node, qr/no free slot for its background worker/, $from), '>=', 1, 'which the log tells');
is(supervisor_pid($node), 0, 'and there is none');
$node->stop;

done_testing();
