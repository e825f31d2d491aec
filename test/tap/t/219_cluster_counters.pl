# suite: check
# What gpu.stat, gpu.latency and gpu.indexes count: for all sessions, in shared memory, whether the library is preloaded or
# not; kept through sessions and the server process, lost with PostgreSQL.

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

my $ask = q{SELECT count(*) FROM gpu.lookup('t_k', ARRAY(SELECT g FROM generate_series(0, 2000) AS g))};

# Columns of the row of lookups by a path.
sub lookups
{
	my ($node, $path, $columns, $before) = @_;
	return $node->safe_psql('postgres', ($before // '') . "SELECT $columns FROM gpu.stat WHERE path = '$path' AND request = 'lookup'");
}

sub of_index
{
	my ($node, $columns, $index) = @_;
	$index //= 't_k';
	return $node->safe_psql('postgres', "SELECT $columns FROM gpu.indexes WHERE index_name = '$index'::regclass");
}

my $node = new_node('counters', streaming => 1, conf => "pg_gpu.path = paged\npg_gpu.mirror = manual\nautovacuum = off\n");
make_table($node, rows => 20_000, keys => 10_000);
$node->safe_psql('postgres', q{
	CREATE ROLE alice; CREATE ROLE bob; CREATE ROLE watcher IN ROLE pg_read_all_stats;
	GRANT SELECT ON t TO PUBLIC; GRANT SET ON PARAMETER pg_gpu.path TO PUBLIC});
my $as_alice = 'SET SESSION AUTHORIZATION alice;';
my $as_bob = 'SET SESSION AUTHORIZATION bob;';

foreach my $preloaded (0, 1)
{
	my $what = $preloaded ? 'preloaded' : 'not preloaded';
	if ($preloaded)
	{
		$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_gpu'\n");
		$node->restart;
		is(lookups($node, 'paged', 'requests'), '', "$what: a restart has cleared the counters");
		is(of_index($node, 'fallbacks, merges'), '0|0', "$what: those of indexes, too");
	}

	# Each statement is a session of its own.
	$node->safe_psql('postgres', $ask) foreach 1 .. 3;
	is(lookups($node, 'paged', 'requests, items'), '3|6003', "$what: sessions add up");
	$node->safe_psql('postgres', "$as_alice $ask");
	is(lookups($node, 'paged', 'requests'), '4', "$what: of all users");
	is(lookups($node, 'paged', 'requests', $as_alice), '1', "$what: a user sees the user's own");
	is(lookups($node, 'paged', 'requests', $as_bob), '', "$what: which another doesn't");
	is(lookups($node, 'paged', 'requests', 'SET ROLE watcher;'), '4', "$what: who may see statistics sees all");
	is($node->safe_psql('postgres', q{SELECT sum(requests), max(all_up_to) FROM gpu.latency WHERE path = 'paged' AND request = 'lookup'}), '4|4',
		"$what: so do latencies");

	# Fallbacks, with their reasons.
	my $forced = 'SET client_min_messages = error; SET pg_gpu.path = host;';
	$node->safe_psql('postgres', "$forced $ask");
	ok(wait_for_server($node), 'a server process is there');
	$node->safe_psql('postgres', "$forced $ask; $ask");
	$node->safe_psql('postgres', "$as_alice $forced $ask");
	my ($fallbacks, $reason) = split /\|/, lookups($node, 'host', 'fallbacks, last_reason');
	cmp_ok($fallbacks, '>=', 3, "$what: fallbacks of all sessions");
	like($reason, qr/not resident|manual/, "$what: with the last reason");
	is(of_index($node, 'fallbacks'), $fallbacks, "$what: all of them are the index's");
	is(of_index($node, '(SELECT sum(c) FROM unnest(reason_counts) c)'), $fallbacks, "$what: and its reasons add up");
	is(lookups($node, 'host', "fallbacks BETWEEN 1 AND $fallbacks - 2", $as_alice), 't', "$what: a user's own");

	# Latencies outlive the server process, which counts requests anew.
	my $latencies = q{SELECT sum(requests) FROM gpu.latency WHERE path = 'host' AND request = 'lookup'};
	$node->safe_psql('postgres', q{SET pg_gpu.path = host; SELECT gpu.load('t_k')});
	$node->safe_psql('postgres', "SET pg_gpu.path = host; $ask");
	is(lookups($node, 'host', 'requests >= 1'), 't', "$what: a request that was answered");
	is($node->safe_psql('postgres', $latencies), '1', "$what: has its latency");
	my $server = server_pid($node);
	kill 'KILL', $server;
	ok(wait_for_server($node, $server), 'another server process');
	is(lookups($node, 'host', 'requests, fallbacks'), "0|$fallbacks", "$what: the server process counts anew, sessions go on");
	is($node->safe_psql('postgres', $latencies), '1', "$what: and the latency is still known");

	# Reset: one's own, or all.
	$node->safe_psql('postgres', "$as_alice SELECT gpu.stat_reset()");
	is(lookups($node, 'paged', 'requests', $as_alice), '', "$what: a user resets the user's own");
	cmp_ok(lookups($node, 'paged', 'requests'), '>=', 3, "$what: and no others'");
	cmp_ok(of_index($node, 'fallbacks'), '>=', 3, "$what: nor what is counted of indexes");
	$node->safe_psql('postgres', 'SELECT gpu.stat_reset()');
	is(lookups($node, 'paged', 'requests') . of_index($node, 'fallbacks'), '0', "$what: a superuser resets everything");
}

# ---- many users and indexes -----------------------------------------------------------------------------------------

# More users than an unpreloaded library has room for: nothing is lost, though whose it was is.
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', undef);
$node->restart;
my $users = 70;
$node->safe_psql('postgres', join('', map { "CREATE ROLE user_$_;" } 1 .. $users));
$node->safe_psql('postgres', join('', map { "SET SESSION AUTHORIZATION user_$_; $ask;" } 1 .. $users));
is(lookups($node, 'paged', 'requests'), $users, 'the requests of many users add up');
my $known = 0;
foreach my $user (1 .. $users)
{
	my $own = lookups($node, 'paged', 'requests', "SET SESSION AUTHORIZATION user_$user;");
	$known++ if $own eq '1';
	is($own, '1', "user $user sees one or none") unless $own eq '' || $own eq '1';
}
cmp_ok($known, '>', 10, 'many of them see their own');
cmp_ok($known, '<', $users, 'but there is no room for all');

# More indexes than there is room for: those of which something was counted last are known.
$node->safe_psql('postgres', q{CREATE TABLE many (k int); INSERT INTO many SELECT generate_series(1, 100)});
my $indexes = 300;
$node->safe_psql('postgres', join('', map { "CREATE INDEX many_$_ ON many USING gpu_kary (k);" } 1 .. $indexes));
$node->safe_psql('postgres', join('', 'SET client_min_messages = error; SET pg_gpu.path = host; SET pg_gpu.min_mirror_entries = 1000;',
		map { "SELECT count(*) FROM gpu.lookup('many_$_', ARRAY[1]);" } 1 .. $indexes));
is(of_index($node, 'fallbacks', "many_$indexes"), '1', 'the last index is known');
my $counted = $node->safe_psql('postgres', q{SELECT count(*) FROM gpu.indexes WHERE table_name = 'many'::regclass AND fallbacks = 1});
cmp_ok($counted, '>', 60, 'so are many others');
cmp_ok($counted, '<', $indexes, 'but not all');
is($node->safe_psql('postgres', q{SELECT count(*) FROM gpu.indexes WHERE table_name = 'many'::regclass}), $indexes, 'each has its row');

# ---- what gpu.indexes does not wait for -------------------------------------------------------------------------------

my $session = new_session($node);
$session->query_safe('CREATE TEMP TABLE own (k int); CREATE INDEX own_k ON own USING gpu_kary (k); BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE');
is($node->safe_psql('postgres', q{SELECT state FROM gpu.indexes WHERE index_name::text LIKE '%own_k'}), 'temporary', 'an index of another session is not read');
is(of_index($node, 'state'), 'ready', 'nor is a lock on the table waited for');
$session->query_safe(q{REINDEX INDEX t_k});
is($node->safe_psql('postgres', q{SET lock_timeout = '20s'; SELECT state, runs IS NULL FROM gpu.indexes WHERE index_name = (SELECT oid FROM pg_class WHERE relname = 't_k')}), 'locked|t',
	'an index that is rebuilt is not waited for');
$session->query_safe('ROLLBACK');
$session->quit;

# ---- damage ---------------------------------------------------------------------------------------------------------

my $path = $node->data_dir . '/' . $node->safe_psql('postgres', q{SELECT pg_relation_filepath('many_7')});
$node->stop;
open my $file, '+<:raw', $path or die "$path: $!";
seek $file, 24, 0;
print $file "\xff" x 64;
close $file;
$node->start;
is(of_index($node, 'state, runs IS NULL, problem IS NOT NULL, bytes > 0', 'many_7'), 'damaged|t|t|t', 'a damaged index has its row');
is($node->safe_psql('postgres', q{SELECT count(*) FROM gpu.indexes WHERE table_name = 'many'::regclass AND state = 'ready'}), $indexes - 1, 'as all others have');

# ---- a crash, and a standby -----------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'DROP INDEX many_7');
$node->safe_psql('postgres', "SET client_min_messages = error; SET pg_gpu.path = host; SET pg_gpu.min_mirror_entries = 1000000; $ask");
is(of_index($node, 'fallbacks'), '1', 'a fallback before a crash');
$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('counters_standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
is(of_index($standby, 'state, runs > 0, entries > 19000, fallbacks'), 'ready|t|t|0', 'a standby reads the indexes and counts for itself');
$node->safe_psql('postgres', 'CREATE UNLOGGED TABLE u (k int); CREATE INDEX u_k ON u USING gpu_kary (k)');
$node->wait_for_catchup($standby);
is(of_index($standby, 'state', 'u_k'), 'unlogged', 'but what is not logged is not there');
$standby->safe_psql('postgres', $ask);
is(lookups($standby, 'paged', 'requests'), '1', 'it counts requests');
$standby->stop;
$node->stop('immediate');
$node->start;
is(of_index($node, 'fallbacks'), '0', 'and a crash clears the counters');

is(bad_log_lines($node), '', 'nothing died');
$node->stop;
done_testing();
