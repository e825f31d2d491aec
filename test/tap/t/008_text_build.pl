# CREATE INDEX of gpu_text on more than fits into maintenance_work_mem: its memory, its temporary files, the phases that
# pg_stat_progress_create_index shows, and the same answers as of an index built within memory.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_cluster('build', conf => "log_temp_files = 0\n");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE doc (id int, tsv tsvector);
SELECT setseed(0.5);
INSERT INTO doc SELECT i, to_tsvector('simple', (SELECT string_agg('w' || floor(30000 ^ random()), ' ') FROM generate_series(1, 60 + i % 2)) || ' only' || i)
FROM generate_series(1, 15000) AS i;
-- A row at which a build waits while somebody else holds the lock.
CREATE FUNCTION waiting(vector tsvector, id int) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF id = 14000 THEN PERFORM pg_advisory_lock_shared(1); PERFORM pg_advisory_unlock_shared(1); END IF;
	RETURN vector;
END $$;
CREATE FUNCTION answers(index regclass) RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(format('%s %s %s', n, tid, score), ' ' ORDER BY n, place))
	FROM generate_series(1, 60) AS n, gpu.search(index, format('w%s | w%s | only%s', n, n * n, n * 7)::tsquery, 100, 'or') WITH ORDINALITY AS x (tid, score, place)
$$;
VACUUM ANALYZE doc;
SET maintenance_work_mem = '256MB';
CREATE INDEX large_memory ON doc USING gpu_text (tsv);
SQL

my $holder = new_session($node);
$holder->query_safe('SELECT pg_advisory_lock(1)');
my $builder = new_session($node);
my $process = $builder->query_safe('SELECT pg_backend_pid()');
$builder->query_safe("SET maintenance_work_mem = '1MB'");
$builder->query_safe('SELECT 1');
my $idle = anonymous_bytes($process);
my $log = -s $node->logfile;
$builder->query_until(qr/begun/, "\\echo begun\nCREATE INDEX small_memory ON doc USING gpu_text (waiting(tsv, id));\n");

ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}), 'the build waits in its scan');
is($node->safe_psql('postgres', 'SELECT phase FROM pg_stat_progress_create_index'), 'building index: scanning table and inverting documents', 'the phase it is in');
ok($node->safe_psql('postgres', 'SELECT blocks_done BETWEEN 1 AND blocks_total FROM pg_stat_progress_create_index') eq 't', 'blocks are counted');
my $scanning = anonymous_bytes($process);

# The next phases pass in a moment: a session that does nothing else looks for them.
my $watcher = new_session($node);
$watcher->query_until(qr/watching/, <<'SQL');
\echo watching
CREATE TEMP TABLE seen (phase text);
DO $$
DECLARE now text;
BEGIN
	LOOP
		PERFORM pg_stat_clear_snapshot();
		SELECT phase INTO now FROM pg_stat_progress_create_index;
		EXIT WHEN NOT FOUND;
		IF NOT EXISTS (SELECT FROM seen WHERE phase = now) THEN INSERT INTO seen VALUES (now); END IF;
	END LOOP;
END $$;
SQL
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'DO%' AND state = 'active'}), 'the phases are watched');
$holder->query_safe('SELECT pg_advisory_unlock(1)');
is($builder->query_safe('SELECT 1'), '1', 'the build ends');
my $seen = $watcher->query_safe('SELECT string_agg(phase, $$, $$) FROM seen');
like($seen, qr/building index: merging and writing lists/, 'the phase of writing is seen');

# A megabyte, what the allocator keeps free, and what any backend comes to need for its first build.
my $limit = 6 * 2**20;
SKIP:
{
	skip 'memory of processes is not told here', 1 unless defined $idle;
	cmp_ok($scanning - $idle, '<', $limit, "memory beyond an idle session's stays low");
}
my $temporary = () = slurp_file($node->logfile, $log) =~ /temporary file: path/g;
cmp_ok($temporary, '>=', 4, "$temporary temporary files were needed");

my ($one, $other) = split /\|/, $node->safe_psql('postgres', q{SELECT answers('large_memory'), answers('small_memory')});
is($other, $one, 'the answers are those of a build within memory');
is($node->safe_psql('postgres', q{SELECT pg_relation_size('large_memory') = pg_relation_size('small_memory')}), 't', 'and so is the size');
check_sound($node, 'small_memory is sound', 'small_memory');

$_->quit for $holder, $builder, $watcher;
$node->stop;
done_testing();

# What a process has of its own; undef where that can't be read.
sub anonymous_bytes
{
	my ($pid) = @_;
	open(my $status, '<', "/proc/$pid/status") or return;
	my ($kilobytes) = map { /^RssAnon:\s+(\d+)/ ? $1 : () } <$status>;
	return defined $kilobytes ? $kilobytes * 1024 : undef;
}
