# suite: check
# Damaged index files: bits flipped at random.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgGpuTest::Damage;
use PgGpuTest::Faults;
use PgGpuTest;
use Test::More;

fault_seed();
foreach my $method (damaged_methods())
{
	my %faults = map { ("flip $_" => [ 'random', $method->random_fault ]) } 1 .. $method->flips;
	ask_damaged($method, 'random', %faults);
}
done_testing();
