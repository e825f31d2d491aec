# gpu_grid: a table with two indexes.
package PgGpuTest::Method::Grid;

use strict;
use warnings FATAL => 'all';

use parent 'PgGpuTest::Method';

sub name { return 'gpu_grid'; }
sub table { return 'grid'; }
sub indexes { return ('grid_kl', 'grid_p'); }
sub some_rows { return 'k BETWEEN :low AND :low + :width / 5'; }
sub change { return 'k = (k + 1) % 10007, p = p + point(1, 0)'; }
sub request { return 'count boxes'; }
sub count { return q{gpu.count('grid_kl', row(0, 0), row(5000, 50))}; }

sub make
{
	my (undef, $node) = @_;
	$node->safe_psql('postgres', q{
CREATE TABLE grid (id bigserial, k int8, l int4, p point, filler text);
CREATE FUNCTION fill(low int, rows int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO grid (k, l, p)
	SELECT CASE WHEN i % 97 = 0 THEN NULL ELSE (low + i * 7919) % 10007 END, CASE WHEN i % 89 <> 0 THEN (low + i * 31) % 100 END,
		point((low + i * 7919) % 1009, (low + i * 104729) % 997)
	FROM generate_series(1, rows) AS i;
$$;
SELECT fill(0, 20000);
CREATE INDEX grid_kl ON grid USING gpu_grid (k, l) WITH (fanout = 2);
CREATE INDEX grid_p ON grid USING gpu_grid (p, l) WITH (fanout = 4);

-- Asks the same questions in each way an index can answer them, under one snapshot.
CREATE FUNCTION faults.check_method(low int, width int, pause float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	box text := format('k BETWEEN %s AND %s AND l BETWEEN %s AND %s', low, low + width, low % 50, low % 50 + 30);
	area text := format('p <@ box ''(%s,%s),(%s,%s)''', low % 900, low % 800, low % 900 + width / 20, low % 800 + width / 10);
	disc text := format('p <@ circle ''<(%s,%s),%s>''', low % 900, low % 800, width / 30);
	of_keys text := 'SELECT count(*) || '':'' || coalesce(sum(k), 0) || '':'' || coalesce(sum(l), 0) FROM grid WHERE ';
	of_rows text := 'SELECT count(*) || '':'' || coalesce(sum(hashint8extended(id, coalesce(k, 0)) >> 8), 0) FROM grid WHERE ';
	near text := 'SELECT coalesce(string_agg(d::text, '',''), '''') FROM (SELECT p <-> %1$L::point AS d FROM grid WHERE %2$s ORDER BY p <-> %1$L::point LIMIT 50) AS q';
	box_keys text := faults.by_seq(of_keys || box);
	box_rows text := faults.by_seq(of_rows || box);
	area_rows text := faults.by_seq(of_rows || area);
	disc_rows text := faults.by_seq(of_rows || disc);
	null_rows text := faults.by_seq(of_rows || 'k IS NULL AND l > 50');
	nearest text := faults.by_seq(format(near, point(low % 1000, low % 900), 'l < 70'));
BEGIN
	IF current_setting('transaction_isolation') <> 'repeatable read' THEN
		RAISE EXCEPTION 'begin REPEATABLE READ first';
	END IF;
	PERFORM pg_sleep(pause);
	PERFORM faults.must_equal('index-only scan, ' || box, box_keys, faults.by_index_only(of_keys || box, 'grid_kl'));
	PERFORM faults.must_equal('index scan, ' || box, box_rows, faults.by_index(of_rows || box, 'grid_kl'));
	PERFORM faults.must_equal('bitmap scan, ' || box, box_rows, faults.by_bitmap(of_rows || box, 'grid_kl'));
	PERFORM faults.must_equal('count scan, ' || box, split_part(box_rows, ':', 1), faults.by_count('SELECT count(*) FROM grid WHERE ' || box));
	PERFORM faults.must_equal('gpu.count, ' || box, split_part(box_rows, ':', 1),
		gpu.count('grid_kl', row(low, low % 50), row(low + width, low % 50 + 30))::text);
	PERFORM faults.must_equal('gpu.count_batch, ' || box, split_part(box_rows, ':', 1) || ' 0', (SELECT string_agg(count::text, ' ' ORDER BY ordinal)
		FROM gpu.count_batch('grid_kl', ARRAY[row(low, low % 50), row(2, 2)], ARRAY[row(low + width, low % 50 + 30), row(1, 1)])));
	PERFORM faults.must_equal('index scan, ' || area, area_rows, faults.by_index(of_rows || area, 'grid_p'));
	PERFORM faults.must_equal('bitmap scan, ' || area, area_rows, faults.by_bitmap(of_rows || area, 'grid_p'));
	PERFORM faults.must_equal('count scan, ' || area, split_part(area_rows, ':', 1), faults.by_count('SELECT count(*) FROM grid WHERE ' || area));
	PERFORM faults.must_equal('bitmap scan, ' || disc, disc_rows, faults.by_bitmap(of_rows || disc, 'grid_p'));
	PERFORM faults.must_equal('NULL keys', null_rows, faults.by_index(of_rows || 'k IS NULL AND l > 50', 'grid_kl'));
	PERFORM set_config('enable_sort', 'off', true);
	PERFORM faults.must_equal('nearest', nearest, faults.by_index(format(near, point(low % 1000, low % 900), 'l < 70'), 'grid_p'));
	PERFORM set_config('enable_sort', 'on', true);
	RETURN 'same';
END $$;
});
	return;
}

1;
