# gpu_text: a table with one index.
package PgGpuTest::Method::Text;

use strict;
use warnings FATAL => 'all';

use parent 'PgGpuTest::Method';
use PgGpuTest::Faults;
use Test::More;

sub name { return 'gpu_text'; }
sub table { return 'doc'; }
sub indexes { return 'doc_tsv'; }
sub some_rows { return 'id % 211 = :low % 211'; }
sub change { return q{tsv = tsv || 'w7 w8'::tsvector}; }
sub request { return 'search'; }
sub count { return q{(SELECT count(*) FROM gpu.search('doc_tsv', 'w1 & w2', 10, 'or'))}; }

sub make
{
	my (undef, $node) = @_;
	$node->safe_psql('postgres', q{
CREATE TABLE doc (id bigserial, tsv tsvector, filler text);
CREATE FUNCTION fill(low int, rows int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO doc (tsv)
	SELECT CASE WHEN i % 97 > 0 THEN (SELECT to_tsvector('simple', string_agg('w' || (hashint4(low + i * 37 + j) & 65535) % 100, ' '))
		FROM generate_series(1, 2 + i % 13) AS j) END
	FROM generate_series(1, rows) AS i;
$$;
SELECT fill(0, 20000);
CREATE INDEX doc_tsv ON doc USING gpu_text (tsv) WITH (fanout = 2);

-- Asks the same questions in each way the index can answer them, under one snapshot. BM25's statistics belong to no snapshot, so
-- scores are compared only where nobody writes.
CREATE FUNCTION faults.check_method(low int, width int, pause float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	lexemes text[] := ARRAY['w' || low % 100, 'w' || low % 89 + 5];
	wanted text := format('%s & %s', lexemes[1], lexemes[2]);
	of_rows text := 'SELECT count(*) || '':'' || coalesce(sum(hashint8(id)), 0) FROM doc WHERE ';
	of_found text := 'SELECT count(*) || '':'' || coalesce(sum(hashint8(id)), 0) FROM doc JOIN ';
	all_rows text := faults.by_seq(of_rows || format('tsv @@ %L', wanted));
	any_rows text := faults.by_seq(of_rows || format('tsv @@ %L', replace(wanted, '&', '|')));
	found text;
BEGIN
	IF current_setting('transaction_isolation') <> 'repeatable read' THEN
		RAISE EXCEPTION 'begin REPEATABLE READ first';
	END IF;
	PERFORM pg_sleep(pause);
	PERFORM faults.must_equal('bitmap scan, ' || wanted, all_rows, faults.by_bitmap(of_rows || format('tsv @@ %L', wanted), 'doc_tsv'));
	EXECUTE of_found || 'gpu.search(''doc_tsv'', $1, 10000, ''and'') AS f ON ctid = tid' INTO found USING wanted::tsquery;
	PERFORM faults.must_equal('search of all, ' || wanted, all_rows, found);
	EXECUTE of_found || 'gpu.search(''doc_tsv'', $1, 10000, ''or'') AS f ON ctid = tid' INTO found USING wanted::tsquery;
	-- A search returns 10,000 rows at most, and clients may have inserted more by now.
	IF split_part(any_rows, ':', 1)::int > 10000 THEN
		PERFORM faults.must_equal('rows of any, ' || wanted, '10000', split_part(found, ':', 1));
	ELSE
		PERFORM faults.must_equal('search of any, ' || wanted, any_rows, found);
	END IF;
	EXECUTE of_found || 'gpu.intersect(''doc_tsv'', $1) AS f (tid) ON ctid = tid' INTO found USING lexemes;
	PERFORM faults.must_equal('intersect, ' || wanted, all_rows, found);
	SELECT string_agg(c::text, ' ' ORDER BY n) INTO found FROM (SELECT n, count(tid) AS c FROM generate_series(1, 20) AS n
		LEFT JOIN gpu.search_batch('doc_tsv', array_fill(wanted::tsquery, ARRAY[20]), 10000, 'and') ON ordinal = n GROUP BY n) AS x;
	PERFORM faults.must_equal('batch, ' || wanted, array_to_string(array_fill(split_part(all_rows, ':', 1), ARRAY[20]), ' '), found);
	RETURN 'same';
END $$;

-- Returns rows and scores, as the path that is set gives them.
CREATE FUNCTION answers(path text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('pg_gpu.path', path, true);
	RETURN (SELECT md5(string_agg(ordinal || tid::text || encode(float4send(score), 'hex'), ',')) FROM gpu.search_batch('doc_tsv',
		(SELECT array_agg(format('w%s & w%s', g, g * 7 % 100)::tsquery) FROM generate_series(0, 99) AS g), 100, 'or'));
END $$;
});
	return;
}

# Where the host engine is asked, scores are compared, too: they must be those of pages.
sub answers_right
{
	my ($self, $node, $what, %params) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$self->SUPER::answers_right($node, $what, %params);
	return if ($params{options} // '') !~ /path=host/;
	# Pages may answer a session's first request when the server is busy, but the server must answer later ones.
	my ($same, $by_host);
	wait_until(sub {
		(undef, $same, $by_host) = split /\n/, sql_value($node, "SELECT gpu.stat_reset(); SELECT answers('host') = answers('paged');
			SELECT count(*) FROM gpu.stat WHERE path = 'host' AND request = 'search' AND requests > 0");
		return $same ne 't' || $by_host eq '1';
	});
	is($same, 't', "$what: scores are those of pages");
	is($by_host, '1', "$what: by the host engine");
	return;
}

1;
