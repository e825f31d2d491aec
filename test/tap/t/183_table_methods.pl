# suite: check host
# A table whose access method isn't heap, and whose TIDs are none of its pages: indexes of all access methods answer as
# a sequential scan does, gpu.verify finds nothing, and TIDs that the indexes can't hold are refused.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $library = PostgreSQL::Test::Utils::tempdir . '/shifted_heap.so';
my $compile = join ' ', configured('--cc'), '-O2', configured('--cflags_sl'), '-shared', '-I' . configured('--includedir-server'), '-o', $library,
	"$FindBin::RealBin/../shifted_heap.c";
is(system($compile), 0, 'a table access method is compiled');

# What PostgreSQL reads ahead of a bitmap scan it finds by TIDs, which are none of this table's pages.
my $node = new_node('methods', conf => "effective_io_concurrency = 0\n");
$node->safe_psql('postgres', qq{CREATE FUNCTION shifted_heap_handler(internal) RETURNS table_am_handler AS '$library' LANGUAGE C STRICT;
	CREATE ACCESS METHOD shifted_heap TYPE TABLE HANDLER shifted_heap_handler;
	CREATE TABLE t (k int, x int, y int, words tsvector) USING shifted_heap});
my $rows = q{SELECT i %% 1000, i %% 100, i / 100, to_tsvector('simple', 'w' || i %% 7 || ' w' || i %% 11) FROM generate_series(%d, %d) AS i};
my %columns = (kary => 'k', grid => 'x, y', column => 'k, x', text => 'words');
$node->safe_psql('postgres', 'INSERT INTO t ' . sprintf $rows, 1, 10_000);
$node->safe_psql('postgres', "CREATE INDEX t_$_ ON t USING gpu_$_ ($columns{$_})") foreach sort keys %columns;
# From these rows there are tails, and runs made of them.
$node->safe_psql('postgres', 'INSERT INTO t ' . sprintf $rows, 10_001, 13_000);
like(sql_value($node, 'SELECT min(ctid) FROM t'), qr/^\(1000000,/, 'TIDs are not of the table\'s pages');

my $session = new_session($node);
my @conditions = ('k = 77', 'k BETWEEN 300 AND 400', 'x BETWEEN 3 AND 20 AND y BETWEEN 5 AND 50', 'k < 100 AND x > 50', q{words @@ 'w1 & w2'});
my %right = map { $_ => $session->query_safe("SELECT count(*), sum(k + y) FROM t WHERE $_") } @conditions;
$node->safe_psql('postgres', 'ANALYZE t');
foreach my $kind ('enable_indexscan', 'enable_bitmapscan')
{
	$session->query_safe('SET enable_seqscan = off; SET enable_indexscan = on; SET enable_bitmapscan = on');
	$session->query_safe("SET $kind = off");
	foreach my $condition (@conditions)
	{
		is($session->query_safe("SELECT count(*), sum(k + y) FROM t WHERE $condition"), $right{$condition}, "$condition, without $kind");
	}
}
is($session->query_safe(q{SELECT count(*) FROM gpu.lookup('t_kary', ARRAY[5, 6])}), 26, 'gpu.lookup');
is($session->query_safe(q{SELECT gpu.count('t_kary', ARRAY[300], ARRAY[400])}), 1313, 'gpu.count of a range');
is($session->query_safe(q{SELECT gpu.count('t_grid', ROW(3, 5), ROW(20, 50))}), 828, 'gpu.count of a box');
is($session->query_safe(q{SELECT gpu.count('t_column', 'k < 100 AND x > 50')}), 637, 'gpu.count of columns');
is($session->query_safe(q{SELECT count(*) FROM gpu.search('t_text', 'w1', 10000, 'or')}), sql_value($node, q{SELECT count(*) FROM t WHERE words @@ 'w1'}), 'gpu.search');
is($session->query_safe("SELECT string_agg(problem, '; ') FROM gpu.verify('t_$_')"), '', "gpu.verify of gpu_$_") foreach sort keys %columns;

# gpu_column keeps a block's rows as bits, and PostgreSQL's own bitmaps have no higher offset number, either.
$node->safe_psql('postgres', 'CREATE TABLE far (k int, x int, y int, words tsvector) USING shifted_heap');
my $far = 'SET shifted_heap.shift = 1000;';
foreach my $method (sort keys %columns)
{
	$node->safe_psql('postgres', "TRUNCATE far; CREATE INDEX far_index ON far USING gpu_$method ($columns{$method})");
	my $complaint = qr/ERROR:  rows of table "far" cannot be indexed by "far_index".*DETAIL:  The table's access method gives TIDs with offset numbers above \d+\..*HINT:  /s;
	my (undef, undef, $err) = $node->psql('postgres', "$far INSERT INTO far " . sprintf $rows, 1, 10);
	like($err, $complaint, "gpu_$method: an insert is refused");
	$node->safe_psql('postgres', 'DROP INDEX far_index');
	(undef, undef, $err) = $node->psql('postgres', "$far INSERT INTO far " . sprintf($rows, 1, 10) . "; CREATE INDEX far_index ON far USING gpu_$method ($columns{$method})");
	like($err, $complaint, "gpu_$method: a build is refused");
}
is(bad_log_lines($node), '', 'nothing died');
$session->quit;
$node->stop;
done_testing();
