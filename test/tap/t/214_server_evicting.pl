# suite: check
# gpu.evict by index, by run, by database, and of everything; and who may call it.

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

my $node = new_node('evicting', conf => "pg_gpu.request_timeout = 60s\npg_gpu.path = host\nautovacuum = off\n");
sub prepare
{
	my ($database) = @_;
	$node->safe_psql($database, q{
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE TABLE one AS SELECT i AS k FROM generate_series(1, 20000) AS i;
CREATE INDEX one_k ON one USING gpu_kary (k);
CREATE TABLE two AS SELECT i AS k FROM generate_series(1, 20000) AS i;
CREATE INDEX two_k ON two USING gpu_column (k);
SELECT gpu.load('one_k', pinned => true), gpu.load('two_k');
});
	return;
}
$node->safe_psql('postgres', q{
CREATE ROLE owner LOGIN;
CREATE ROLE stranger LOGIN;
CREATE DATABASE other OWNER owner});
prepare('postgres');
prepare('other');
is(mirrors($node), 4, 'two databases have mirrors');

# ---- by run ---------------------------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'ALTER TABLE one OWNER TO owner');
my ($run, $bytes) = split /\|/, sql_value($node, q{SELECT run_id, bytes FROM gpu.mirrors WHERE index_name = 'one_k'::regclass});
my $foreign = sql_value($node, q{SELECT min(run_id) FROM gpu.mirrors WHERE index_name IS NULL});
like(query_error($node, "SET ROLE stranger; SELECT gpu.evict_run($run)"), qr/must be owner of index one_k/, 'a run is its owner\'s');
like(query_error($node, "SET ROLE owner; SELECT gpu.evict_run($foreign)"),
	qr/permission denied to evict run $foreign.*DETAIL:  It does not belong to an index of this database/s, 'one of another database is nobody\'s here');
is(mirrors($node), 4, 'nothing has gone');
is(sql_value($node, "SET ROLE owner; SELECT gpu.evict_run($run)"), $bytes, 'the owner evicts it, though it is pinned');
is(sql_value($node, "SELECT gpu.evict_run($run)"), 0, 'then it is gone');
is(mirrors($node), 3, 'and it alone');
cmp_ok(sql_value($node, "SELECT gpu.evict_run($foreign)"), '>', 0, 'a superuser evicts that of another database');
is(mirrors($node), 2, 'alone, too');

# ---- by database, and all -------------------------------------------------------------------------------------------

like(query_error($node, q{SET ROLE owner; SELECT gpu.evict_database('postgres')}), qr/must be owner of database postgres/, 'a database is its owner\'s');
like(query_error($node, q{SELECT gpu.evict_database('nowhere')}), qr/database "nowhere" does not exist/, 'which must be there');
cmp_ok(sql_value($node, q{SET ROLE owner; SELECT gpu.evict_database('other')}), '>', 0, 'the owner evicts all of it');
is(sql_value($node, q{SELECT string_agg(index_name::text, ' ') FROM gpu.mirrors}), 'two_k', 'and nothing else');
cmp_ok(sql_value($node, q{SELECT gpu.evict_database()}), '>', 0, 'without a name it is the own one');
is(mirrors($node), 0, 'nothing is left');
$node->safe_psql($_, q{SELECT gpu.load('one_k'), gpu.load('two_k')}) foreach 'postgres', 'other';
like(query_error($node, q{SET ROLE owner; SELECT gpu.evict_all()}), qr/permission denied to evict all mirrors/, 'everything is the superuser\'s');
is(mirrors($node), 4, 'who has four');
cmp_ok(sql_value($node, q{SELECT gpu.evict_all()}), '>', 0, 'and evicts them');
is(mirrors($node), 0, 'all');
is(sql_value($node, q{SELECT gpu.count('one_k', ARRAY[5], ARRAY[1000])}), 996, 'and indexes answer');

is(bad_log_lines($node), '', 'nothing died');
$node->stop;
done_testing();
