# suite: check
# gpu_grid: statements cancelled at every point of their work: a clear error, nothing left behind, nothing lost, and
# the index usable. Small tables by default, millions of rows in a long run.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use Test::More;

fault_seed();

my $rows = rounds(150_000, 2_000_000);
my $node = new_node('cancel', conf => q{
min_parallel_table_scan_size = 0
max_parallel_maintenance_workers = 0
shared_buffers = 64MB
});
$node->safe_psql('postgres', qq{
CREATE TABLE spread (id bigserial, k int8, l int4, p point) WITH (parallel_workers = 2);
INSERT INTO spread (k, l, p) SELECT i * 7919::int8 % 1000003, CASE WHEN i % 97 <> 0 THEN i % 1009 END, point(i * 7919::int8 % 10007, i * 104729::int8 % 9973)
FROM generate_series(1, $rows) AS i;
CREATE INDEX spread_kl ON spread USING gpu_grid (k, l);
CREATE INDEX spread_p ON spread USING gpu_grid (p);
CREATE TABLE same (id bigserial, k int8, p point);
INSERT INTO same (k, p) SELECT 42, '(4,2)' FROM generate_series(1, $rows);
CREATE INDEX same_kp ON same USING gpu_grid (k, p);
});

sub check_tables
{
	my ($when) = @_;
	check_sound($node, "$_ is sound $when", $_) foreach (qw(spread_kl spread_p same_kp));
	my %boxes = (spread => 'k BETWEEN 1000 AND 90000 AND l < 500', 'spread ' => q{p <@ box '(50,50),(3000,2000)'},
		same => q{k = 42 AND p <@ box '(0,0),(5,5)'});
	foreach my $table (sort keys %boxes)
	{
		my $query = "SELECT count(*), sum(id) FROM $table WHERE $boxes{$table}";
		is(sql_value($node, "SET enable_seqscan = off; $query"), sql_value($node, "SET enable_indexscan = off; SET enable_bitmapscan = off; $query"),
			"$boxes{$table} $when");
	}
	return;
}

my %columns = (spread => 'k, p, l', same => 'k, p');
my %builds = (
	'serial' => "SET maintenance_work_mem = '256MB';",
	'little memory' => "SET maintenance_work_mem = '1MB';",
	'parallel' => "SET max_parallel_maintenance_workers = 2; SET maintenance_work_mem = '256MB';");
foreach my $table (sort keys %columns)
{
	foreach my $name (sort keys %builds)
	{
		break_statement($node, "build of $table, $name", settings => $builds{$name},
			statement => "CREATE INDEX built ON $table USING gpu_grid ($columns{$table})", after => 'DROP INDEX IF EXISTS built', long => 1);
	}
}
break_statement($node, 'build, concurrently', statement => 'CREATE INDEX CONCURRENTLY built ON spread USING gpu_grid (p, k)',
	after => 'DROP INDEX IF EXISTS built', long => 1);
check_tables('after cancelled builds');

my $few = int($rows / 4);
my %new = (spread => "i, i % 1000, point(i % 9999, i % 777)", same => "42, 1, '(4,2)'");
foreach my $table (sort keys %new)
{
	my $insert = "INSERT INTO $table (k, " . ($table eq 'spread' ? 'l, p' : 'id, p') . ") SELECT $new{$table} FROM generate_series(1, ";
	my $index = $table eq 'spread' ? 'spread_kl' : 'same_kp';
	break_statement($node, "insert into $table", statement => "$insert $few) AS i", long => 1);
	break_statement($node, "merge of $table", before => "$insert 3000) AS i", statement => "SELECT count(*) FROM gpu.merge('$index')", long => 1,
		undone => "SELECT count(*) > 1 FROM gpu.runs('$index')");
	break_statement($node, "vacuum of $table", before => "DELETE FROM $table WHERE ctid = ANY (ARRAY(SELECT ctid FROM $table WHERE random() < 0.05))",
		statement => "VACUUM (INDEX_CLEANUP ON) $table", long => 1);
}
check_tables('after cancelled writes');

# No block is all-visible, so that every entry is looked up in the table.
$node->safe_psql('postgres', 'UPDATE spread SET id = id WHERE id % 20 = 0');
my $no_other = 'SET enable_seqscan = off; SET enable_sort = off;';
my $only = "$no_other SET enable_bitmapscan = off;";
my %reads = (
	'index-only scan' => [ "$only SET pg_gpu.enable_count_scan = off;", 'SELECT count(*) FROM spread WHERE k >= 0' ],
	'index scan' => [ $only, 'SELECT sum(id) FROM spread WHERE k >= 0' ],
	'bitmap scan' => [ "$no_other SET enable_indexscan = off;", 'SELECT count(id) FROM spread WHERE k >= 0' ],
	'nearest neighbours' => [ $only, q{SELECT count(id) FROM (SELECT id FROM spread ORDER BY p <-> point '(500,500)' OFFSET 0) AS s} ],
	'nearest neighbours, index-only' => [ $only, q{SELECT count(d) FROM (SELECT p <-> point '(500,500)' AS d FROM spread ORDER BY 1 OFFSET 0) AS s} ],
	'nearest of identical points' => [ $only, q{SELECT count(id) FROM (SELECT id FROM same ORDER BY p <-> point '(500,500)' OFFSET 0) AS s} ],
	'count scan' => [ $only, 'SELECT count(*) FROM spread WHERE k >= 0 AND l >= 0' ],
	'gpu.count' => [ '', q{SELECT gpu.count('spread_kl', ROW(0, 0), ROW(NULL::int8, NULL::int4))} ],
	'gpu.verify' => [ '', q{SELECT count(*) FROM gpu.verify('spread_kl', true)} ],);
foreach my $name (sort keys %reads)
{
	my ($settings, $statement) = @{ $reads{$name} };
	break_statement($node, $name, settings => $settings, statement => $statement, no_terminate => 1, long => 1);
}
check_tables('at the end');
is(sql_value($node, q{SELECT count(*) FROM pg_locks WHERE locktype <> 'virtualxid' AND pid <> pg_backend_pid()}), 0, 'no lock is left');

$node->stop;
done_testing();
