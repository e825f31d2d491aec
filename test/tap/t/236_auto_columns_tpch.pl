# suite: check
# From a cluster without an index of gpu_column, with statements of TPC-H's shapes in pg_stat_statements, to plans that have GpuQuery: the
# worker of pg_gpu.auto_columns does all that lies between.

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

my $node = new_cluster('auto_tpch', conf => "shared_preload_libraries = 'pg_gpu, pg_stat_statements'\nmax_parallel_workers_per_gather = 0\n" .
	"pg_stat_statements.track_utility = off\npg_gpu.path = host\nwork_mem = 64MB\npg_gpu.auto_columns_interval = 1s\nmax_worker_processes = 12\n" .
	# A statement of milliseconds saves little beside a table that was just loaded.
	"pg_gpu.auto_columns_write_share = 1000\n");
sub value { my ($sql) = @_; return $node->safe_psql('postgres', "SET pg_stat_statements.track = none; $sql"); }

make_tpch($node, 0.01);
$node->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements');
my %statements = tpch_statements();
my @names = sort keys %statements;
my %before = map { $_ => $node->safe_psql('postgres', $statements{$_}) } @names;
is((grep { value("EXPLAIN $statements{$_}") =~ /GpuQuery/ } @names), 0, 'before, no plan has GpuQuery');

value('ALTER SYSTEM SET pg_gpu.auto_columns = on');
$node->reload;
my $tables = 'customer,lineitem,nation,orders,part,partsupp,region,supplier';
ok($node->poll_query_until('postgres', q{SELECT string_agg(table_name::text, ',' ORDER BY table_name::text) FROM gpu.auto_columns WHERE action = 'made'}, $tables),
	'the worker makes an index of each table') or diag(value('TABLE gpu.auto_column_state'));
my @after = grep { value("EXPLAIN $statements{$_}") =~ /GpuQuery/ } @names;
note("GpuQuery: @after");
cmp_ok(scalar(@after), '>=', 15, 'then most plans have GpuQuery');
is(value($statements{$_}), $before{$_}, "$_: with the same result") foreach @after;

$node->stop;
done_testing();
