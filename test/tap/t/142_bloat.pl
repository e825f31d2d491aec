# suite: long
# Half a million random updates of a column: the indexes' files stay at most two and a half times as large as they were made, with a
# VACUUM whenever a fifth of the rows has changed, and with autovacuum itself, which comes when it does. Their sizes are shown beside
# btree's. Rows lie in random order from the start: in the end they do, and columns of sorted ids take less.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use Test::More;

fault_seed();

my $rows = $ENV{PG_GPU_BLOAT_ROWS} // 100_000;
my $updates = 5 * $rows;
my %columns = (gpu_kary => 'k', gpu_grid => 'k, id', gpu_column => 'k, id', gpu_text => 'note', btree => 'k');
my $node = new_node('bloat', conf => "autovacuum = on\nautovacuum_naptime = 1s\nshared_buffers = 128MB\nmax_worker_processes = 8\nsynchronous_commit = off\n");

sub update_rows
{
	my ($count) = @_;
	$node->safe_psql('postgres', "UPDATE t SET k = (k + 7919) % 1000003, note = 'w' || (k % 1009) || ' ' || md5(k::text) WHERE id IN (SELECT 1 + floor(random() * $rows)::int8 FROM generate_series(1, $count))");
}

# A VACUUM at each fifth.
sub by_vacuum
{
	my ($round, $batch) = @_;
	update_rows($batch);
	$node->safe_psql('postgres', 'VACUUM (PARALLEL 0, INDEX_CLEANUP ON) t') if $round * $batch % ($rows / 5) == 0;
}

# Autovacuum comes up to a second after a fifth has changed. How much a machine changes in a second is not what is tested: at 30 %
# of the rows the session waits for the VACUUM's end.
my ($changed, $vacuums) = (0, 0);
sub by_autovacuum
{
	my ($round, $batch) = @_;
	update_rows($batch);
	$changed += $batch;
	my $count = sub { sql_value($node, q{SELECT autovacuum_count FROM pg_stat_all_tables WHERE relid = 't'::regclass}) };
	wait_until(sub { return $count->() > $vacuums }) if $changed >= 0.3 * $rows;
	my $now = $count->();
	($changed, $vacuums) = (0, $now) if $now > $vacuums;
}

my %ways = ('VACUUM at each fifth' => [ 'off', \&by_vacuum, $rows / 25 ], 'autovacuum' => [ 'on', \&by_autovacuum, $rows / 100 ]);
foreach my $way (sort keys %ways)
{
	my ($autovacuum, $update, $batch) = @{ $ways{$way} };
	$node->safe_psql('postgres', join('', "
DROP TABLE IF EXISTS t;
CREATE TABLE t (id int8, k int8, note text) WITH (fillfactor = 70, autovacuum_enabled = off);
SELECT setseed(0.5);
INSERT INTO t SELECT g, (g * 7919) % 1000003, 'w' || (g % 1009) || ' ' || md5(g::text) FROM generate_series(1, $rows) AS g ORDER BY random();
CREATE INDEX t_id ON t (id);
", map { "CREATE INDEX t_$_ ON t USING $_ ($columns{$_});\n" } sort keys %columns));
	$node->safe_psql('postgres', 'VACUUM (ANALYZE) t');
	$node->safe_psql('postgres', "ALTER TABLE t SET (autovacuum_enabled = $autovacuum)");
	my %first = map { $_ => pages_of_index($node, "t_$_") } keys %columns;
	my %most = %first;
	for my $round (1 .. $updates / $batch)
	{
		$update->($round, $batch);
		my $sizes = sql_value($node, q{SELECT string_agg(substr(relname, 3) || ' ' || pg_relation_size(oid) / current_setting('block_size')::int, ' ') FROM pg_class WHERE relname LIKE 't\_%'});
		my %pages = split / /, $sizes;
		foreach my $method (keys %columns) { $most{$method} = $pages{$method} if $pages{$method} > $most{$method}; }
	}
	foreach my $method (sort keys %columns)
	{
		my $now = pages_of_index($node, "t_$method");
		my $figures = sprintf '%s, %s: %d pages at first, at most %.2f and in the end %.2f times as many', $way, $method, $first{$method}, $most{$method} / $first{$method}, $now / $first{$method};
		if ($method eq 'btree') { note($figures); next; }
		cmp_ok($most{$method}, '<=', 2.5 * $first{$method}, $figures);
		check_sound($node, "$way, $method: gpu.verify finds nothing", "t_$method");
	}
}
$node->stop;
done_testing();
