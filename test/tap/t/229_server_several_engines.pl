# suite: check
# Three host engines in one server process stand for devices: runs are shared out among them, questions are asked of all that
# have runs, and the answers are added up; an engine that is lost ends alone; limits are so small that no engine could hold
# all of an index.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

local $ENV{PG_GPU_SERVER} = server_with('--engines host,host,host --kept-together 0 --testing');
my $node = new_node('engines', conf => "autovacuum = off\npg_gpu.request_timeout = 60s\npg_gpu.min_mirror_entries = 0\n");
$node->safe_psql('postgres', q{
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE TABLE t (k int8, x int8, n float8, c text, v tsvector);
CREATE FUNCTION add(first int8, last int8) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, i % 1000, CASE WHEN i % 11 > 0 THEN i % 500 / 4.0 END, 'c' || i % 10, to_tsvector('simple', 'common w' || i % 7 || ' u' || i)
	FROM generate_series(first, last) AS i $$;
SELECT add(1, 6000);
CREATE INDEX t_kary ON t USING gpu_kary (k);
CREATE INDEX t_grid ON t USING gpu_grid (k, x);
CREATE INDEX t_column ON t USING gpu_column (k, n, c);
CREATE INDEX t_text ON t USING gpu_text (v);
});
my @indexes = qw(t_kary t_grid t_column t_text);
# Each index has several runs.
sql_value($node, "SELECT add($_ * 3000 + 1, $_ * 3000 + 3000)") foreach 2 .. 5;
foreach my $index (@indexes)
{
	cmp_ok(sql_value($node, "SELECT count(*) FROM gpu.runs('$index') WHERE entries > 0"), '>', 2, "$index has several runs");
}

my $keys = q{ARRAY(SELECT generate_series(1, 20000::bigint, 3))};
my @questions = (
	"SELECT count(*), sum((l.tid::text::point)[0]), sum(ordinal) FROM gpu.lookup('t_kary', $keys) AS l",
	"SELECT gpu.count('t_kary', ARRAY[777], ARRAY[15000])",
	q{SELECT ordinal, count FROM gpu.count_batch('t_kary', ARRAY(SELECT ARRAY[i] FROM generate_series(1, 20000::bigint, 500) AS i), ARRAY(SELECT ARRAY[i + 890] FROM generate_series(1, 20000::bigint, 500) AS i)) ORDER BY 1},
	"SET enable_seqscan = off; SET enable_indexscan = off; SET pg_gpu.enable_count_scan = off; SELECT count(*), sum(x) FROM t WHERE k = ANY ($keys)",
	'SET enable_seqscan = off; SELECT count(*), sum(k), sum(x) FROM t WHERE k BETWEEN 500 AND 14000 AND x < 400',
	q{SELECT ordinal, count FROM gpu.count_batch('t_grid', ARRAY(SELECT ROW(i, i % 500) FROM generate_series(1, 20000::bigint, 500) AS i), ARRAY(SELECT ROW(i + 5000, i % 500 + 400) FROM generate_series(1, 20000::bigint, 500) AS i)) ORDER BY 1},
	q{SELECT count(*), sum(ordinal), sum((l.tid::text::point)[0]) FROM gpu.lookup('t_grid', ARRAY(SELECT ROW(i, i % 1000) FROM generate_series(1, 20000::bigint, 3) AS i)) AS l},
	q{SELECT gpu.count('t_column', $$c <> 'c3' AND n < 100$$)},
	q{SELECT value, count FROM gpu.dictionary('t_column', 'c', 'k > 100') ORDER BY 1},
	q{SELECT bin, count FROM gpu.histogram('t_column', 'n', 16, filter => 'k > 7') ORDER BY 1},
	q{SELECT count, nulls, distinct_values, minimum, maximum, sum FROM gpu.summary('t_column', 'n')},
	q{SELECT tid, score FROM gpu.search('t_text', 'w3 & common', 2000, 'and') ORDER BY score DESC, tid},
	q{SELECT ordinal, tid, score FROM gpu.search_batch('t_text', ARRAY['w3 | u9000', 'w1 & common', 'u5 | u17999']::tsquery[], 20, 'or') ORDER BY 1, 3 DESC, 2},
	q{SELECT tid FROM gpu.intersect('t_text', ARRAY['w3', 'common']) AS tid ORDER BY 1},
	'SELECT c, count(*), sum(k), sum(n), avg(n), stddev(k), min(n), max(k), bit_and(k) FROM t WHERE k > 50 GROUP BY c ORDER BY c',
	'SELECT sum(k), avg(n), count(*) FILTER (WHERE n > 50) FROM t',
	'SELECT k % 100, sum(k) FROM t GROUP BY 1 HAVING sum(k) > 1600000 ORDER BY 1',
	'SELECT k, sum(n) FROM t GROUP BY k ORDER BY sum(n) DESC NULLS LAST, k LIMIT 7',
	'SELECT count(DISTINCT k), count(DISTINCT c) FROM t WHERE n > 10',
	'SELECT DISTINCT n FROM t ORDER BY n LIMIT 400',
	'SELECT k, n, c FROM t ORDER BY n DESC NULLS LAST, k LIMIT 25',
	'SELECT k, c FROM t WHERE n > 3 ORDER BY c, k DESC LIMIT 25 OFFSET 5');

