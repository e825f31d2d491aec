# suite: check
# A session and its connection to the server process: cancels and timeouts act at once, also against a process that does
# not answer; ends of (sub)transactions leave nothing behind; descriptors and memory stay the same; databases, users.

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

# The timeout is so long that a request to a stopped process ends only by what the test does.
my $node = new_node('sessions', conf => "pg_gpu.request_timeout = 100s\n", streaming => 1);
make_table($node, rows => 20_000, keys => 10_000);
my $server = do { sql_value($node, "SET pg_gpu.path = host; SELECT gpu.load('t_k')"); wait_for_server($node) };
my $by_host = 'SET client_min_messages = error; SET pg_gpu.path = host;';
my $question = q{SELECT count(*) FROM gpu.lookup('t_k', ARRAY(SELECT g FROM generate_series(0, 3000) AS g))};
my $right = sql_value($node, 'SELECT count(*) FROM t WHERE k BETWEEN 0 AND 3000');

sub pid_of_victim
{
	my $pid;
	wait_until(sub { $pid = sql_value($node, q{SELECT pid FROM pg_stat_activity
		WHERE application_name = 'victim' AND wait_event_type = 'Extension'}) });
	return $pid;
}

# ---- a server process that doesn't answer -----------------------------------------------------------------------------

kill 'STOP', $server;
my $waiting = start_sql($node, "$by_host $question");
my $pid = pid_of_victim();
ok($pid, 'a session waits for a stopped process');
sql_value($node, "SELECT pg_cancel_backend($pid)");
my $end = finish_sql($waiting);
is($end->{code}, '57014', 'a cancel ends the wait');
is(sql($node, "$by_host SET statement_timeout = '200ms'; $question")->{code}, '57014', 'so does statement_timeout');
$waiting = start_sql($node, "$by_host $question");
$pid = pid_of_victim();
sql_value($node, "SELECT pg_terminate_backend($pid)");
is(finish_sql($waiting)->{code}, '57P01', 'so does the end of the session');
my $caught = $question =~ s/^SELECT/PERFORM/r;
is(sql($node, qq{$by_host
SET statement_timeout = '2s';
DO \$\$ BEGIN $caught; EXCEPTION WHEN query_canceled THEN NULL; END \$\$;
RESET statement_timeout;
SET pg_gpu.path = paged;
$question})->{out}, $right, 'a cancel caught in a subtransaction leaves the session usable');
kill 'CONT', $server;
is(sql($node, "$by_host $question")->{out}, $right, 'and when it goes on, it answers');
is(server_pid($node), $server, 'the same process: nobody waited for pg_gpu.request_timeout, which would have ended it');

# ---- the connection is kept, and given up after an error ---------------------------------------------------------------

# The process sees a little later that sessions have ended, and what they had open there would be counted.
ok(wait_until(sub { sockets($server) == 2 }), 'nobody is connected');
my $session = new_session($node);
$session->query_safe('SET pg_gpu.path = host');
is($session->query_safe($question), $right, 'a session asks');
my $backend = $session->query_safe('SELECT pg_backend_pid()');
my $descriptors = open_descriptors($backend);
my $server_descriptors = open_descriptors($server);
foreach my $round (1 .. 20)
{
	$session->query_safe("BEGIN; SAVEPOINT s; $question;");
	query_error($session, "SELECT gpu.count('t_k', ARRAY[1], ARRAY['x'::text])");
	is($session->query_safe("ROLLBACK TO s; $question; COMMIT"), $right, 'after the subtransaction') if $round == 20;
	$session->query_safe('ROLLBACK TO s; COMMIT') if $round < 20;
}
is(open_descriptors($backend), $descriptors, 'aborted subtransactions leave no descriptor open');
is(open_descriptors($server), $server_descriptors, 'nor in the server process');

