# A table with two gpu_grid indexes, clients that write into it, and clients that compare what the indexes answer with
# sequential scans.
package PgGpuTest::Method::Grid;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use PgGpuTest::Faults;
use PgGpuTest;
use Test::More;

our @EXPORT = qw(make_grid grid_writes grid_check check_grid_answers);

# Table grid with the indexes grid_kl and grid_p.
sub make_grid
{
	my ($node) = @_;
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

-- The same questions in each way an index can answer them, under one snapshot.
CREATE FUNCTION faults.check_grid(low int, width int, pause float8) RETURNS text LANGUAGE plpgsql AS $$
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

my $variables = "\\set low random(0, 9999)\n\\set width random(1, 3000)\n\\set rows random(1, 900)\n";

# Scripts for start_clients that write, vacuum and merge.
sub grid_writes
{
	my $some_rows = 'SELECT ctid FROM grid WHERE k BETWEEN :low AND :low + :width / 5 FOR UPDATE SKIP LOCKED';
	my %scripts = (
		insert => [ 'SELECT fill(:low, :rows);', 8 ],
		insert_one => [ 'SELECT fill(:low, 1);', 6 ],
		abort => [ "BEGIN;\nSELECT fill(:low, :rows);\nSAVEPOINT s;\nSELECT fill(:low, :rows);\nROLLBACK TO s;\nROLLBACK;", 2 ],
		delete => [ "DELETE FROM grid WHERE ctid = ANY (ARRAY($some_rows));", 6 ],
		update => [ "UPDATE grid SET k = (k + 1) % 10007, p = p + point(1, 0) WHERE ctid = ANY (ARRAY($some_rows LIMIT 100));", 4 ],
		touch => [ "UPDATE grid SET filler = 'x' WHERE ctid = ANY (ARRAY($some_rows LIMIT 100));", 3 ],
		vacuum => [ 'VACUUM (INDEX_CLEANUP ON) grid;', 3 ],
		merge => [ "SELECT count(*) FROM gpu.merge('grid_kl');\nSELECT count(*) FROM gpu.merge('grid_p');", 1 ],);
	return [ map { [ $variables . $scripts{$_}[0] . "\n", $scripts{$_}[1] ] } sort keys %scripts ];
}

# One that compares answers, some seconds after its snapshot was taken.
sub grid_check
{
	my ($pause, $weight) = @_;
	return [ $variables . "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT faults.check_grid(:low, :width, $pause);\nCOMMIT;\n", $weight ];
}

# The indexes are sound, and answer as sequential scans do. `options`: PGOPTIONS.
sub check_grid_answers
{
	my ($node, $what, %params) = @_;
	local $ENV{PGOPTIONS} = $params{options} // '';
	check_sound($node, "$what: gpu.verify finds nothing in $_", $_) foreach ('grid_kl', 'grid_p');
	my $result = sql($node, "BEGIN ISOLATION LEVEL REPEATABLE READ;\n"
		. join('', map { 'SELECT faults.check_grid(' . random_int(0, 9000) . ", $_, 0);\n" } (1, 100, 3000)) . 'COMMIT;');
	is($result->{err} . $result->{out}, "same\nsame\nsame", "$what: answers equal a sequential scan's");
	return;
}

1;
