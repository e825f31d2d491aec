# suite: check
# Space comes back: without a worker for merges, after most rows were deleted, beside readers, with a damaged run, on a full disk and on a standby.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

# Damage is planted, which checksums would find first. No process can be had for a worker.
my $node = new_node('space', checksums => 0, streaming => 1, conf => "max_worker_processes = 0\nautovacuum = off\n");

my $counted = q{SELECT coalesce(max(requests), 0) FROM gpu.stat WHERE request = 'deferred merge'};
sub runs_of { my ($index) = @_; return sql_value($node, "SELECT count(*) FROM gpu.runs('$index')"); }
sub vacuum { my ($table) = @_; my $result = sql($node, "VACUUM (INDEX_CLEANUP ON, PARALLEL 0) $table"); return is($result->{err}, '', "VACUUM $table"); }

# ---- no worker ----------------------------------------------------------------------------------------------

# Documents weigh much: an insert merges no more than 4,000, and VACUUM 31,000, of which each statement brings more than an eighth.
$node->safe_psql('postgres', q{
CREATE TABLE busy (id int8, note text);
CREATE INDEX busy_k ON busy USING gpu_text (note);
SELECT gpu.stat_reset();
} . join('', map { "INSERT INTO busy SELECT g, 'w' || g % 10 FROM generate_series(1, 5000) AS g;\n" } 1 .. 10));
my $runs = runs_of('busy_k');
cmp_ok($runs, '>', 10, "$runs runs pile up without a worker");
cmp_ok(sql_value($node, $counted), '>', 0, 'which is counted');
cmp_ok(sql_value($node, q{SELECT merges_deferred FROM gpu.indexes WHERE index_name = 'busy_k'::regclass}), '>', 0, 'of the index');
like(slurp_file($node->logfile), qr/LOG:  merge of index "busy_k" was deferred\n.*no background worker can be had.*\n.*HINT:.*max_worker_processes/, 'the log tells');
vacuum('busy') for 1 .. 3;
$runs = runs_of('busy_k');
cmp_ok($runs, '<', 10, "VACUUM merges them itself, $runs are left");
check_sound($node, 'merged without a worker', 'busy_k');
is(sql_value($node, q{SELECT count(*) FROM gpu.search('busy_k', 'w3', 10000)}), 5000, 'all rows are there');
$node->safe_psql('postgres', 'DELETE FROM busy');
vacuum('busy');
is(runs_of('busy_k'), 0, 'of dead entries nothing is left');
cmp_ok(pages_of_index($node, 'busy_k'), '<', 20, 'nor of the file');

# ---- most rows are deleted ----------------------------------------------------------------------------------

my %columns = (gpu_kary => 'id', gpu_grid => 'id, k', gpu_column => 'id, k, note', gpu_text => 'note');
$node->safe_psql('postgres', q{
CREATE TABLE large (id int8, k int8, note text);
INSERT INTO large SELECT g, g * 7919 % 10007, md5(g::text) || ' ' || md5((g / 2)::text) FROM generate_series(1, 20000) AS g;
} . join('', map { "CREATE INDEX large_$_ ON large USING $_ ($columns{$_});\n" } sort keys %columns));
my %before = map { $_ => pages_of_index($node, "large_$_") } keys %columns;
$node->safe_psql('postgres', 'DELETE FROM large WHERE id % 100 <> 7');

# A transaction that has read an index keeps its file as it is, and VACUUM doesn't wait for it.
my $reader = new_session($node);
$reader->query_safe('BEGIN; SET LOCAL enable_seqscan = off; SELECT count(*) FROM large WHERE id BETWEEN 5 AND 500');
vacuum('large');
cmp_ok(pages_of_index($node, 'large_gpu_kary'), '>=', $before{gpu_kary}, 'a file that may be read is not cut off');
is($reader->query_safe('SELECT count(*) FROM large WHERE id BETWEEN 5 AND 500'), 5, 'its reader goes on');
$reader->query_safe('COMMIT');
$node->safe_psql('postgres', 'ALTER TABLE large SET (vacuum_truncate = off)');
vacuum('large');
cmp_ok(pages_of_index($node, 'large_gpu_kary'), '>=', $before{gpu_kary}, 'nor one whose table is not to be');
$node->safe_psql('postgres', 'ALTER TABLE large RESET (vacuum_truncate)');