# There are thousands of requests, and some of their answers need another buffer.
my $rows = few_or_many(4_000, rounds(10_000));
$session->query_safe(q{CREATE FUNCTION many(n int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	sum bigint := 0;
BEGIN
	FOR i IN 1 .. n LOOP
		sum := sum + gpu.count('t_k', ARRAY[i % 5000], ARRAY[i % 5000 + 100]);
	END LOOP;
	RETURN sum;
END $$});
my $expected = $session->query_safe(qq{SET pg_gpu.path = paged; SELECT many($rows)});
$session->query_safe('SET pg_gpu.path = host; SELECT many(500)');
my ($before, $server_before) = (resident_kib($backend), resident_kib($server));
is($session->query_safe("SELECT many($rows)"), $expected, "$rows requests are answered");
cmp_ok(resident_kib($backend) - $before, '<', 2048, 'and cost the session no memory');
cmp_ok(resident_kib($server) - $server_before, '<', 4096, 'nor the server process');
is(open_descriptors($backend), $descriptors, 'nor descriptors');
is(open_descriptors($server), $server_descriptors, 'in the server process as well');
cmp_ok($session->query_safe(q{SELECT requests FROM gpu.stat WHERE path = 'host' AND request = 'count'}), '>=', $rows,
	'all went to the server process');
$session->quit;
ok(wait_until(sub { open_descriptors($server) < $server_descriptors }), 'a session that ends frees its descriptors in the server process');

# Where the buffer is too small requests are cut.
my $many_keys = q{SELECT count(*), sum(ordinal) FROM gpu.lookup('t_k', ARRAY(SELECT g % 10000 FROM generate_series(1, 300000) AS g))};
is(sql_value($node, "SET pg_gpu.path = host; SET pg_gpu.session_transfer_memory = '1MB'; $many_keys"),
	sql_value($node, "SET pg_gpu.path = paged; $many_keys"), 'a request larger than the transfer buffer');

# Groups come in portions, those of rows that are looked up in the table behind the others. Each group has 24 bytes, and each row 32.
$node->safe_psql('postgres', q{
CREATE TABLE groups WITH (autovacuum_enabled = off) AS SELECT i AS k, i % 1000 AS v FROM generate_series(1, 150000) AS i;
CREATE INDEX groups_c ON groups USING gpu_column (k, v);
VACUUM groups;
UPDATE groups SET v = -1 WHERE k % 90 = 0 AND k > 90000;
DELETE FROM groups WHERE k % 70 = 0 AND k > 90000;
ANALYZE groups;
});
my $by_group = "SET seq_page_cost = 1000; SET enable_bitmapscan = off; SET work_mem = '256MB'; SET pg_gpu.enable_block_facts = off; SET pg_gpu.session_transfer_memory = '1MB';";
foreach my $query ('SELECT k, sum(v) AS s FROM groups GROUP BY k', 'SELECT k, sum(v) AS s FROM groups WHERE k > 90000 GROUP BY k')
{
	my $groups = "SELECT md5(string_agg(k || ' ' || s, ',' ORDER BY k)) FROM ($query OFFSET 0) AS g";
	my $own = sql_value($node, "SET pg_gpu.enable_query = off; $groups");
	is(sql_value($node, "SET pg_gpu.path = host; $by_group $groups"), $own, 'groups that the transfer buffer has no room for');
	my $plan = sql($node, "SET pg_gpu.path = host; $by_group EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $query")->{out};
	like($plan, qr/Path: host\n *Requests: (?:[2-9]|\d\d)/, 'come in several requests');
	unlike($plan, qr/Fallbacks/, 'of which none fails');
}

# What has been read isn't kept.
my $kept = new_session($node);
$kept->query_safe("SET pg_gpu.path = host; $by_group");
my $held = sql_value($node, 'SELECT host_memory_used FROM gpu.server');
my $first = "SELECT count(*) FROM (SELECT k, sum(v) FROM groups GROUP BY k OFFSET 0) AS g";
is($kept->query_safe($first), sql_value($node, "SET pg_gpu.enable_query = off; $first"), 'a session reads all of them');
ok(wait_until(sub { sql_value($node, 'SELECT host_memory_used FROM gpu.server') <= $held }), 'and the server process keeps none');
$kept->quit;

# ---- databases and users ------------------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION pg_gpu');
make_table($node, rows => 5_000, keys => 100, database => 'other');
$node->safe_psql('other', "SET pg_gpu.path = host; SELECT gpu.load('t_k')");
is($node->safe_psql('other', q{SELECT count(*) FROM gpu.mirrors WHERE index_name = 't_k'::regclass}), 1, 'another database has mirrors of its own');
is(sql_value($node, q{SELECT bool_or(index_name IS NULL) AND bool_or(index_name = 't_k'::regclass) FROM gpu.mirrors}),
	't', 'which are nameless elsewhere');
is($node->safe_psql('other', "SET pg_gpu.path = host; SELECT gpu.count('t_k', ARRAY[0], ARRAY[100])"),
	$node->safe_psql('other', 'SELECT count(*) FROM t WHERE k BETWEEN 0 AND 100'), 'and answers of its own');
$node->safe_psql('postgres', 'DROP DATABASE other');
is(sql($node, "$by_host $question")->{out}, $right, 'a dropped database takes nothing of the others along');

{
	# Others may open neither the socket's folder nor the socket.
	my $mode = (stat($node->data_dir))[2] & 007;
	is($mode, 0, 'other users do not reach the socket');
	is((stat($node->data_dir . '/' . SOCKET))[2] & 077, 0, 'and could not open it');
}

# ---- the cost model's constants ------------------------------------------------------------------------------------------

my @features = qw(ranking list window posting shortest second);
# Searches go where each of the constants says. Another engine that is there is made too expensive for any of them.
$node->safe_psql('postgres', q{
CREATE TABLE doc AS SELECT to_tsvector('simple', concat_ws(' ', 'w' || i % 3, 'v' || i % 5)) AS tsv FROM generate_series(1, 20000) AS i;
CREATE INDEX doc_tsv ON doc USING gpu_text (tsv);
SET pg_gpu.path = host;
SELECT gpu.load('doc_tsv', true)});
my $cheap = join ', ', 'cuda_request = 1e9', map { ("paged_$_ = 1e-6", "host_$_ = 1e-6") } @features;

sub path_of_search
{
	my ($mode, $dear) = @_;
	my $costs = $cheap =~ s/\b$dear = 1e-6/$dear = 1e6/r;
	return (split /\n/, sql_value($node, "LOAD 'pg_gpu_test'; SET pg_gpu.path = auto; SET pg_gpu_test.costs = '$costs';
SELECT gpu.stat_reset(); SELECT count(*) FROM gpu.search('doc_tsv', 'w1 & v1', 10, '$mode');
SELECT string_agg(path, ' ') FROM gpu.stat WHERE request = 'search' AND requests > 0"))[-1];
}
foreach my $case ([ 'and', qw(ranking list shortest second) ], [ 'or', qw(ranking list window posting) ])
{
	my ($mode, @its_features) = @$case;
	is(join(' ', map { path_of_search($mode, "paged_$_") } @its_features), 'host host host host', "costs of pages keep searches off them, $mode");
	is(join(' ', map { path_of_search($mode, "host_$_") } @its_features), 'paged paged paged paged', "so do those of an engine, $mode");
}

# A batch's estimates are corrected by what such batches took: the host engine, which is said to take no time, is left for
# pages, which are said to take hardly more. A round trip alone takes longer than that on any machine. Single searches have
# told nothing of batches.
{
	my $no_time = join ', ', map { my $path = $_; map { "${path}_$_ = " . ($path eq 'host' ? 1e-9 : 1e-7) } @features, 'request' } 'host', 'paged';
	my $out = sql_value($node, "LOAD 'pg_gpu_test'; SET pg_gpu.path = auto; SET pg_gpu_test.costs = '$no_time, transfer = 1e-9, cuda_request = 1e9'; SELECT gpu.stat_reset();"
		. join(' ', map { q{SELECT count(*) > 0 FROM gpu.search_batch('doc_tsv', ARRAY['w1', 'v1 | w2']::tsquery[], 10, 'query');} } 1 .. 6)
		. q{SELECT string_agg(path, ' ' ORDER BY path) FROM gpu.stat WHERE request = 'search' AND requests > 0});
	is((split /\n/, $out)[-1], 'host paged', 'batches learn from what they took');
}

# ---- a base backup ----------------------------------------------------------------------------------------------------------

$node->backup('copy');
is(join(' ', map { s{.*/}{}r } glob($node->backup_dir . '/copy/pgsql_tmp*')), '', 'base backups leave socket and locks out');
is(log_count($node, qr/special file/), 0, 'without a word');

is(bad_log_lines($node), '', 'nothing died');
$node->stop;
done_testing();