# Compares the answers of the three engines with those of pages, of aggregates with PostgreSQL's own; returns how many requests
# the server process answered.
sub compare
{
	my ($title) = @_;
	my $own = 'SET pg_gpu.path = paged; SET pg_gpu.enable_aggregate = off; SET pg_gpu.enable_sort = off';
	my $answered = 'SELECT coalesce(sum(requests), 0) FROM gpu.stat WHERE path = $$host$$';
	my $before = sql_value($node, $answered);
	my $number = 0;
	foreach my $question (@questions)
	{
		$number++;
		is(sql_value($node, "SET pg_gpu.path = host; $question"), sql_value($node, "$own; $question"), "$title: question $number");
	}
	cmp_ok(sql_value($node, $answered) - $before, '>=', scalar @questions, "$title: the server process has answered");
	return;
}

sub engines_in_use { return sql_value($node, q{SELECT string_agg(DISTINCT device::text, ' ' ORDER BY device::text) FROM gpu.mirrors}); }

compare('shared out');
is(engines_in_use(), '0 1 2', 'each engine has runs');
is(sql_value($node, q{SELECT count(*) FROM (SELECT index_name FROM gpu.mirrors GROUP BY index_name HAVING count(DISTINCT device) = 3) AS spread}),
	4, 'of each index');
is(sql_value($node, q{SELECT string_agg(DISTINCT index_name::text, ' ') FROM gpu.mirrors WHERE parts > 1}), 't_column', 'runs of gpu_column are divided');
is(sql_value($node, q{SELECT count(*) FROM (SELECT m.run_id FROM gpu.mirrors AS m JOIN gpu.runs('t_column') AS r USING (run_id)
	GROUP BY m.run_id, r.entries HAVING sum(m.entries) <> r.entries OR count(*) <> max(m.parts) OR count(DISTINCT m.device) <> count(*)) AS wrong}),
	0, 'and their parts are all of them, each on another engine');
is(sql_value($node, q{SELECT string_agg(concat_ws(' ', device, name, engine, state, reason, memory_limit > memory_used, memory_used > 0), '; ' ORDER BY device) FROM gpu.devices()}),
	'0 host host ready t t; 1 host host ready t t; 2 host host ready t t', 'gpu.devices tells of each');

# Entries that are dead, on blocks that aren't all-visible, and those on blocks that are.
sql_value($node, 'DELETE FROM t WHERE k % 9 = 0');
compare('after a DELETE');
$node->safe_psql('postgres', 'VACUUM t');
compare('after VACUUM');
sql_value($node, 'UPDATE t SET n = n + 1 WHERE k % 500 = 0');
compare('beside changed blocks');

# A merge of runs that are on several engines.
$node->safe_psql('postgres', "SET pg_gpu.path = host; SELECT gpu.load('$_')") foreach @indexes;
$node->safe_psql('postgres', "SET pg_gpu.path = host; SELECT count(*) FROM gpu.merge('$_')") foreach @indexes;
is(sql_value($node, "SELECT count(*) FROM gpu.verify('$_')"), 0, "$_ is sound after a merge") foreach @indexes;
compare('after a merge');
sql_value($node, "SELECT add($_ * 1000 + 1, $_ * 1000 + 1000)") foreach 18 .. 22;
compare('with new runs');

# ---- an engine is lost --------------------------------------------------------------------------------------------------

