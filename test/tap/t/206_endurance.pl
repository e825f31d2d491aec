# suite: long
# Everything at once, for as long as PG_GPU_TEST_SECONDS says: indexes of all four kinds are read, written, vacuumed, merged
# and rebuilt, while mirrors are dropped and the memory limits change; a standby replays that and is read. Answers are compared
# inside both servers throughout; memory and files must not grow. Now and then a server process gets no more threads, descriptors or memory for a moment.
# In the first half the server processes are killed and stopped. The second half belongs to one on either side that nobody kills:
# now and then the clients go, and what it has then must be what it had before.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use List::Util qw(max min);
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use constant {
	ROWS => 4000,
	# What may come and go between two looks: memory of a process in KiB, an index's bytes.
	MEMORY_SLACK => 16 * 1024,
	INDEX_SLACK => 4 << 20,
	DEVICE_SLACK => 64 << 20,
};

fault_seed();
my $seconds = $ENV{PG_GPU_TEST_SECONDS} || rounds(24, 120);
my $path = $ENV{PG_GPU_TEST_PATH} // 'host';

my $node = new_node('enduring', streaming => 1, conf => qq{
shared_buffers = 64MB
max_worker_processes = 12
autovacuum = on
autovacuum_naptime = 2s
autovacuum_vacuum_scale_factor = 0.05
autovacuum_vacuum_insert_scale_factor = 0.05
pg_gpu.request_timeout = 5s
});
my $rows = ROWS;
$node->safe_psql('postgres', qq{
CREATE TABLE keyed (id int PRIMARY KEY, k int8, u uuid);
INSERT INTO keyed SELECT i, i % 500, md5((i % 700)::text)::uuid FROM generate_series(1, $rows) AS i;
CREATE INDEX keyed_i ON keyed USING gpu_kary (k) WITH (fanout = 3);
CREATE INDEX keyed_u ON keyed USING gpu_kary (u);
CREATE TABLE placed (id int PRIMARY KEY, x float8, y float8);
INSERT INTO placed SELECT i, i % 97, i % 89 / 2.0 FROM generate_series(1, $rows) AS i;
CREATE INDEX placed_i ON placed USING gpu_grid (x, y);
CREATE TABLE columned (id int PRIMARY KEY, k int4, t text, f float8);
INSERT INTO columned SELECT i, i % 100, 'word ' || i % 31, i % 1000 / 8.0 FROM generate_series(1, $rows) AS i;
CREATE INDEX columned_i ON columned USING gpu_column (k, t, f);
CREATE TABLE searched (id int PRIMARY KEY, tsv tsvector);
INSERT INTO searched SELECT i, to_tsvector('simple', 'w' || i % 50 || ' w' || i % 7 || ' all') FROM generate_series(1, $rows) AS i;
CREATE INDEX searched_i ON searched USING gpu_text (tsv);

-- What faults.by_bitmap and others compare: which rows, not only how many.
CREATE FUNCTION faults.same_rows(p_table text, p_condition text, p_index name) RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE
	question text := format('SELECT count(*) || '':'' || coalesce(sum(hashint4extended(id, 7) >> 8), 0) FROM %s WHERE %s', p_table, p_condition);
BEGIN
	PERFORM faults.must_equal(question, faults.by_seq(question), faults.by_bitmap(question, p_index));
END \$\$;
CREATE FUNCTION faults.same_count(p_table text, p_condition text, p_found bigint) RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE
	-- This isn't a count by itself, which the planner would leave to an index.
	question text := format('SELECT (count(*) + 0 * coalesce(sum(id), 0))::text FROM %s WHERE %s', p_table, p_condition);
BEGIN
	PERFORM faults.must_equal(question, faults.by_seq(question), p_found::text);
END \$\$;
});

