# suite: check
# Without preloading, what is shared is taken from what shared memory has left, structure by structure. Here there is room for
# what is counted of indexes, and then none for the reasons of fallbacks: views tell what is known.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('full', conf => "shared_preload_libraries = ''\nmax_connections = 20\nmax_locks_per_transaction = 12\nautovacuum = off\n");

# The merge and a request are counted, so that there are structures for both.
$node->safe_psql('postgres', q{
	CREATE TABLE merged (k int);
	CREATE INDEX merged_k ON merged USING gpu_kary (k);
	INSERT INTO merged SELECT generate_series(1, 100000);
	INSERT INTO merged SELECT generate_series(1, 100000);
	SELECT count(*) FROM gpu.merge('merged_k');
	SELECT gpu.count_batch('merged_k', ARRAY[[1], [2]], ARRAY[[5], [6]])});
is(sql_value($node, q{SELECT merges > 0 FROM gpu.indexes WHERE index_name = 'merged_k'::regclass}), 't', 'merges are counted');

# What the table of locks takes once stays its own.
my $error = '';
$node->psql('postgres', q{DO $$ BEGIN FOR i IN 1 .. 1000000 LOOP PERFORM pg_advisory_xact_lock(i); END LOOP; END $$}, stderr => \$error);
like($error, qr/out of shared memory/, 'shared memory is full');

# There is no device, or no server process without preloading: the path falls back, for a reason.
my $answer = $node->safe_psql('postgres', q{
	SET enable_seqscan = off;
	SET pg_gpu.path = 'cuda';
	SELECT count(*) FROM merged WHERE k BETWEEN 5 AND 9000});
is($answer, '17992', 'pages answer');
is(sql_value($node, q{SELECT count(*) FROM gpu.indexes WHERE index_name = 'merged_k'::regclass}), '1', 'gpu.indexes shows the index');
is(sql_value($node, q{SELECT coalesce(string_agg(DISTINCT last_reason, ', '), 'none') IN ('none', 'another reason') FROM gpu.indexes}), 't',
	'and no reason that nobody could keep');
is(sql_value($node, 'SELECT count(*) > 0 FROM gpu.stat'), 't', 'gpu.stat can be read');
unlike(slurp_file($node->logfile), qr/terminated by signal/, 'no backend has crashed');

done_testing();
