# suite: check
# Connections to the server process are limited. A session that is idle gives its own back, with all that belongs to it,
# also within a transaction; and where sessions have taken all of them, the supervisor still gets through.

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

my $question = q{SELECT count(*) FROM gpu.lookup('t_k', ARRAY(SELECT g FROM generate_series(0, 3000) AS g))};
my $by_host = 'SET client_min_messages = error; SET pg_gpu.path = host;';

sub threads { my ($pid) = @_; my @tasks = glob("/proc/$pid/task/*"); return scalar @tasks; }
sub memory_files { my ($pid) = @_; return scalar grep { (readlink($_) // '') =~ /memfd/ } glob("/proc/$pid/fd/*"); }

# ---- idle in a transaction ------------------------------------------------------------------------------------------

my $node = new_node('connections', conf => "pg_gpu.request_timeout = 60s\npg_gpu.connection_idle_timeout = 1h\n", streaming => 1);
make_table($node, rows => 20_000, keys => 10_000);
my $right = sql_value($node, 'SELECT count(*) FROM t WHERE k BETWEEN 0 AND 3000');
cmp_ok(sql_value($node, "$by_host SELECT gpu.load('t_k')"), '>', 0, 'an index is loaded');
my $server = wait_for_server($node);
ok(wait_until(sub { sockets($server) == 2 && memory_files($server) == 0 }), 'nobody else is connected now');
my ($threads, $descriptors) = (threads($server), open_descriptors($server));

my $session = new_session($node);
$session->query_safe("$by_host BEGIN");
is($session->query_safe($question), $right, 'a session asks within a transaction');
my $backend = $session->query_safe('SELECT pg_backend_pid()');
ok(wait_until(sub { sockets($server) == 3 }), 'through a connection');
cmp_ok(memory_files($backend), '>', 0, 'and a buffer');

change_setting($node, 'pg_gpu.connection_idle_timeout', '100ms');
# A session reads the new time before one of its next commands, and it counts from the next transaction on.
ok(wait_until(sub { $session->query_safe('SHOW pg_gpu.connection_idle_timeout') eq '100ms' }), 'a session hears of another time');
is($session->query_safe("COMMIT; BEGIN; $question"), $right, 'it asks again');
ok(wait_until(sub { sockets($server) == 2 }), 'idle in its transaction, it gives the connection back');
ok(wait_until(sub { threads($server) <= $threads }), 'and the thread of the server process');
ok(wait_until(sub { open_descriptors($server) <= $descriptors }), 'and all of its descriptors');
ok(wait_until(sub { memory_files($backend) == 0 }), 'and the buffer');
is(sql_value($node, "SELECT state FROM pg_stat_activity WHERE pid = $backend"), 'idle in transaction', 'while its transaction goes on');
is($session->query_safe($question), $right, 'in which it can ask again');
is($session->query_safe("SAVEPOINT before; $question"), $right, 'also in a subtransaction');
like(query_error($session, 'SELECT 1 / 0'), qr/division by zero/, 'an error ends that');
is($session->query_safe("ROLLBACK TO before; SELECT 'back'"), 'back', 'but not the transaction');
ok(wait_until(sub { sockets($server) == 2 && memory_files($backend) == 0 }), 'idle after the error, it gives all back');
is($session->query_safe("COMMIT; $question"), $right, 'and afterwards');
ok(wait_until(sub { threads($server) <= $threads && memory_files($backend) == 0 }), 'idle without a transaction, it gives all back too');
like(query_error($session, "$question; SELECT 1 / 0"), qr/division by zero/, 'an error in a transaction that asked nothing');
ok(wait_until(sub { threads($server) <= $threads && memory_files($backend) == 0 }), 'keeps nothing of the one before');
$session->quit;
is(server_pid($node), $server, 'all with one server process');
$node->stop;

# ---- all connections are taken --------------------------------------------------------------------------------------

# This server process takes two connections beside the supervisor's.
$node->append_conf('postgresql.conf', "pg_gpu.connection_idle_timeout = 1h\npg_gpu.request_timeout = 2s\n");
{
	local $ENV{PG_GPU_SERVER} = server_with('--connections 3');
	$node->start;
}
my @sessions = map { new_session($node) } 1 .. 2;
foreach my $number (1 .. 2)
{
	my $one = $sessions[ $number - 1 ];
	$one->query_safe($by_host);
	# The first question starts the server process, and may be answered without it.
	ok(wait_until(sub { $one->query_safe($question) eq $right && sockets(server_pid($node)) == 2 + $number }), 'a session takes a connection');
}
$server = wait_for_server($node);
my $supervisor = supervisor_pid($node);
my $from = -s $node->logfile;
is(sql_value($node, "$by_host $question"), $right, 'another is answered');
ok(wait_for_log($node, qr/refused a connection of process \d+: there are 3 already/, $from), 'without one');
my $reason_of = sub { my ($request) = @_; return sql_value($node, "SELECT last_reason FROM gpu.stat WHERE path = 'host' AND request = '$request'"); };
is($reason_of->('lookup'), 'the server process has 3 connections already', 'which is the reason that is told');

# The supervisor gives its connection up when a heartbeat is not answered in time, and makes a new one.
sub socket_names { my ($pid) = @_; return join ' ', sort grep { /^socket/ } map { readlink($_) // '' } glob("/proc/$pid/fd/*"); }
my $before = socket_names($supervisor);
kill 'STOP', $server;
ok(wait_until(sub { socket_names($supervisor) ne $before }), 'the supervisor loses its connection');
kill 'CONT', $server;
# It hands limits on through its new connection.
$node->append_conf('postgresql.conf', "pg_gpu.host_memory_limit = 1MB\n");
$node->reload;
make_table($node, rows => 200_000, keys => 200_000, name => 'big');
ok(wait_until(sub { query_error($sessions[0], q{SELECT gpu.evict('big_k'), gpu.load('big_k')}) =~ /cannot load index "big_k"/ }),
	'and has another while all are taken');
is(server_pid($node), $server, 'so it does not take the server process for dead');
is($sessions[1]->query_safe($question), $right, 'which goes on answering');
$_->quit foreach @sessions;

is(bad_log_lines($node), '', 'nothing died');
$node->stop;

# ---- many connect at once -------------------------------------------------------------------------------------------

# Two connections wait to be accepted here, the others for a place among these. On a busy machine the last of the sessions
# begins minutes behind the first, which must still wait then.
$node->append_conf('postgresql.conf', "pg_gpu.request_timeout = 600s\npg_gpu.host_memory_limit = 100MB\nmax_connections = 240\n");
{
	local $ENV{PG_GPU_SERVER} = server_with('--backlog 1');
	$node->start;
}
cmp_ok(sql_value($node, "$by_host SELECT gpu.load('t_k', true)"), '>', 0, 'the index is loaded again');
$server = wait_for_server($node);
sql_value($node, 'SELECT gpu.stat_reset()');
kill 'STOP', $server;
my $count = 200;
my @many = map { start_sql($node, "$by_host $question") } 1 .. $count;
ok(wait_until(sub { sql_value($node, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'victim' AND wait_event_type = 'Extension'}) == $count }),
	'all sessions wait for a server process that stands still');
kill 'CONT', $server;
is(join(' ', map { $_->{out} =~ s/\s//gr } map { finish_sql($_) } @many), join(' ', ($right) x $count), 'all are answered');
is(sql_value($node, q{SELECT sum(requests) FROM gpu.stat WHERE path = 'host' AND request = 'lookup'}), $count, 'by the server process');
is(server_pid($node), $server, 'the same one');
$node->stop;

# ---- descriptors are short ------------------------------------------------------------------------------------------

# The system gives a session so many descriptors beside those that it has: a socket, what it waits with, a buffer.
$node->start;
ok(wait_until(sub { sql_value($node, "$by_host $question"); return server_pid($node) != 0 }), 'there is a server process');
foreach my $more (0 .. 2)
{
	my $short = new_session($node);
	my $of = $short->query_safe("$by_host SELECT count(*) FROM t; SELECT pg_backend_pid()") =~ s/.*\n//sr;
	# The numbers of open ones needn't follow each other; those below the limit count.
	my %open = map { m{/(\d+)$} ? ($1 => 1) : () } glob("/proc/$of/fd/*");
	my $limit = 0;
	for (my $free = 0; $free < $more || $open{$limit}; $limit++) { $free++ unless $open{$limit}; }
	system('prlimit', '--pid', $of, "--nofile=$limit:") == 0 or die 'prlimit';
	is($short->query_safe($question), $right, "a session that may open $more files is answered");
	like($reason_of->('lookup'), qr/open files/, 'and the reason is told');
	system('prlimit', '--pid', $of, '--nofile=1000:') == 0 or die 'prlimit';
	$short->quit;
}

# The server process takes as many connections as it has descriptors for.
$node->stop;
{
	local $ENV{PG_GPU_SERVER} = server_with('', 'ulimit -n 24');
	$node->start;
}
ok(wait_until(sub { sql_value($node, "$by_host $question"); return server_pid($node) != 0 }), 'there is one of few descriptors');
$server = server_pid($node);
my @more = map { my $one = new_session($node); $one->query_safe($by_host); $one } 1 .. 12;
is(join(' ', map { $_->query_safe($question) } @more), join(' ', ($right) x 12), 'sessions are answered where the server process has few descriptors');
like($reason_of->('lookup'), qr/^the server process has \d connections already$/, 'the others are told why');
is(server_pid($node), $server, 'it lives');
is(log_count($node, qr/could not accept a connection/), 0, 'and has none to refuse for want of descriptors');
$_->quit foreach @more;
$node->stop;
done_testing();
