# suite: long
# Half a million random updates of a column, with a VACUUM whenever a fifth of the rows has changed, as autovacuum does it: the indexes' files
# stay at most two and a half times as large as they were made. Their sizes are shown beside btree's. Rows lie in random order from the start: in the end
# they do, and columns of sorted ids take less.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use Test::More;

fault_seed();

my $rows = $ENV{PG_GPU_BLOAT_ROWS} // 100_000;
my $updates = 5 * $rows;
my $node = new_node('bloat', conf => "autovacuum = off\nshared_buffers = 128MB\nmax_worker_processes = 8\nsynchronous_commit = off\n");
my %columns = (gpu_kary => 'k', gpu_grid => 'k, id', gpu_column => 'k, id', gpu_text => 'note', btree => 'k');
$node->safe_psql('postgres', join('', "
CREATE TABLE t (id int8, k int8, note text) WITH (fillfactor = 70);
SELECT setseed(0.5);
INSERT INTO t SELECT g, (g * 7919) % 1000003, 'w' || (g % 1009) || ' ' || md5(g::text) FROM generate_series(1, $rows) AS g ORDER BY random();
CREATE INDEX t_id ON t (id);
", map { "CREATE INDEX t_$_ ON t USING $_ ($columns{$_});\n" } sort keys %columns));
$node->safe_psql('postgres', 'VACUUM (ANALYZE) t');
my %first = map { $_ => pages_of_index($node, "t_$_") } keys %columns;
my %most = %first;
my $batch = int($rows / 25);
for my $round (1 .. $updates / $batch)
{
	$node->safe_psql('postgres', "UPDATE t SET k = (k + 7919) % 1000003, note = 'w' || (k % 1009) || ' ' || md5(k::text) WHERE id IN (SELECT 1 + floor(random() * $rows)::int8 FROM generate_series(1, $batch))");
	$node->safe_psql('postgres', 'VACUUM (PARALLEL 0, INDEX_CLEANUP ON) t') if $round % 5 == 0;
	foreach my $method (keys %columns)
	{
		my $pages = pages_of_index($node, "t_$method");
		$most{$method} = $pages if $pages > $most{$method};
	}
}
foreach my $method (sort keys %columns)
{
	my $now = pages_of_index($node, "t_$method");
	my $figures = sprintf '%s: %d pages at first, at most %.2f and in the end %.2f times as many', $method, $first{$method}, $most{$method} / $first{$method}, $now / $first{$method};
	if ($method eq 'btree') { note($figures); next; }
	cmp_ok($most{$method}, '<=', 2.5 * $first{$method}, $figures);
	check_sound($node, "$method: gpu.verify finds nothing", "t_$method");
}
$node->stop;
done_testing();
