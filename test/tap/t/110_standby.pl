# suite: check
# A streaming standby that compares every replayed page with the primary's (wal_consistency_checking), while
# it answers queries: what a sequential scan and the index say under one snapshot must agree, however much
# sealing, merging and vacuuming is replayed in between. Then it is promoted and takes writes.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use List::Util qw(max);
use Test::More;
use Time::HiRes qw(usleep);

fault_seed();

my $seconds = few_or_many(2, rounds(3, 120));

# Random histories on the primary; `fanout` 2 and 4 make merges frequent.
my $primary = new_node('primary', streaming => 1, conf => qq{
wal_consistency_checking = 'all'
max_wal_size = 8GB
wal_keep_size = 8GB
autovacuum_naptime = 1s
});
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\n");
$standby->start;

# Where nothing holds VACUUM back on the primary, replay may cancel queries, and must not change answers.
my $hasty = PostgreSQL::Test::Cluster->new('hasty');
$hasty->init_from_backup($primary, 'base', has_streaming => 1);
$hasty->append_conf('postgresql.conf', "hot_standby_feedback = off\nmax_standby_streaming_delay = 50ms\n");
$hasty->start;

make_table($primary, rows => 20_000, with => 'WITH (fanout = 4)');
make_table($primary, rows => 2_000, name => 'narrow', type => 'int4', with => 'WITH (fanout = 2)');
$primary->wait_for_catchup($_) foreach ($standby, $hasty);

my %mix = (insert => 6, insert_one => 4, abort => 2, savepoint => 2, delete => 4, update => 4, vacuum => 3, merge => 1);
my @writers = map { start_clients($primary, workload($_, %mix), clients => 2, seconds => $seconds) } ('t', 'narrow');

my @readers = map {
	start_clients($standby, workload($_, check => 2, slow_check => 1), clients => 1, seconds => $seconds)
} ('t', 'narrow');

# A conflict with recovery ends a client, so the impatient standby's are started again and again.
my @hasty_readers;
my $end = time() + $seconds;
while (time() < $end || client_transactions(\@hasty_readers) == 0)
{
	my $run = start_clients($hasty, workload(random_pick('t', 'narrow'), check => 1, slow_check => 1),
		clients => 1, seconds => max(int($end - time()), 1));
	finish_clients($run);
	push @hasty_readers, $run;
}
is(client_errors(\@hasty_readers, qr/conflict with recovery/), '', 'without feedback: no answer was wrong');
cmp_ok(client_transactions(\@hasty_readers), '>', 0, 'without feedback: queries were answered during replay');
note @hasty_readers - 1, ' clients ended by conflicts with recovery';

finish_clients($_) foreach (@writers, @readers);
is(client_errors(\@writers), '', 'no errors on the primary');
cmp_ok(client_transactions([$_]), '>', 1, 'which had work going') foreach @writers;
is(client_errors(\@readers), '', 'no errors and no wrong answers on the standby');
cmp_ok(client_transactions(\@readers), '>', 1, 'the standby answered during replay');

# Replay stops for good at a page that differs, so catching up is the test; the log says which page.
foreach my $node ($standby, $hasty)
{
	my $name = $node->name;
	$primary->wait_for_catchup($node);
	is(bad_log_lines($node, qr/inconsistent page/), '', "$name: replayed pages equal the primary's");
	foreach my $table ('t', 'narrow')
	{
		check_sound($node, "$name: gpu.verify finds nothing in ${table}_k", "${table}_k");
		check_answers($node, $table, $name);
	}
}

# ---- promotion ----------------------------------------------------------------------------------------------

# The primary dies in the middle of its work; what has arrived is all the standby has.
my $last = start_clients($primary, workload('t', %mix), clients => 3);
usleep(random_int(200_000, 600_000));
crash_cluster($primary);
finish_clients($last);
$_->promote foreach ($standby, $hasty);
foreach my $node ($standby, $hasty)
{
	my $name = $node->name;
	check_usable($node, 't', "$name, promoted");
	check_usable($node, 'narrow', "$name, promoted");
}
my @new_writers = map { start_clients($standby, workload($_, %mix, check => 2), clients => 2, seconds => 1) } ('t', 'narrow');
finish_clients($_) foreach @new_writers;
is(client_errors(\@new_writers), '', 'writes go on after the promotion');
cmp_ok(client_transactions([$_]), '>', 0, 'and get through') foreach @new_writers;
check_usable($standby, 't', 'after the promotion');
check_usable($standby, 'narrow', 'after the promotion');

$standby->stop;
$hasty->stop;
done_testing();