my $begin = "BEGIN ISOLATION LEVEL REPEATABLE READ;\n";
my @reads = (
	[ q{\set low random(0, 480)
} . $begin . q{SELECT faults.same_rows('keyed', 'k BETWEEN :low AND :low + 15', 'keyed_i');
SELECT faults.same_rows('keyed', 'k = ANY (ARRAY[:low, :low + 3, :low + 9, 499]::int8[])', 'keyed_i');
SELECT faults.same_count('keyed', 'k BETWEEN :low AND :low + 15', gpu.count('keyed_i', ARRAY[:low::int8], ARRAY[(:low + 15)::int8]));
SELECT faults.same_count('keyed', 'u = md5(:low::text)::uuid', (SELECT count(*) FROM gpu.lookup('keyed_u', ARRAY[md5(:low::text)::uuid])));
COMMIT;
}, 3 ],
	[ q{\set low random(0, 90)
} . $begin . q{SELECT faults.same_rows('placed', 'x BETWEEN :low AND :low + 5 AND y > 10', 'placed_i');
SELECT faults.same_count('placed', 'x BETWEEN :low AND :low + 5 AND y BETWEEN 3 AND 30',
	gpu.count('placed_i', ARRAY[:low, 3]::float8[], ARRAY[:low + 5, 30]::float8[]));
COMMIT;
}, 2 ],
	[ q{\set low random(0, 90)
} . $begin . q{SELECT faults.same_rows('columned', 'k BETWEEN :low AND :low + 5 AND t LIKE ''word 1%''', 'columned_i');
SELECT faults.same_count('columned', 'k >= :low AND f < 60', gpu.count('columned_i', 'k >= :low AND f < 60'));
SELECT faults.same_count('columned', 'CASE WHEN f < ''NaN'' THEN width_bucket(f, 0, 125, 5) = 2 END', (SELECT count FROM gpu.histogram('columned_i', 'f', 5, 0, 125) WHERE bin = 2));
COMMIT;
}, 2 ],
	[ q{\set word random(0, 49)
} . $begin . q{SELECT faults.same_rows('searched', 'tsv @@ ''w:word & all''', 'searched_i');
SELECT faults.same_count('searched', 'tsv @@ ''w:word''', (SELECT count(*) FROM gpu.search('searched_i', 'w:word', 10000)));
SELECT faults.same_count('searched', 'tsv @@ ''w:word & w3''', (SELECT count(*) FROM gpu.intersect('searched_i', ARRAY['w:word', 'w3'])));
COMMIT;
}, 2 ]);

# As many rows come as go. An UPDATE meets its rows in the table's order, which others change, so a writer that takes
# several locks takes them by number first. A writer that inserts rows waits for another that deletes them, and both go
# in no order, so on that table writers take turns.
sub update_of
{
	my ($table, $changes, $turn) = @_;
	return "\\set id random(1, $rows)\nBEGIN;\n" . ($turn // '') . "SELECT count(*) FROM (SELECT FROM $table WHERE id BETWEEN :id AND :id + 20 ORDER BY id FOR UPDATE) AS s;\n"
	  . "UPDATE $table SET $changes WHERE id BETWEEN :id AND :id + 20;\nCOMMIT;\n";
}
my $turn = "SELECT pg_advisory_xact_lock(1);\n";
my @writes = (
	[ update_of('keyed', 'k = (k * 7 + 13) % 500, u = md5((:id % 700)::text)::uuid'), 2 ],
	[ update_of('placed', 'x = (x + 31)::int % 97'), 2 ],
	[ update_of('columned', q{k = (k + 17) % 100, t = 'word ' || (k + :id) % 31}, $turn), 2 ],
	[ update_of('searched', q{tsv = to_tsvector('simple', 'w' || :id % 50 || ' w' || :id % 7 || ' all')}), 2 ],
	[ "\\set id random(1, $rows)\nBEGIN;\n$turn" . q{DELETE FROM columned WHERE id BETWEEN :id AND :id + 50;
INSERT INTO columned SELECT i, i % 100, NULL, 'NaN' FROM generate_series(:id, least(:id + 50, } . ROWS . q{)) AS i ON CONFLICT DO NOTHING;
COMMIT;
}, 1 ]);
my @indexes = ('keyed_i', 'keyed_u', 'placed_i', 'columned_i', 'searched_i');
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('following');
$standby->init_from_backup($node, 'base', has_streaming => 1);
# Replay waits for readers, and VACUUM for those of the standby, so that none of them is cancelled.
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\n");
$standby->start;
my @nodes = ($node, $standby);
my @upkeep = map { [ "VACUUM (INDEX_CLEANUP ON) $_;\n", 3 ] } 'keyed', 'placed', 'columned', 'searched';
push @upkeep, map { [ "SELECT count(*) FROM gpu.merge('$_');\n", 4 ] } @indexes;

# --- looking, while all that goes on

my (@memory, @bytes);

# Returns the memory that the largest of the clients' backends has beside shared memory, and the indexes' sizes.
sub look
{
	my %memory;
	foreach my $pid (split /\n/, $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE application_name = 'clients'}))
	{
		my $kib = eval { resident_kib($pid) };
		$memory{clients} = max($memory{clients} // 0, $kib) if defined $kib;
	}
	push @memory, \%memory;
	# An index that is being rebuilt has another file for a while, and one that is gone by now has none.
	push @bytes, { map { split /\|/ } split /\n/, $node->safe_psql('postgres', q{SELECT relname, coalesce(pg_relation_size(oid), 0) FROM pg_class WHERE relname IN ('} . join(q{','}, @indexes) . q{')}) };
	return;
}

