# gpu_column: a table with one index.
package PgGpuTest::Method::Column;

use strict;
use warnings FATAL => 'all';

use parent 'PgGpuTest::Method';

sub name { return 'gpu_column'; }
sub table { return 'facts'; }
sub indexes { return 'facts_i'; }
sub some_rows { return 'k BETWEEN :low AND :low + :width / 5'; }
sub change { return q{k = (k + 1) % 10007, t = t || 'x'}; }
sub request { return 'count rows'; }
sub count { return q{gpu.count('facts_i', 'k < 5000 AND t LIKE ''t1%''')}; }

# These entries are too large for a tail.
sub more_writes
{
	return (long => [ "INSERT INTO facts (k, l, t) SELECT :low, 1, string_agg(md5((:low + i)::text), '') FROM generate_series(1, 300) AS i;", 1 ]);
}

sub make
{
	my (undef, $node) = @_;
	$node->safe_psql('postgres', q{
CREATE TABLE facts (id bigserial, k int8, l int4, t text, n numeric, filler text);
CREATE FUNCTION fill(low int, rows int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO facts (k, l, t, n)
	SELECT CASE WHEN i % 97 = 0 THEN NULL ELSE (low + i * 7919) % 10007 END, (low + i * 31) % 100, 't' || (low + i * 13) % 300,
		((low + i) % 50)::numeric / 8
	FROM generate_series(1, rows) AS i;
$$;
SELECT fill(0, 20000);
CREATE INDEX facts_i ON facts USING gpu_column (k, l, t, n) WITH (fanout = 2);

-- Asks the same questions in each way an index can answer them, under one snapshot.
CREATE FUNCTION faults.check_method(low int, width int, pause float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	box text := format('k BETWEEN %s AND %s AND l BETWEEN %s AND %s', low, low + width, low % 50, low % 50 + 30);
	words text := format('t LIKE ''t%s%%'' AND n > 1.5', low % 30);
	of_rows text := 'SELECT count(*) || '':'' || coalesce(sum(hashint8extended(id, coalesce(k, 0)) >> 8), 0) FROM facts WHERE ';
	of_bins text := 'SELECT string_agg(bin || '':'' || count, '','' ORDER BY bin) FROM ';
	box_rows text := faults.by_seq(of_rows || box);
	words_rows text := faults.by_seq(of_rows || words);
	null_rows text := faults.by_seq(of_rows || 'k IS NULL AND l > 50');
	bins text := faults.by_seq(of_bins || format('(SELECT width_bucket(k::float8, 0, 10007, 20) AS bin, count(*) FROM facts WHERE %s AND k IS NOT NULL GROUP BY 1) AS b', words));
	texts text := faults.by_seq('SELECT string_agg(t || count, '','' ORDER BY t) FROM (SELECT t, count(*) FROM facts GROUP BY t) AS g');
	summary text := faults.by_seq('SELECT format(''%s %s %s %s %s'', count(*), count(*) - count(k), count(DISTINCT k), min(k), max(k)) FROM facts');
BEGIN
	IF current_setting('transaction_isolation') <> 'repeatable read' THEN
		RAISE EXCEPTION 'begin REPEATABLE READ first';
	END IF;
	PERFORM pg_sleep(pause);
	PERFORM faults.must_equal('bitmap scan, ' || box, box_rows, faults.by_bitmap(of_rows || box, 'facts_i'));
	PERFORM faults.must_equal('bitmap scan, ' || words, words_rows, faults.by_bitmap(of_rows || words, 'facts_i'));
	PERFORM faults.must_equal('NULL keys', null_rows, faults.by_bitmap(of_rows || 'k IS NULL AND l > 50', 'facts_i'));
	PERFORM faults.must_equal('gpu.count, ' || box, split_part(box_rows, ':', 1), gpu.count('facts_i', box)::text);
	PERFORM faults.must_equal('gpu.count by bounds, ' || box, split_part(box_rows, ':', 1),
		gpu.count('facts_i', row(low, low % 50), row(low + width, low % 50 + 30))::text);
	PERFORM faults.must_equal('gpu.count, ' || words, split_part(words_rows, ':', 1), gpu.count('facts_i', words)::text);
	PERFORM faults.must_equal('gpu.histogram, ' || words, coalesce(bins, ''),
		(SELECT coalesce(string_agg(bin || ':' || count, ',' ORDER BY bin), '') FROM gpu.histogram('facts_i', 'k', 20, 0, 10007, words) WHERE count > 0 AND bin IS NOT NULL));
	PERFORM faults.must_equal('gpu.dictionary', texts, (SELECT string_agg(value || count, ',' ORDER BY value) FROM gpu.dictionary('facts_i', 't')));
	PERFORM faults.must_equal('gpu.summary', summary, (SELECT format('%s %s %s %s %s', count, nulls, distinct_values, minimum, maximum) FROM gpu.summary('facts_i', 'k')));
	RETURN 'same';
END $$;
});
	return;
}

1;
