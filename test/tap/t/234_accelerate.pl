# suite: check
# gpu.accelerate makes the gpu_column indexes that recorded statements of TPC-H's shapes ask for, in joins, sub-selects, expressions and
# partitions: no statement names a column for it, and plans use what it made.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Tpch;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $libraries = configured('--pkglibdir');
plan skip_all => 'pg_stat_statements is not installed' unless -e "$libraries/pg_stat_statements.so";

my $node = new_cluster('accelerate', conf => "shared_preload_libraries = 'pg_gpu, pg_stat_statements'\nmax_parallel_workers_per_gather = 0\n" .
	"pg_stat_statements.track_utility = off\npg_gpu.path = host\nwork_mem = 64MB\n");

# Nothing that the test itself asks is recorded.
sub value { my ($sql) = @_; return $node->safe_psql('postgres', "SET pg_stat_statements.track = none; $sql"); }
sub record { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }
sub notices
{
	my ($sql) = @_;
	my $err;
	$node->psql('postgres', "SET pg_stat_statements.track = none; $sql", stderr => \$err);
	return $err;
}

make_tpch($node, 0.01);
value('CREATE EXTENSION pg_stat_statements');
my %statements = tpch_statements();
my @names = sort keys %statements;

# ---- TPC-H ----------------------------------------------------------------------------------------------------------

my %before = map { $_ => record("SET pg_gpu.enable_query = off; $statements{$_}") } @names;
is(value(q{SELECT count(*) FROM pg_class JOIN pg_am ON pg_am.oid = relam WHERE amname = 'gpu_column'}), 0, 'there is no index of gpu_column');
# What plans cost follows from statistics and the map of visible pages, which autovacuum may not have made yet.
value('VACUUM ANALYZE');
is(value(q{SELECT string_agg(column_name, ',' ) FROM gpu.accelerate('region') WHERE reason = 'statements read it' AND calls > 0 AND milliseconds > 0}),
	'r_regionkey,r_name', 'the columns of a small table are those that its joins read');
value("SELECT gpu.accelerate('$_')") foreach qw(nation supplier customer part partsupp orders lineitem);
is(value(q{SELECT string_agg(attname, ',' ORDER BY attname) FROM pg_attribute WHERE attrelid = 'lineitem'::regclass AND attnum > 0 AND attname NOT IN
	(SELECT attname FROM pg_attribute WHERE attrelid = 'lineitem_gpu'::regclass)}), 'l_comment,l_linenumber', 'no column is indexed that nobody reads');
value('VACUUM ANALYZE');
my @used = grep { value("EXPLAIN (COSTS OFF) $statements{$_}") =~ /GpuQuery/ } @names;
note("GpuQuery: @used");
cmp_ok(scalar(@used), '>=', 15, 'most statements are computed by GpuQuery');
is(value($statements{$_}), $before{$_}, "$_: with the same result") foreach @used;
value('VACUUM ANALYZE');
is(value(q{SET client_min_messages = warning; SELECT count(*) FROM gpu.advise() WHERE advice = 'create' AND command LIKE '%gpu_column%'}), 0,
	'gpu.advise has nothing to add');

# ---- once more --------------------------------------------------------------------------------------------------------

is(value(q{SELECT DISTINCT index_name FROM gpu.accelerate('lineitem')}), 'lineitem_gpu', 'what is asked for is there');
record('SELECT l_comment, l_linenumber, count(*), sum(l_tax) FROM lineitem GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 1');
is(value(q{SELECT string_agg(column_name || ': ' || reason, ', ') FROM gpu.accelerate('lineitem', apply => false) WHERE column_name IN ('l_comment', 'l_linenumber', 'l_shipmode')}),
	'l_linenumber: statements read it, l_shipmode: statements read it, l_comment: statements read it', 'a statement asks for more');
is(value(q{SELECT DISTINCT index_name FROM gpu.accelerate('lineitem')}), 'lineitem_gpu1', 'then the index is replaced');
is(value(q{SELECT count(*) FROM pg_class WHERE relname = 'lineitem_gpu'}), 0, 'by one with all columns');
record('ALTER TABLE orders ADD COLUMN o_grade int');
record('UPDATE orders SET o_grade = o_orderkey % 7');
value('VACUUM ANALYZE orders');
record('SELECT o_grade, count(*) FROM orders GROUP BY 1 ORDER BY 1');
is(value(q{SELECT string_agg(reason, '') FROM gpu.accelerate('orders') WHERE column_name = 'o_grade'}), 'statements read it', 'a column that was added follows');
like(value('EXPLAIN SELECT o_grade, count(*) FROM orders GROUP BY 1'), qr/GpuQuery/, 'and is read from the index');
value('SELECT pg_stat_statements_reset()');
record('SELECT count(*) FROM orders WHERE o_grade = 3');
is(value(q{SELECT string_agg(reason, ',' ORDER BY reason) FROM (SELECT DISTINCT reason FROM gpu.accelerate('orders')) AS r}), 'statements read it,the index had it',
	'columns of statements of long ago stay');

# ---- statements that nothing helps, and none ---------------------------------------------------------------------------

value('SELECT pg_stat_statements_reset()');
record('SELECT * FROM part WHERE p_partkey = 17');
value("SELECT gpu.decelerate('part')");
like(notices(q{SELECT gpu.accelerate('part')}), qr/NOTICE:  table "part" gets no index\nDETAIL:  1 recorded statement reads it, which such an index would not make cheaper/,
	'a statement that wants no columns gets none');
is(value(q{SET client_min_messages = warning; SELECT count(*) FROM gpu.accelerate('part')}), 0, 'nor rows');
value("SELECT gpu.decelerate('supplier')");
is(value(q{SELECT DISTINCT reason FROM gpu.accelerate('supplier', apply => false)}), 'no statement is recorded that reads the table', 'without statements all columns are taken');

# ---- roles ------------------------------------------------------------------------------------------------------------

value(q{CREATE ROLE owner LOGIN IN ROLE pg_read_all_stats; CREATE ROLE reader LOGIN; CREATE SCHEMA owned AUTHORIZATION owner; GRANT USAGE ON SCHEMA owned TO reader;
	SET ROLE owner; CREATE TABLE owned.sale (k int, v int, w int); INSERT INTO owned.sale SELECT g, g % 10, g FROM generate_series(1, 50000) g;
	GRANT SELECT ON owned.sale TO reader; VACUUM ANALYZE owned.sale; RESET ROLE});
record('SET ROLE reader; SELECT v, sum(k) FROM owned.sale GROUP BY v');
like(notices(q{SET ROLE owner; SELECT gpu.accelerate('owned.sale', apply => false)}), qr/recorded statements are other roles' and were left out\nHINT: .*Call gpu\.accelerate as/,
	'an owner learns nothing of what others read');
is(value(q{SELECT string_agg(column_name, ',') FROM gpu.accelerate('owned.sale')}), 'k,v', 'a superuser has their columns taken');
is(value(q{SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'owned.sale_gpu'::regclass}), 'owner', 'for the owner');

# ---- dumps ------------------------------------------------------------------------------------------------------------

my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'a dump is made');
value('CREATE DATABASE restored');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ], 'and restored');
is($node->safe_psql('restored', q{SELECT index_name FROM gpu.decelerate('owned.sale')}), 'owned.sale_gpu', 'with the mark of what may be dropped');

$node->stop;
done_testing();
