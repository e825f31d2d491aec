# gpu_grid under many sessions at once, beside a standby that compares every replayed page with the primary's:
# writers, VACUUM, merges, and readers whose answers are compared with a sequential scan's under the same snapshot.
# Then the primary is killed, recovers and goes on. PG_GPU_TEST_SECONDS sets how long.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuFaults;
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

fault_seed();

my $seconds = $ENV{PG_GPU_TEST_SECONDS} || rounds(6, 120);

my $primary = new_node('primary', streaming => 1, conf => q{
wal_consistency_checking = 'all'
max_wal_size = 8GB
max_worker_processes = 12
synchronous_commit = off
autovacuum = on
autovacuum_naptime = 1s
autovacuum_vacuum_scale_factor = 0.01
autovacuum_vacuum_threshold = 50
autovacuum_vacuum_insert_threshold = 500
autovacuum_vacuum_cost_delay = 0
});
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\n");
$standby->start;

$primary->safe_psql('postgres', q{
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

my $variables = "\\set low random(0, 9999)\n\\set width random(1, 3000)\n\\set rows random(1, 900)\n";
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
my @writes = map { [ $variables . $scripts{$_}[0] . "\n", $scripts{$_}[1] ] } sort keys %scripts;
my $check = sub {
	my ($pause) = @_;
	return $variables . "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT faults.check_grid(:low, :width, $pause);\nCOMMIT;\n";
};
my @checks = ([ $check->(0), 2 ], [ $check->(0.1), 1 ]);

my $writers = start_clients($primary, \@writes, clients => 4, seconds => $seconds);
my $readers = start_clients($primary, \@checks, clients => 2, seconds => $seconds);
$primary->wait_for_catchup($standby);
my $far_readers = start_clients($standby, \@checks, clients => 1, seconds => $seconds);
finish_clients($_) foreach ($writers, $readers, $far_readers);
is(client_errors([$writers]), '', 'no errors among the writers');
is(client_errors([$readers]), '', 'no wrong answers on the primary');
is(client_errors([$far_readers]), '', 'no wrong answers on the standby');
cmp_ok(client_transactions([$writers]), '>', 0, 'there was work going on');
cmp_ok(client_transactions([$_]), '>', 0, 'questions were answered') foreach ($readers, $far_readers);

sub check_all
{
	my ($node, $what) = @_;
	check_sound($node, "$what: gpu.verify finds nothing in $_", $_) foreach ('grid_kl', 'grid_p');
	my $result = sql($node, "BEGIN ISOLATION LEVEL REPEATABLE READ;\n"
		. join('', map { 'SELECT faults.check_grid(' . random_int(0, 9000) . ", $_, 0);\n" } (1, 100, 3000)) . 'COMMIT;');
	is($result->{err} . $result->{out}, "same\nsame\nsame", "$what: answers equal a sequential scan's");
	return;
}

check_path($_) foreach ($primary, $standby);

# Replay stops for good at a page that differs.
$primary->wait_for_catchup($standby);
is(bad_log_lines($standby, qr/inconsistent page/), '', "replayed pages equal the primary's");
check_all($primary, 'primary');
check_all($standby, 'standby');

my $last = start_clients($primary, \@writes, clients => 4);
usleep(random_int(500_000, 1_500_000));
crash_cluster($primary);
finish_clients($last);
start_again($primary, 'after the crash');
check_all($primary, 'after the crash');
$standby->promote;
check_all($standby, 'promoted');
$writers = start_clients($standby, \@writes, clients => 2, seconds => 2);
finish_clients($writers);
is(client_errors([$writers]), '', 'writes go on after the promotion');
check_all($standby, 'after more writes');

$standby->stop;
$primary->stop;
done_testing();