my $limits = 0;
sub set_limits
{
	my ($of, $limit) = @_;
	set_host_limit($of, $limit);
	$of->safe_psql('postgres', "LOAD 'pg_gpu'; ALTER SYSTEM SET pg_gpu.device_memory_limit = '$limit'");
	$of->reload;
	return;
}

# For some moments the server process gets no more of what containers limit, as when others have taken it all.
my %squeezed = (nproc => 0, nofile => 0, as => 0);
sub squeeze
{
	my ($server) = @_;
	my $what = random_pick(sort keys %squeezed);
	my $limit = $what eq 'nproc' ? 1 : $what eq 'nofile' ? eval { open_descriptors($server) + random_int(0, 2) } : eval { size_kib($server) * 1024 + (random_int(0, 3) << 20) };
	# It may have ended meanwhile.
	return if !$limit || system("prlimit --pid $server --$what=$limit: 2>/dev/null") != 0;
	usleep(random_int(50_000, 1_000_000));
	$squeezed{$what}++ if system("prlimit --pid $server --$what=\$(prlimit --pid $server --$what --noheadings --output HARD): 2>/dev/null") == 0;
	return;
}

sub disturb
{
	my ($kills) = @_;
	my $of = random_pick(@nodes);
	my $what = random_int($kills ? 1 : 4, 13);
	my $server = server_pid($of);
	if ($what <= 2 && $server) { kill 'KILL', $server; }
	elsif ($what == 3 && $server) { kill 'STOP', $server; usleep(300_000); kill 'CONT', $server; }
	elsif ($what <= 5) { set_limits($of, random_pick('1MB', '16MB', '1GB')); $limits++; }
	elsif ($what >= 11 && $server) { squeeze($server); }
	elsif ($what <= 7) { sql($of, q{SELECT gpu.evict('} . random_pick(@indexes) . q{')}); }
	else { sql($of, q{SELECT gpu.load('} . random_pick(@indexes) . q{')}); }
	return;
}

