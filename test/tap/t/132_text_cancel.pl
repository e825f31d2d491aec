# suite: check
# gpu_text: builds, merges and vacuums cancelled at every point of their work: a clear error, nothing left behind,
# nothing lost, and the index usable. Small tables by default, larger ones in a long run.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use Test::More;

fault_seed();

my $rows = rounds(20_000, 300_000);
my $node = new_node('cancel', conf => q{
min_parallel_table_scan_size = 0
max_parallel_maintenance_workers = 0
shared_buffers = 64MB
});
$node->safe_psql('postgres', qq{
CREATE TABLE doc (id int, tsv tsvector) WITH (parallel_workers = 2);
SELECT setseed(0.5);
INSERT INTO doc SELECT i, to_tsvector('simple', (SELECT string_agg('w' || floor(20000 ^ random()), ' ') FROM generate_series(1, 20 + i % 2)))
FROM generate_series(1, $rows) AS i;
CREATE INDEX doc_tsv ON doc USING gpu_text (tsv);
});

sub check_table
{
	my ($when) = @_;
	check_sound($node, "doc_tsv is sound $when", 'doc_tsv');
	my $query = q{SELECT count(*), sum(id) FROM doc WHERE tsv @@ 'w7 & w1 | w1234'};
	is(sql_value($node, "SET enable_seqscan = off; $query"), sql_value($node, "SET enable_indexscan = off; SET enable_bitmapscan = off; $query"),
		"answers $when");
	return;
}

my %builds = (
	'serial' => "SET maintenance_work_mem = '256MB';",
	'little memory' => "SET maintenance_work_mem = '1MB';",
	'parallel' => "SET max_parallel_maintenance_workers = 2; SET maintenance_work_mem = '256MB';",
	'parallel, little memory' => "SET max_parallel_maintenance_workers = 2; SET maintenance_work_mem = '1MB';");
break_statement($node, "build, $_", settings => $builds{$_}, statement => 'CREATE INDEX built ON doc USING gpu_text (tsv)',
	after => 'DROP INDEX IF EXISTS built', long => 1) foreach sort keys %builds;
check_table('after cancelled builds');

my $insert = 'INSERT INTO doc SELECT id + 1000000, tsv FROM doc LIMIT ';
break_statement($node, 'insert', statement => $insert . int($rows / 8), long => 1);
break_statement($node, 'merge', before => $insert . 2000, statement => q{SELECT count(*) FROM gpu.merge('doc_tsv')}, long => 1,
	undone => q{SELECT count(*) > 1 FROM gpu.runs('doc_tsv')});
break_statement($node, 'vacuum', before => 'DELETE FROM doc WHERE ctid = ANY (ARRAY(SELECT ctid FROM doc WHERE random() < 0.05))',
	statement => 'VACUUM (INDEX_CLEANUP ON) doc', long => 1);
check_table('after cancelled writes');

$node->stop;
done_testing();
