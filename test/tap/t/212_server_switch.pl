# suite: check
# pg_gpu.server: off keeps the server process away, auto brings it back, each by a reload. A session that only looks at
# the server process doesn't start it.

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

my $question = q{SELECT count(*) FROM gpu.lookup('t_k', ARRAY(SELECT g FROM generate_series(0, 2000) AS g))};
my $by_host = 'SET client_min_messages = error; SET pg_gpu.path = host;';

# ---- looking starts nothing -----------------------------------------------------------------------------------------

my $node = new_node('switch', conf => "pg_gpu.request_timeout = 60s\n");
make_table($node, rows => 20_000, keys => 10_000);
my $right = sql_value($node, 'SELECT count(*) FROM t WHERE k BETWEEN 0 AND 2000');
foreach my $look ('SELECT count(*) FROM gpu.devices()', 'SELECT count(*) FROM gpu.mirrors', q{SELECT count(*) FROM gpu.stat WHERE path = 'host'},
	'SELECT count(gpu.stat_reset()) - 1', q{SELECT gpu.evict('t_k')}, 'SELECT gpu.evict_all()')
{
	is(sql_value($node, "$by_host $look"), 0, "$look: there is nothing");
	# A worker that was asked for starts at once.
	is(sql_value($node, 'SELECT count(*) FROM pg_sleep(0.2) WHERE false') + supervisor_pid($node), 0, "$look: and nothing is started");
}
is(sql_value($node, "$by_host $question"), $right, 'a request is answered');
my $server = wait_for_server($node);
ok($server, 'and starts a server process');
sql_value($node, q{SELECT gpu.load('t_k')});
is(mirrors($node), 1, 'which takes an index');

# ---- off and on -----------------------------------------------------------------------------------------------------

my $session = new_session($node);
$session->query_safe($by_host);
is($session->query_safe($question), $right, 'a session asks the server process');
my $from = -s $node->logfile;
$node->append_conf('postgresql.conf', "pg_gpu.server = off\n");
$node->reload;
ok(wait_until(sub { server_pid($node) == 0 }), 'switched off, it ends');
ok(wait_for_log($node, qr/LOG:  pg_gpu server process $server stopped because pg_gpu.server is off/, $from), 'which the log tells');
is($session->query_safe($question), $right, 'the session is answered without it');
is(sql_value($node, "$by_host $question"), $right, 'so is another');
like(query_error($node, q{SELECT gpu.load('t_k')}), qr/cannot load index "t_k".*DETAIL:  The reason is: pg_gpu.server is off/s, 'gpu.load says why it cannot');
is(sql_value($node, "SELECT gpu.evict('t_k')"), 0, 'gpu.evict finds nothing to do');
is(mirrors($node), 0, 'nothing is resident');
is(server_pid($node), 0, 'and it stays away');

$node->append_conf('postgresql.conf', "pg_gpu.server = auto\n");
$node->reload;
ok(wait_for_server($node, $server), 'switched on, it starts');
is($session->query_safe($question), $right, 'the session is answered');
cmp_ok(answers_by($node, $question, path => 'host'), '>', 0, 'by the server process again');
$session->quit;

# ---- from the start -------------------------------------------------------------------------------------------------

$from = -s $node->logfile;
$node->append_conf('postgresql.conf', "pg_gpu.server = off\nshared_preload_libraries = 'pg_gpu'\n");
$node->restart;
is(sql_value($node, "$by_host $question"), $right, 'a PostgreSQL that starts without it answers');
is(server_pid($node), 0, 'by itself');
is(log_count($node, qr/pg_gpu server process \d+ started/, $from), 0, 'and has started none');
$node->append_conf('postgresql.conf', "pg_gpu.server = auto\n");
$node->reload;
ok(wait_for_server($node), 'until it is switched on');

is(bad_log_lines($node), '', 'nothing died');
$node->stop;
done_testing();