# Everything goes on at once for so many seconds. PostgreSQL finishes an index that is made concurrently when all older snapshots are gone,
# but doesn't know of a standby's: a transaction there can miss rows that were deleted meanwhile, by an index of any method. So readers of the
# standby take turns with REINDEX CONCURRENTLY.
my (@runs, @standby_runs);
sub work
{
	my ($kills, $standby_reads, $work_seconds) = @_;
	my @rebuild = $standby_reads ? () : map { [ "REINDEX INDEX CONCURRENTLY $_;\n", 1 ] } @indexes;
	my @clients = (
		start_clients($node, \@reads, clients => 3, seconds => $work_seconds, options => "-c pg_gpu.path=$path"),
		start_clients($node, \@reads, clients => 1, seconds => $work_seconds, options => '-c pg_gpu.path=paged'),
		start_clients($node, \@writes, clients => 2, seconds => $work_seconds),
		start_clients($node, [ @upkeep, @rebuild ], clients => 1, seconds => $work_seconds));
	my @standby_clients = $standby_reads ? start_clients($standby, \@reads, clients => 2, seconds => $work_seconds, options => "-c pg_gpu.path=$path") : ();
	my $end = time() + $work_seconds;
	my $next_look = 0;
	while (time() < $end - 1)
	{
		disturb($kills);
		usleep(random_int(100_000, 900_000));
		if ($kills && time() > $next_look)
		{
			look();
			$next_look = time() + $seconds / 80;
		}
	}
	finish_clients($_) foreach @clients, @standby_clients;
	push @runs, @clients;
	push @standby_runs, @standby_clients;
	# What a rebuild has left behind is gone before the standby is read again.
	wait_for_standby($node, $standby);
	return;
}

foreach my $of (@nodes)
{
	$of->safe_psql('postgres', "SELECT gpu.load('keyed_i')");
	my $first = wait_for_server($of) or die 'no server process';
	kill 'KILL', $first;
	$of->safe_psql('postgres', "SELECT gpu.load('keyed_i')");
	wait_for_server($of, $first);
}
work(1, $_, int($seconds / 4)) foreach 0, 1;

# --- one server process on either side that nobody kills

my @survivors = map { wait_for_server($_) } @nodes;
set_limits($_, '1GB') foreach @nodes;

# The bytes that are taken of devices, by anybody: what the engines don't know that they have counts too.
sub taken_of_devices
{
	my ($of) = @_;
	return sql_value($of, q{SELECT coalesce(sum(memory_total - memory_free), 0) FROM gpu.devices() WHERE engine = 'cuda'});
}

