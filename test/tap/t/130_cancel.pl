# suite: check
# Statements cancelled at every point of their work: a clear error, nothing left behind, nothing lost, and
# the index usable. Small tables by default, millions of rows (and of equal keys) in a long run.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $rows = rounds(200_000, 2_000_000);
my $equal_rows = rounds(300_000, 10_000_000);

my $node = new_node('cancel', conf => qq{
min_parallel_table_scan_size = 0
max_parallel_maintenance_workers = 0
shared_buffers = 64MB
});
make_table($node, rows => $rows, keys => 10_000_000);
$node->safe_psql(
	'postgres', qq{
CREATE TABLE equal (id bigserial, k int8);
INSERT INTO equal (k) SELECT 42 FROM generate_series(1, $equal_rows);
CREATE INDEX equal_k ON equal USING gpu_kary (k);
CREATE TABLE keys AS SELECT array_agg(k) AS list FROM t;
});

# Sizes of all files of the database: what a cancelled build leaves would show here.
sub database_size
{
	$node->safe_psql('postgres', 'CHECKPOINT');
	return sql_value($node, 'SELECT pg_database_size(current_database())');
}

# ---- builds -------------------------------------------------------------------------------------------------

my $size = database_size();
foreach my $table ('t', 'equal')
{
	my $build = "CREATE INDEX built ON $table USING gpu_kary (k)";
	my %tries = (
		'serial' => "SET maintenance_work_mem = '256MB';",
		'little memory' => "SET maintenance_work_mem = '1MB';",
		'parallel' => "SET max_parallel_maintenance_workers = 2; SET maintenance_work_mem = '256MB';",
		'parallel, little memory' => "SET max_parallel_maintenance_workers = 2; SET maintenance_work_mem = '1MB';",);
	foreach my $name (sort keys %tries)
	{
		next if $table eq 'equal' && $name =~ /^parallel$|^serial$/;
		break_statement($node, "build of $table, $name", settings => $tries{$name}, statement => $build,
			before => "ALTER TABLE $table SET (parallel_workers = 2)",
			after => 'DROP INDEX IF EXISTS built', long => 1);
	}
}
break_statement($node, 'build, concurrently', statement => 'CREATE INDEX CONCURRENTLY built ON t USING gpu_kary (k)',
	after => 'DROP INDEX IF EXISTS built', long => 1);
break_statement($node, 'reindex', statement => 'REINDEX INDEX t_k', long => 1);

# Catalogs may grow by a little; an index that stays behind is larger than this.
cmp_ok(database_size(), '<', $size + sql_value($node, q{SELECT pg_relation_size('t_k') / 2}),
	'cancelled builds leave no files behind');
check_usable($node, 't', 'after cancelled builds', keys => 10_000_000);

# ---- writes -------------------------------------------------------------------------------------------------

foreach my $table ('t', 'equal')
{
	my $few = int($rows / 4);
	my $key = $table eq 't' ? 'i * 1009 % 10000000' : '42';
	break_statement($node, "insert into $table",
		statement => "INSERT INTO $table (k) SELECT $key FROM generate_series(1, $few) AS i", long => 1);
	break_statement($node, "merge of $table", before => "INSERT INTO $table (k) SELECT $key FROM generate_series(1, 3000) AS i",
		statement => "SELECT count(*) FROM gpu.merge('${table}_k')", long => 1,
		undone => "SELECT count(*) > 1 FROM gpu.runs('${table}_k')");
	break_statement($node, "vacuum of $table", before => "DELETE FROM $table WHERE id % 20 = floor(random() * 20)",
		statement => "VACUUM (INDEX_CLEANUP ON) $table", long => 1);
	check_usable($node, $table, 'after cancelled writes', keys => 10_000_000);
}

# A cancelled statement inside a transaction takes back its own rows only.
my $inside = sql($node, qq{
BEGIN;
INSERT INTO t (k) SELECT 20000000 FROM generate_series(1, 1500);
SAVEPOINT s;
DO \$\$ BEGIN
	SET LOCAL statement_timeout = 0;
	INSERT INTO t (k) SELECT 20000000 FROM generate_series(1, 3000);
	RAISE query_canceled;
EXCEPTION WHEN query_canceled THEN NULL; END \$\$;
INSERT INTO t (k) SELECT 20000000 FROM generate_series(1, 1500);
COMMIT;
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE k = 20000000;
});
is($inside->{err} . $inside->{out}, '3000', 'a cancel caught in a subtransaction takes back only its rows');

# ---- reads --------------------------------------------------------------------------------------------------

my $no_other = 'SET enable_seqscan = off; SET enable_sort = off;';
my %reads = (
	'index-only scan' => [ "$no_other SET enable_bitmapscan = off;", 'SELECT count(*) FROM t WHERE k >= 0' ],
	'index scan, backwards' =>
	  [ "$no_other SET enable_indexonlyscan = off;", 'SELECT count(*) FROM (SELECT id FROM t ORDER BY k DESC OFFSET 0) AS s' ],
	'bitmap scan' => [ "$no_other SET enable_indexscan = off;", 'SELECT count(id) FROM t WHERE k >= 0' ],
	'array' => [ $no_other, 'SELECT count(*) FROM t, keys WHERE k = ANY (list)' ],
	'gpu.lookup' => [ '', q{SELECT count(*) FROM keys, gpu.lookup('t_k', list)} ],
	'gpu.lookup, equal keys' => [ '', q{SELECT count(*) FROM gpu.lookup('equal_k', ARRAY[42, 42])} ],
	'gpu.verify' => [ '', q{SELECT count(*) FROM gpu.verify('t_k', true)} ],
	'gpu.verify, equal keys' => [ '', q{SELECT count(*) FROM gpu.verify('equal_k', true)} ],
	'gpu.count' => [ '', q{SELECT gpu.count('t_k', ARRAY[0::int8], ARRAY[NULL::int8])} ],
	'equal keys' => [ $no_other, 'SELECT count(*) FROM equal WHERE k = 42' ],);

# Rows of which no block is all-visible: every entry is looked up in the heap.
$node->safe_psql('postgres', 'UPDATE t SET k = k WHERE id % 50 = 0');
foreach my $name (sort keys %reads)
{
	my ($settings, $statement) = @{ $reads{$name} };
	break_statement($node, $name, settings => $settings, statement => $statement, no_terminate => 1,
		long => $name =~ /verify|lookup|scan/ ? 1 : 0);
}

check_usable($node, 't', 'at the end', keys => 10_000_000);
check_usable($node, 'equal', 'at the end');
is(sql_value($node, q{SELECT count(*) FROM pg_locks WHERE locktype <> 'virtualxid' AND pid <> pg_backend_pid()}),
	0, 'no lock is left');

$node->stop;
done_testing();
