# Indexes of each access method on one table, in several runs each, and questions of every kind to them: for tests of where the server process computes.
package PgGpuTest::EveryRequest;

use strict;
use warnings FATAL => 'all';

use PgGpuTest;
use PgGpuTest::Faults;
use Test::More;

use Exporter 'import';
our @EXPORT = qw(make_every_index every_index every_question compare_with_pages);

sub every_index { return qw(t_kary t_grid t_column t_text); }

sub make_every_index
{
	my ($node) = @_;
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
	sql_value($node, "SELECT add($_ * 3000 + 1, $_ * 3000 + 3000)") foreach 2 .. 5;
	foreach my $index (every_index())
	{
		cmp_ok(sql_value($node, "SELECT count(*) FROM gpu.runs('$index') WHERE entries > 0"), '>', 2, "$index has several runs");
	}
	return;
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

sub every_question { return @questions; }

# Compares the answers of the server process, asked by a path, with those of pages, of aggregates with PostgreSQL's own; and sees that it has answered.
sub compare_with_pages
{
	my ($node, $path, $title) = @_;
	my $own = 'SET pg_gpu.path = paged; SET pg_gpu.enable_query = off';
	my $answered = "SELECT coalesce(sum(requests), 0) FROM gpu.stat WHERE path = '$path'";
	my $before = sql_value($node, $answered);
	my $number = 0;
	foreach my $question (@questions)
	{
		$number++;
		is(sql_value($node, "SET pg_gpu.path = $path; $question"), sql_value($node, "$own; $question"), "$title: question $number");
	}
	cmp_ok(sql_value($node, $answered) - $before, '>=', scalar @questions, "$title: the server process has answered");
	return;
}

1;
