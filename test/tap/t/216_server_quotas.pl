# suite: check
# Who may drop whose mirrors: a session that forces a path none that another one used within
# the last minute; and a role or a database no more than its quota lets it replace.

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

# Room for two of the indexes, 2.2 MB each.
my $node = new_node('quotas', conf => "pg_gpu.request_timeout = 60s\nautovacuum = off\nmax_connections = 20\n");
$node->safe_psql('postgres', q{
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE ROLE owner LOGIN;
CREATE ROLE tenant LOGIN IN ROLE owner;
SELECT format('CREATE TABLE %1$s AS SELECT i AS k FROM generate_series(1, 200000) AS i', name),
	format('CREATE INDEX %1$s_k ON %1$s USING gpu_kary (k)', name), format('ALTER TABLE %1$s OWNER TO owner', name)
FROM unnest(ARRAY['one', 'two', 'three', 'four']) AS name
\gexec
VACUUM;
});
set_host_limit($node, '5MB');

sub residents
{
	return sql_value($node, q{SELECT string_agg(DISTINCT index_name::text, ' ' ORDER BY index_name::text) FROM gpu.mirrors});
}

# How many of 5,000 keys $index has, and what gpu.stat says of the host engine.
sub look_up_with
{
	my ($session, $index) = @_;
	return $session->query_safe("SELECT (SELECT count(*) FROM gpu.lookup('$index', ARRAY(SELECT generate_series(10, 5009)))) || '|' ||
		coalesce((SELECT string_agg(last_reason, '; ') FROM gpu.stat WHERE path = 'host' AND request = 'lookup'), '')");
}

sub session_as
{
	my ($role, $settings) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 1);
	$session->query_safe("$settings; SET SESSION AUTHORIZATION $role; SET client_min_messages = error");
	return $session;
}

# ---- forced paths -------------------------------------------------------------------------------------------------------

# One owner keeps two indexes warm.
my $first = session_as('owner', 'SET pg_gpu.path = host');
is(look_up_with($first, $_), '5000|', "$_ is looked up by the server process") foreach 'one_k', 'two_k';
is(residents(), 'one_k two_k', 'which has both');

my $disturber = session_as('tenant', 'SET pg_gpu.path = host');
foreach my $try (1 .. 2)
{
	is(look_up_with($disturber, 'three_k'), '5000|other sessions used lately what a mirror for a forced path would replace',
		"try $try: the answer is right, and gpu.stat says why it is not the server process's");
}
is(residents(), 'one_k two_k', 'nothing has left');
$disturber->quit;
is(look_up_with($first, 'three_k'), '5000|', 'the session itself may replace what it used');
is(residents(), 'three_k two_k', 'and does');
$first->quit;

# ---- quotas -------------------------------------------------------------------------------------------------------------

set_host_limit($node, '64MB');
$node->safe_psql('postgres', q{SELECT gpu.evict_all()});
sub load_index
{
	my ($index, $role) = @_;
	my $done = $node->safe_psql('postgres', "SELECT gpu.load('$index') > 0", extra_params => [ '-U', $role ]);
	return is($done, 't', "$index is loaded by $role");
}
like(query_error($node, q{LOAD 'pg_gpu'; SET SESSION AUTHORIZATION tenant; SET pg_gpu.role_mirror_quota = 0}),
	qr/permission denied to set parameter "pg_gpu.role_mirror_quota"/, 'a role does not set its own quota');
$node->safe_psql('postgres', "LOAD 'pg_gpu'; ALTER ROLE tenant SET pg_gpu.role_mirror_quota = '5MB'");
load_index('four_k', 'owner');
load_index($_, 'tenant') foreach 'one_k', 'two_k', 'three_k';
is(residents(), 'four_k three_k two_k', 'the role has replaced its own mirror that was not used for longest');

$node->safe_psql('postgres', "ALTER DATABASE postgres SET pg_gpu.database_mirror_quota = '3MB'");
load_index('one_k', 'tenant');
is(residents(), 'one_k', 'a database has a quota for all its roles');
$node->safe_psql('postgres', q{SELECT gpu.load('one_k', pinned => true)});
like(query_error($node, q{SELECT gpu.load('two_k')}),
	qr/cannot load index "two_k".*pg_gpu\.database_mirror_quota leaves no room for the mirror/s, 'pinned mirrors count as well');
is(residents(), 'one_k', 'and stay');
is(sql_value($node, q{SET pg_gpu.path = host; SET client_min_messages = error; SELECT gpu.count('two_k', ARRAY[10], ARRAY[150009])}),
	150000, 'pages answer');

# ---- an index larger than the limit -------------------------------------------------------------------------------------

# What has room is loaded and stays; a statement doesn't load again and again what it has replaced itself.
$node->safe_psql('postgres', q{
ALTER DATABASE postgres RESET pg_gpu.database_mirror_quota;
SELECT gpu.evict_all();
CREATE TABLE large (k int8);
CREATE INDEX large_k ON large USING gpu_kary (k) WITH (fanout = 32);
SELECT format('INSERT INTO large SELECT i * 8 + %s FROM generate_series(0, 39999) AS i', part) FROM generate_series(0, 7) AS part
\gexec
VACUUM large;
});
set_host_limit($node, '3MB');
like(query_error($node, q{SELECT gpu.load('large_k')}),
	qr/cannot load index "large_k".*Of the index's \d+ kB, \d+ kB are not loaded/s, 'gpu.load says how much has no room');
my $loaded = q{SELECT coalesce(sum(bytes), 0) FROM gpu.stat WHERE path = 'host' AND request = 'load'};
my $before = sql_value($node, $loaded);
foreach my $path ('host', 'auto')
{
	is(sql_value($node, qq{SET pg_gpu.path = $path; SET client_min_messages = error;
		SELECT sum(count) FROM gpu.count_batch('large_k', ARRAY(SELECT ARRAY[i * 100] FROM generate_series(1, 2000::int8) AS i),
			ARRAY(SELECT ARRAY[i * 100 + 999] FROM generate_series(1, 2000::int8) AS i))}), 2_000_000, "$path: many ranges are counted");
}
cmp_ok(sql_value($node, $loaded) - $before, '<', 3 * 1024 * 1024, 'and nothing is loaded twice for that');

is(bad_log_lines($node), '', 'nothing died');
$node->stop;
done_testing();
