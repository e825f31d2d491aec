package PgGpuTest::Tpch;

# The tables and statements of test/bench/tpch, for tests that want statements of many shapes.
#
#   make_tpch($node, 0.01);                # tables without indexes of ours, in database postgres
#   my %statements = tpch_statements();    # by name

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(make_tpch tpch_statements);

my $folder = "$FindBin::RealBin/../../bench";

sub make_tpch
{
	my ($node, $scale) = @_;
	# A statement may go over several lines.
	my $tables = slurp_file("$folder/tpch.sql") =~ s/^CREATE INDEX [^;]*USING gpu_column[^;]*;\n//gmr;
	$node->safe_psql('postgres', "\\set scale $scale\n$tables");
	return;
}

sub tpch_statements
{
	return map { split /\t/, $_, 2 } grep { /\t/ && !/^#/ } split /\n/, slurp_file("$folder/tpch.tsv");
}

1;
