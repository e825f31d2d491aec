# suite: check
# Damaged index files: planted faults of every kind. Those of the parts that all access methods share are gpu_kary's.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgGpuTest::Damage;
use PgGpuTest::Faults;
use PgGpuTest;
use Test::More;

fault_seed();
ask_damaged($_, 'planted', $_->faults) foreach damaged_methods('kary', 'grid', 'column');
done_testing();