# Notes what a node's server process has when nobody asks for anything.
my @rests;
sub rest
{
	my ($number) = @_;
	my ($of, $survivor) = ($nodes[$number], $survivors[$number]);
	# The mirror of a run that is gone goes when a session asks the server process; sessions find out every two seconds
	# which indexes are gone. Merges may go on.
	my $of_gone_runs = q{SELECT count(*) FROM gpu.mirrors AS m WHERE m.index_name IS NULL OR NOT EXISTS
		(SELECT FROM gpu.runs(m.index_name) AS r WHERE r.run_id = m.run_id)};
	ok(wait_until(sub {
			sql($of, join '; ', "SET pg_gpu.path = $path", map { "SELECT gpu.load('$_')" } @indexes);
			sql($of, "SET pg_gpu.path = $path; SELECT gpu.count('keyed_i', ARRAY[1::int8], ARRAY[9::int8])");
			return sql($of, $of_gone_runs)->{out} =~ /^0$/; }, 500_000), 'no mirror is of a run that is gone');
	ok(wait_until(sub { sql($of, 'SELECT gpu.evict_all()'); return mirrors($of) eq '0'; }), 'all mirrors go');
	# Threads and descriptors of sessions that are gone go within moments.
	my %had = %{ $rests[$number][0] // { descriptors => 1000, threads => 1000 } };
	my %has;
	wait_until(sub {
			%has = (descriptors => open_descriptors($survivor), threads => scalar(() = glob "/proc/$survivor/task/*"),
				memory => resident_kib($survivor), device => taken_of_devices($of));
			return $has{descriptors} <= $had{descriptors} && $has{threads} <= $had{threads}; });
	note $of->name . ': ' . join ', ', map { "$_ $has{$_}" } sort keys %has;
	push @{ $rests[$number] }, \%has;
	return;
}

my $periods = 6;
foreach my $period (1 .. $periods)
{
	work(0, $period % 2, max(1, int($seconds / 2 / $periods)));
	rest($_) foreach 0 .. $#nodes;
}
# The first period takes what all later ones use again. What a leak takes is missing at each of the later rests, so the
# least of the last ones tells of it, and not what one of them happened to see.
foreach my $number (0 .. $#nodes)
{
	my $name = $nodes[$number]->name;
	is(server_pid($nodes[$number]), $survivors[$number], "$name: the server process is the same at the end of the second half");
	my ($first, @later) = @{ $rests[$number] };
	my @last = @later[ -2 .. -1 ];
	foreach my $what ('descriptors', 'threads')
	{
		cmp_ok(min(map { $_->{$what} } @last), '<=', $first->{$what}, "$name: $what of the server process at rest are no more than before");
	}
	my $before = sub { my ($what) = @_; return max(map { $_->{$what} } $first, $later[0]); };
	cmp_ok(min(map { $_->{memory} } @last), '<=', $before->('memory') * 1.25 + MEMORY_SLACK, "$name: memory of the server process at rest does not grow");
	cmp_ok(min(map { $_->{device} } @last), '<=', $before->('device') + DEVICE_SLACK, "$name: device memory at rest does not grow");
}

# A function is given an index by name: REINDEX CONCURRENTLY may put another in its place before it is opened, and the session
# may hear of what that one is a moment later than of its name.
is(client_errors([ @runs, @standby_runs ], qr/index "\w+_cc(?:old|new)" is not valid/, qr/could not open relation with OID/), '', 'no errors and no wrong answers');
# The same four clients run again and again: readers by the server process and on pages, writers, and upkeep.
foreach my $number (0 .. 3)
{
	my @same = map { $runs[$_] } grep { $_ % 4 == $number } 0 .. $#runs;
	cmp_ok(client_transactions(\@same), '>', 0, "clients $number had work going");
	note 'clients ' . $number . ': ' . client_transactions(\@same) . ' transactions';
}
cmp_ok(client_transactions(\@standby_runs), '>', 0, 'the standby was read');
cmp_ok($limits, '>', 0, 'the memory limits changed');
cmp_ok($squeezed{$_}, '>', 0, "the server process got no more by its limit of $_") foreach sort keys %squeezed;
# Replay takes locks in the primary's order, in which a reader may stand: there PostgreSQL ends the reader's statement.
my $death = qr/pg_gpu merge.*exited with exit code [^0]/;
my %bad = (enduring => qr/deadlock|$death/, following => $death);
foreach my $of (@nodes)
{
	my $bad = $bad{ $of->name };
	is(bad_log_lines($of, $bad), '', $of->name . ': nothing bad in the log') or diag(bad_log_context($of, $bad));
	cmp_ok(log_count($of, qr/pg_gpu server process \d+: listening/), '>', 1, $of->name . ': the server process was killed, and came back');
}

# The first quarter fills caches, so it doesn't count.
sub quarters
{
	my ($name, @looks) = @_;
	my $quarter = int(@looks / 4);
	my ($early, $late) = map { max(map { $_->{$name} // 0 } @$_) } [ @looks[ $quarter .. 2 * $quarter - 1 ] ], [ @looks[ -$quarter .. -1 ] ];
	note "$name: at most $early in the second quarter, $late in the last";
	return ($early, $late);
}
cmp_ok(scalar @memory, '>=', 4, 'there was time to look');
my ($early_clients, $late_clients) = quarters('clients', @memory);
cmp_ok($late_clients, '<=', $early_clients * 1.25 + MEMORY_SLACK, 'memory of the clients does not grow');
foreach my $index (@indexes)
{
	my ($early, $late) = quarters($index, @bytes);
	cmp_ok($late, '<=', $early * 1.5 + INDEX_SLACK, "$index does not grow");
}

foreach my $index (@indexes)
{
	check_sound($_, $_->name . ": $index is sound", $index) foreach @nodes;
}
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_index WHERE NOT indisvalid}), '0', 'no index stayed invalid');
$standby->stop;
$node->stop;
done_testing();