$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('space_standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
vacuum('large');
foreach my $method (sort keys %columns)
{
	my $pages = pages_of_index($node, "large_$method");
	cmp_ok($pages, '<', $before{$method} / 4, "$method: $pages pages of $before{$method} are left");
	check_sound($node, "$method: gpu.verify finds nothing", "large_$method");
}
my $few = 'SET enable_seqscan = off; SELECT count(*) FROM large WHERE id BETWEEN 5 AND 5000';
wait_for_standby($node, $standby);
is(sql($_, $few)->{out}, 50, 'the same rows as before') foreach $node, $standby;
$node->safe_psql('postgres', q{INSERT INTO large SELECT g, g, md5(g::text) FROM generate_series(100001, 103000) AS g});
wait_for_standby($node, $standby);
is(sql($_, 'SET enable_seqscan = off; SELECT count(*) FROM large WHERE id > 100000')->{out}, 3000, 'the shorter file grows again') foreach $node, $standby;
check_sound($node, "$_: gpu.verify finds nothing in the longer file", "large_$_") foreach sort keys %columns;
$standby->stop;

# ---- a damaged run ------------------------------------------------------------------------------------------

$node->safe_psql('postgres', q{
CREATE TABLE hurt (k int8, note text);
CREATE INDEX hurt_k ON hurt USING gpu_column (k) WITH (fanout = 4);
} . join('', map { "INSERT INTO hurt SELECT g, 'x' FROM generate_series(1, 3000) AS g;\n" } 1 .. 2));
my $file = index_file($node, 'hurt_k');
$node->stop;
{
	# The first page of the last run of the list, which has TIDs: the place of its extents is src/storage/format.h's.
	my $page = read_page($file, 0);
	my $count = unpack('v', substr($page, 24 + 6, 2));
	write_page($file, unpack('V', substr($page, 24 + 128 + 128 * ($count - 1) + 48, 4)), "\0" x BLOCK_SIZE);
}
$node->start;
$node->safe_psql('postgres', 'SELECT gpu.stat_reset()');
my $log = -s $node->logfile;
my $failed = sql($node, join('', map { "INSERT INTO hurt SELECT g, 'y' FROM generate_series(1, 300) AS g;\n" } 1 .. 60));
is($failed->{err}, '', 'no INSERT fails by a merge that meets damage');
is(sql_value($node, $counted), 1, 'the merge is put off, once');
like(slurp_file($node->logfile, $log), qr/LOG:  merge of index "hurt_k" was deferred\n.*corrupted.*\n.*HINT:  Rebuild the index with REINDEX INDEX/, 'the log tells');
cmp_ok(runs_of('hurt_k'), '<', 14, 'the others are merged');
is(sql_value($node, q{SELECT state FROM gpu.indexes WHERE index_name = 'hurt_k'::regclass}), 'damaged', 'gpu.indexes tells');
cmp_ok(sql_value($node, q{SELECT count(*) FROM gpu.verify('hurt_k')}), '>', 0, 'and gpu.verify');
is(sql($node, 'VACUUM hurt')->{err}, '', 'VACUUM that removes nothing goes on');
is(sql($node, 'SET enable_seqscan = off; SELECT count(note) FROM hurt WHERE k = 5')->{code}, 'XX002', 'a reader is told');
is(sql($node, q{SELECT * FROM gpu.merge('hurt_k')})->{code}, 'XX002', 'and whoever asks for a merge');
$node->safe_psql('postgres', 'REINDEX INDEX hurt_k');
is(sql_value($node, q{SELECT gpu.count('hurt_k', 'k > 0')}), 24_000, 'REINDEX mends it');

$node->stop;
done_testing();
