# gpu_grid under many sessions at once, beside a standby that compares every replayed page with the primary's:
# writers, VACUUM, merges, and readers whose answers are compared with a sequential scan's under the same snapshot.
# Then the primary is killed, recovers and goes on. PG_GPU_TEST_SECONDS sets how long.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest::Method::Grid;
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

make_grid($primary);
my $writes = grid_writes();
my @checks = (grid_check(0, 2), grid_check(0.1, 1));

my $writers = start_clients($primary, $writes, clients => 4, seconds => $seconds);
my $readers = start_clients($primary, \@checks, clients => 2, seconds => $seconds);
$primary->wait_for_catchup($standby);
my $far_readers = start_clients($standby, \@checks, clients => 1, seconds => $seconds);
finish_clients($_) foreach ($writers, $readers, $far_readers);
is(client_errors([$writers]), '', 'no errors among the writers');
is(client_errors([$readers]), '', 'no wrong answers on the primary');
is(client_errors([$far_readers]), '', 'no wrong answers on the standby');
cmp_ok(client_transactions([$writers]), '>', 0, 'there was work going on');
cmp_ok(client_transactions([$_]), '>', 0, 'questions were answered') foreach ($readers, $far_readers);

check_path($_) foreach ($primary, $standby);

# Replay stops for good at a page that differs.
$primary->wait_for_catchup($standby);
is(bad_log_lines($standby, qr/inconsistent page/), '', "replayed pages equal the primary's");
check_grid_answers($primary, 'primary');
check_grid_answers($standby, 'standby');

my $last = start_clients($primary, $writes, clients => 4);
usleep(random_int(500_000, 1_500_000));
crash_cluster($primary);
finish_clients($last);
start_again($primary, 'after the crash');
check_grid_answers($primary, 'after the crash');
$standby->promote;
check_grid_answers($standby, 'promoted');
$writers = start_clients($standby, $writes, clients => 2, seconds => 2);
finish_clients($writers);
is(client_errors([$writers]), '', 'writes go on after the promotion');
cmp_ok(client_transactions([$writers]), '>', 0, 'and get through');
check_grid_answers($standby, 'after more writes');

$standby->stop;
$primary->stop;
done_testing();