my $pid = wait_for_server($node);
my $states = q{SELECT string_agg(state, ' ' ORDER BY device) FROM gpu.devices()};
kill 'USR1', $pid;
compare('one engine lost');
is(sql_value($node, $states), 'ready ready lost', 'which is told');
isnt(sql_value($node, q{SELECT reason FROM gpu.devices() WHERE state = 'lost'}), '', 'with a reason');
is(engines_in_use(), '0 1', 'the others have its runs');
kill 'USR1', $pid;
compare('two engines lost');
is(sql_value($node, $states), 'ready lost lost', 'the last one serves');
is(wait_for_server($node), $pid, 'by the same server process');
kill 'USR1', $pid;
my $lookup = "SELECT count(*) FROM gpu.lookup('t_kary', $keys)";
is(sql_value($node, "SET pg_gpu.path = host; $lookup"), sql_value($node, "SET pg_gpu.path = paged; $lookup"), 'pages answer when the last one is lost');
$pid = wait_for_server($node, $pid);
ok(wait_until(sub { return sql_value($node, $states) eq 'ready ready ready' }), 'and a new server process has all of them');
ok(wait_until(sub { return sql($node, q{SET pg_gpu.path = host; SELECT gpu.load('t_kary')})->{code} eq '' }), 'which loads again');
compare('in a new server process');

# ---- no engine could hold it all ----------------------------------------------------------------------------------------

my $bytes = sql_value($node, q{SELECT sum(bytes) FROM gpu.mirrors WHERE index_name = 't_text'::regclass});
my $largest = sql_value($node, q{SELECT max(bytes) FROM gpu.mirrors});
my $limit = int(($bytes / 2 > $largest * 1.5 ? $bytes / 2 : $largest * 1.5) / 1024) + 64;
set_host_limit($node, "${limit}kB");
is(sql_value($node, "SELECT count(*) FROM gpu.devices() WHERE memory_used > memory_limit"), 0, 'limits hold at once')
  if wait_until(sub { return sql_value($node, 'SELECT max(memory_limit) FROM gpu.devices()') <= 1048576 * (int($limit / 1024) + 1) });
foreach my $question (@questions)
{
	is(sql_value($node, "SET pg_gpu.path = host; $question"), sql_value($node, "SET pg_gpu.path = paged; SET pg_gpu.enable_aggregate = off; SET pg_gpu.enable_sort = off; $question"),
		'with little memory, the same answer');
}
is(sql_value($node, 'SELECT count(*) FROM gpu.devices() WHERE memory_used > memory_limit'), 0, 'and no engine has more than it may');

# ---- the setting --------------------------------------------------------------------------------------------------------

foreach my $wrong ('first', '0,0', '0,', 'GPU-12', '-1')
{
	like(query_error($node, "LOAD 'pg_gpu'; ALTER SYSTEM SET pg_gpu.devices = '$wrong'"), qr/invalid value for parameter "pg_gpu.devices"/, "'$wrong' is no list of devices");
}
my $from = -s $node->logfile;
$node->safe_psql('postgres', "LOAD 'pg_gpu'; ALTER SYSTEM SET pg_gpu.devices = '0, GPU-00000000-0000-0000-0000-00000000000a'");
$node->reload;
ok(wait_for_log($node, qr/ended: pg_gpu.devices was changed/, $from), 'a change restarts the server process');
wait_for_server($node, $pid);
compare('with a list of devices');

# So many groups stay where they were found until it is known whether a device merges them. None does here, so that they are read then.
$node->safe_psql('postgres', q{
CREATE TABLE many (k int8, x int8);
INSERT INTO many SELECT i, i % 977 FROM generate_series(1, 90000) AS i;
CREATE INDEX many_i ON many USING gpu_column (k, x);
INSERT INTO many SELECT i, i % 977 FROM generate_series(60000, 150000) AS i;
});
$node->safe_psql('postgres', 'VACUUM ANALYZE many');
foreach my $question ('SELECT k, sum(x) FROM many GROUP BY k ORDER BY sum(x) DESC, k LIMIT 9', 'SELECT count(DISTINCT k) FROM many',
	'SELECT count(*), sum(hashint8(k) * s) FROM (SELECT k, sum(x) AS s FROM many GROUP BY k) AS g')
{
	my $expected = sql_value($node, "SET pg_gpu.path = paged; SET pg_gpu.enable_aggregate = off; $question");
	my $by_host = "SET enable_seqscan = off; SET pg_gpu.path = host";
	like(sql_value($node, "$by_host; EXPLAIN $question"), qr/GpuAggregate/, "a node answers: $question");
	is(sql_value($node, "$by_host; $question"), $expected, 'and adds up groups of several engines');
}
cmp_ok(sql_value($node, q{SELECT count(DISTINCT device) FROM gpu.mirrors WHERE index_name = 'many_i'::regclass AND entries > 20000}), '>', 1,
	'more than one of them has many');

done_testing();
